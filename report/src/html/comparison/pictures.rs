//! What was seen in the first repeat of each side.

use super::super::over_time::{Run, add, migrations};
use super::super::wakeups::{all_reasons, explained, latency, reasons};
use super::{BASE, WITH, load};
use std::collections::BTreeMap;
use wakelab_page::Page;
use wakelab_study::compare::{CompareRow, Comparison};
use wakelab_study::picture::{Picture, Pictures};

/// A row's sides that were seen.
fn sides<'a>(pictures: &'a Pictures, row: &CompareRow) -> Vec<(&'static str, &'a Picture)> {
    let of = |name, with| Some((name, pictures.of(row, with)?));
    [of(BASE, false), of(WITH, true)].into_iter().flatten().collect()
}

/// Puts on the page what there is. Over time only one row is shown: that with the largest change.
pub(super) fn pictures(page: &mut Page, found: &Comparison, pictures: &Pictures) {
    let all = || found.rows.iter().flat_map(|row| sides(pictures, row).into_iter().map(move |side| (row, side)));
    let met = all_reasons(all().map(|(_, (_, picture))| &picture.reasons));
    for (row, (side, picture)) in all() {
        let load = load(found, row);
        page.latencies.extend(latency(side, &load, "", &picture.waits));
        page.reasons.extend(reasons(side, &load, &picture.reasons, &met));
        page.migrations.extend(migrations(side, &load, &picture.over_time));
    }
    let Some(row) = found.rows.iter().max_by(|a, b| a.compare_pct.abs().total_cmp(&b.compare_pct.abs())) else {
        return;
    };
    let sides = sides(pictures, row);
    if sides.is_empty() {
        return;
    }
    page.run.facts.push((
        "shown over time and explained".to_owned(),
        format!("{}: the first repeat of each side, from the start of the run", load(found, row)),
    ));
    let llc_names = llc_names(found);
    for (side, picture) in sides {
        let Picture { over_time, changes, idle_states, .. } = picture;
        add(page, &Run { side, over_time, zero_ns: 0, changes, llc_names: &llc_names, idle_states });
        match &picture.chosen {
            Ok(chosen) => page.explained.extend(chosen.iter().map(|one| explained(side, one))),
            Err(why) => page.notes.push(format!("No wake-up of {side} is explained: {why}.")),
        }
    }
}

/// The number of each cache by its lowest CPU.
fn llc_names(found: &Comparison) -> BTreeMap<u32, String> {
    let mut seen = std::collections::BTreeSet::new();
    let lowest = (0..).zip(&found.machine.topology.cpus).filter(|(_, cpu)| seen.insert(cpu.llc));
    lowest.map(|(cpu, of)| (cpu, of.llc.to_string())).collect()
}
