//! The page of a comparison.

mod power;
mod search;
mod trust;

use super::machine::machine;
use super::over_time::{SideOverTime, add_charts, migrations};
use super::wakeups::{all_reasons, explained, latency, reasons};
use crate::VERSION;
use crate::compare::{differ, states_text, verdict_lines};
use crate::numbers::thousands;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_page::{
    Assumed, Comparison as Changes, Error, Estimate, Feature, Kind, Metric, MetricRow, Page, Run, Side as PageSide,
    Verdict as PageVerdict, render,
};
use wakelab_study::compare::{Better, CompareRow, Comparison, Side};
use wakelab_study::picture::{Picture, Pictures};
use wakelab_study::verdict::{JudgedRow, RowVerdict, Verdict};

const BASE: &str = "base";
const WITH: &str = "with";

/// Loads of several cases are told apart by them.
fn load(found: &Comparison, row: &CompareRow) -> String {
    let alone = found.rows.iter().all(|other| (&other.benchmark, &other.case) == (&row.benchmark, &row.case));
    if alone { row.load.clone() } else { format!("{} {}", row.case, row.load) }
}

/// The page, with what was seen of the first repeats; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn comparison(found: &Comparison, verdict: &Verdict<'_>, seen: &Pictures, command: &str) -> Result<String, Error> {
    render(&page(found, verdict, seen, command))
}

pub(super) fn page(found: &Comparison, verdict: &Verdict<'_>, seen: &Pictures, command: &str) -> Page {
    let info = &found.experiment;
    let switches = |text: &str| if text.is_empty() { "no switches".to_owned() } else { text.to_owned() };
    let mut page = Page {
        title: format!("{} against {}", switches(&info.with), switches(&info.base)),
        lead: format!(
            "{} on {}, kernel {}. The sides differ in {}. Simulated.",
            info.workloads.join(", "),
            info.machine,
            info.kernel,
            differ(info)
        ),
        verdict: verdict_lines(verdict),
        run: Run {
            command: command.to_owned(),
            version: VERSION.to_owned(),
            kind: Kind::Simulated,
            kernel: info.kernel.clone(),
            machine: info.machine.clone(),
            workload: info.workloads.join(", "),
            facts: facts(found),
        },
        sides: sides(found),
        machine: Some(machine(&found.machine.name, &found.machine.topology)),
        comparison: Some(changes(found, verdict)),
        search: search::search(found),
        search_cost: search::costs(found),
        regret: search::regret(found),
        sections: power::power(found).into_iter().chain(trust::trust(found, verdict.certainty)).collect(),
        notes: notes(found),
        assumed: found.assumed.iter().map(assumed).collect(),
        ..Page::default()
    };
    add_pictures(&mut page, found, seen);
    page
}

fn facts(found: &Comparison) -> Vec<(String, String)> {
    let info = &found.experiment;
    let ms = |ns: u64| format!("{} ms", thousands(ns / 1_000_000));
    let mut facts = vec![
        ("repeats on each side".to_owned(), info.repeats.to_string()),
        ("seed".to_owned(), info.seed.to_string()),
        ("simulated before measuring".to_owned(), ms(info.settle_ns)),
        ("measured".to_owned(), ms(info.time_ns)),
    ];
    if let Some(cpus) = &info.pinned {
        facts.push(("pinned to".to_owned(), cpus.clone()));
    }
    if info.observer_cost_ns > 0 {
        facts.push(("a tracer at each select_idle_cpu()".to_owned(), format!("{} ns", info.observer_cost_ns)));
    }
    facts
}

/// With every feature that is on for either.
fn sides(found: &Comparison) -> Vec<PageSide> {
    let (base, with) = found.rows.first().map_or((&[][..], &[][..]), |row| (&row.base.features, &row.with.features));
    let all: BTreeSet<&str> = base.iter().chain(with).copied().collect();
    let side = |name: &str, switches: &str, features: &[&str]| PageSide {
        name: name.to_owned(),
        switches: switches.to_owned(),
        features: all.iter().map(|name| Feature { name: (*name).to_owned(), on: features.contains(name) }).collect(),
    };
    let info = &found.experiment;
    vec![side(BASE, &info.base, base), side(WITH, &info.with, with)]
}

fn notes(found: &Comparison) -> Vec<String> {
    let mut notes = vec![
        "All numbers are simulated: they say what the model does, not what a machine did. docs/validation.md says how \
         far the model is from published results."
            .to_owned(),
    ];
    if !found.complete {
        notes.push("The comparison was interrupted: rows are missing.".to_owned());
    }
    notes.extend(found.experiment.notes.iter().cloned());
    notes.extend(states_text(found).lines().map(str::to_owned));
    notes
}

pub(super) fn assumed(of: &wakelab_study::compare::Assumed) -> Assumed {
    Assumed {
        of: of.of.clone(),
        name: of.name.clone(),
        value: format!("{} {}", thousands(of.value), of.unit),
        range: format!("{} to {} {}", thousands(of.low), thousands(of.high), of.unit),
        why: of.why.clone(),
    }
}

/// A panel for each case and metric, in the order in which they came.
fn changes(found: &Comparison, verdict: &Verdict<'_>) -> Changes {
    let mut metrics: Vec<Metric> = Vec::new();
    for (row, judged) in found.rows.iter().zip(&verdict.rows) {
        let name = format!("{} {}: {}", row.benchmark, row.case, row.metric);
        if metrics.last().is_none_or(|last| last.name != name) {
            let lower_is_better = row.better == Better::Lower;
            metrics.push(Metric { name, unit: row.unit.clone(), lower_is_better, rows: Vec::new() });
        }
        if let Some(metric) = metrics.last_mut() {
            metric.rows.push(change(row, judged));
        }
    }
    Changes { base: BASE.to_owned(), with: WITH.to_owned(), metrics }
}

fn change(row: &CompareRow, judged: &JudgedRow) -> MetricRow {
    let verdict = match judged.verdict {
        RowVerdict::Identical => PageVerdict::Identical,
        RowVerdict::Better => PageVerdict::Better,
        RowVerdict::Worse => PageVerdict::Worse,
        RowVerdict::Same => PageVerdict::Same,
        RowVerdict::Untested => PageVerdict::Unknown,
    };
    let mean = |side: &Side| Estimate { mean: side.mean, interval: None };
    MetricRow {
        load: row.load.clone(),
        base: mean(&row.base),
        with: mean(&row.with),
        better_pct: Estimate { mean: row.compare_pct, interval: row.ci95.map(|[low, high]| (low, high)) },
        p: judged.p_holm,
        repeats: row.base.n as u32,
        verdict,
        published_pct: row.published.as_ref().map(|published| published.compare_pct),
    }
}

/// A row's pictured_sides that were seen.
fn pictured_sides<'a>(pictures: &'a Pictures, row: &CompareRow) -> Vec<(&'static str, &'a Picture)> {
    let of = |name, with| Some((name, pictures.of(row, with)?));
    [of(BASE, false), of(WITH, true)].into_iter().flatten().collect()
}

/// Puts on the page what there is. Over time only one row is shown: that with the largest change.
fn add_pictures(page: &mut Page, found: &Comparison, pictures: &Pictures) {
    let all =
        || found.rows.iter().flat_map(|row| pictured_sides(pictures, row).into_iter().map(move |side| (row, side)));
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
    let pictured_sides = pictured_sides(pictures, row);
    if pictured_sides.is_empty() {
        return;
    }
    page.run.facts.push((
        "shown over time and explained".to_owned(),
        format!("{}: the first repeat of each side, from the start of the run", load(found, row)),
    ));
    let llc_names = llc_names(found);
    for (side, picture) in pictured_sides {
        let Picture { over_time, changes, idle_states, .. } = picture;
        add_charts(page, &SideOverTime { side, over_time, zero_ns: 0, changes, llc_names: &llc_names, idle_states });
        match &picture.explained {
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
