//! The page of a comparison.

mod periods;
mod power;
mod scheduler;
mod search;
mod trust;

use super::machine::machine;
use super::over_time::{SideOverTime, add_charts, migrations};
use super::wakeups::{all_reasons, explained, latency, reasons};
use super::{TEXT, n, side_names, table, text};
use crate::VERSION;
use crate::compare::{differ, number_of_runs, state_name, verdict_lines};
use crate::numbers::{count, thousands};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_page::{
    Assumed, Cell, Comparison as Changes, Error, Estimate, Feature, Kind, Metric, MetricRow, Page, Place, Run, Section,
    Side as PageSide, Verdict as PageVerdict, render,
};
use wakelab_statistics::{Better, size};
use wakelab_study::compare::{CompareRow, Comparison, ExperimentInfo, Side};
use wakelab_study::runners::{Picture, Pictures};
use wakelab_study::verdict::{JudgedRow, RowVerdict, Verdict};

/// The benchmark and its case, which are not said where all rows are of one, and the load.
fn place(found: &Comparison, row: &CompareRow) -> Place {
    let alone = found.rows.iter().all(|other| (&other.benchmark, &other.case) == (&row.benchmark, &row.case));
    let case = if alone { String::new() } else { format!("{} {}", row.benchmark, row.case) };
    Place { case, load: row.load.clone() }
}

/// The sides of a row with their names.
fn named<'a>(found: &Comparison, row: &'a CompareRow) -> [(String, &'a Side); 2] {
    let [base, with] = names(found);
    [(base, &row.base), (with, &row.with)]
}

/// What the sides are called.
fn names(found: &Comparison) -> [String; 2] {
    side_names(&found.experiment.base, &found.experiment.with)
}

/// The row with the largest change.
fn largest(found: &Comparison) -> Option<&CompareRow> {
    let of = |row: &CompareRow| size(row.compare_pct, row.better);
    found.rows.iter().max_by(|a, b| of(a).total_cmp(&of(b)))
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
    let [base, with] = names(found);
    let mut page = Page {
        title: format!("{with} against {base}"),
        lead: format!(
            "{} on {}, kernel {}. The sides differ in {}. Simulated.",
            info.workloads.join(", "),
            info.machine,
            info.kernel,
            differ(info)
        ),
        verdict: verdict_lines(verdict).into_iter().map(headline).chain(not_asked(found, verdict)).collect(),
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
        focus: largest(found).map(|row| place(found, row)),
        machine: Some(machine(&found.machine.name, &found.machine.topology)),
        comparison: Some(changes(found, verdict)),
        power: power::differences(found),
        search: search::search(found),
        search_cost: search::costs(found),
        regret: search::regret(found),
        sections: std::iter::once(states(found))
            .chain(periods::periods(found))
            .chain(power::power(found))
            .chain(scheduler::scheduler(found))
            .chain(trust::trust(found, verdict.certainty))
            .collect(),
        notes: notes(found),
        assumed: found.assumed.iter().map(assumed).collect(),
        ..Page::default()
    };
    add_pictures(&mut page, found, seen);
    page
}

/// A line of the verdict without its label, which a terminal prints before it, as a page begins with it: with a
/// capital, unless the first word is a name.
pub(in crate::html) fn headline(line: String) -> String {
    match (line.strip_prefix("none"), line.strip_prefix("no ")) {
        (Some(why), _) => format!("No verdict{why}"),
        (None, Some(rest)) => format!("No {rest}"),
        (None, None) => line,
    }
}

/// What the verdict's own lines leave open: how often each side was run where nothing was tested, and how many
/// constants are assumed where it was not asked what they decide.
fn not_asked(found: &Comparison, verdict: &Verdict<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if verdict.tested() == 0 {
        let runs = if verdict.repeats == [1, 1] { "run" } else { "runs" };
        lines.push(format!("chance: {} {runs} per side", number_of_runs(verdict.repeats)));
    }
    if verdict.constants.is_none() {
        let assumed = found.assumed.len() as u64;
        let of_machine = found.assumed.iter().filter(|one| one.of == "machine").count();
        let are = if assumed == 1 { "is" } else { "are" };
        let constants = count(assumed, "constant");
        lines.push(format!("constants: {constants} of the model {are} assumed, {of_machine} of them of the machine"));
    }
    lines
}

fn facts(found: &Comparison) -> Vec<(String, String)> {
    let info = &found.experiment;
    let mut facts = shared_facts(info, repeats(found));
    if let Some(cpus) = &info.pinned {
        facts.push(("pinned to".to_owned(), cpus.clone()));
    }
    if info.observer_cost_ns > 0 {
        facts.push(("a tracer at each select_idle_cpu()".to_owned(), format!("{} ns", info.observer_cost_ns)));
    }
    facts
}

/// What all runs of an experiment share, with how often each case was run on each side.
pub(in crate::html) fn shared_facts(info: &ExperimentInfo, repeats: String) -> Vec<(String, String)> {
    let ms = |ns: u64| format!("{} ms", thousands(ns / 1_000_000));
    vec![
        ("repeats on each side".to_owned(), repeats),
        ("seed".to_owned(), info.seed.to_string()),
        ("simulated before measuring".to_owned(), ms(info.settle_ns)),
        ("measured".to_owned(), ms(info.time_ns)),
    ]
}

/// How often each case was run on each side.
fn repeats(found: &Comparison) -> String {
    let of_rows = || found.rows.iter().map(|row| row.base.n);
    match (of_rows().min(), of_rows().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (Some(n), _) => n.to_string(),
        _ => found.experiment.repeats.to_string(),
    }
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
    let [of_base, of_with] = names(found);
    vec![side(&of_base, &info.base, base), side(&of_with, &info.with, with)]
}

fn notes(found: &Comparison) -> Vec<String> {
    shared_notes(found.complete).into_iter().chain(found.experiment.notes.iter().cloned()).collect()
}

/// What a page says of all simulated numbers, and whether there are all.
pub(in crate::html) fn shared_notes(complete: bool) -> Vec<String> {
    let mut notes = vec![
        "All numbers are simulated: they say what the model does, not what a machine did. `wakelab docs evidence` \
         says how far the model is from published results."
            .to_owned(),
    ];
    if !complete {
        notes.push("The comparison was interrupted: rows are missing.".to_owned());
    }
    notes
}

/// Every change of state of every run.
fn states(found: &Comparison) -> Section {
    let several = found.rows.iter().any(|row| !place(found, row).case.is_empty());
    let settle_ns = found.experiment.settle_ns;
    let mut rows = Vec::new();
    for row in &found.rows {
        let Place { case, load } = place(found, row);
        for (name, side) in named(found, row) {
            for (repeat, run) in (1_u64..).zip(&side.runs) {
                for change in &run.changes {
                    let measured = if change.at_ns >= settle_ns { "yes" } else { "" };
                    let mut cells = if several { vec![text(case.clone())] } else { Vec::new() };
                    cells.extend([text(load.clone()), text(name.clone()), n(repeat)]);
                    cells.push(Cell::Number(change.at_ns as f64 / 1e6, 1));
                    cells.extend([text(state_name(change.state)), text(measured)]);
                    rows.push(cells);
                }
            }
        }
    }
    let mut columns = if several { vec![("Case", TEXT)] } else { Vec::new() };
    columns.extend([("Load", TEXT), ("Side", TEXT), ("Repeat", ""), ("Changed at", "ms"), ("To", TEXT)]);
    columns.push(("While measured", TEXT));
    let (paragraph, tables) = if rows.is_empty() {
        ("No run changed state: all kept migrating.", Vec::new())
    } else {
        let caption = "From the start of the run";
        let about = "A run that changes its state while it is measured has numbers that mix two states.";
        (about, vec![table("states-table", caption, &columns, rows)])
    };
    Section {
        id: "states".to_owned(),
        title: "Changes of state".to_owned(),
        paragraphs: vec![paragraph.to_owned()],
        tables,
    }
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
            let (case, lower_is_better) = (place(found, row).case, row.better == Better::Lower);
            metrics.push(Metric { name, case, unit: row.unit.clone(), lower_is_better, rows: Vec::new() });
        }
        if let Some(metric) = metrics.last_mut() {
            metric.rows.push(change(row, judged));
        }
    }
    let [base, with] = names(found);
    Changes { base, with, metrics }
}

pub(super) fn change(row: &CompareRow, judged: &JudgedRow) -> MetricRow {
    let verdict = match judged.verdict {
        RowVerdict::Identical => PageVerdict::Identical,
        RowVerdict::Better => PageVerdict::Better,
        RowVerdict::Worse => PageVerdict::Worse,
        RowVerdict::Undecided => PageVerdict::Undecided,
        RowVerdict::Same => PageVerdict::Same,
        RowVerdict::Untested => PageVerdict::Untested,
    };
    let mean = |side: &Side| Estimate { mean: side.mean, interval: None };
    MetricRow {
        load: row.load.clone(),
        base: mean(&row.base),
        with: mean(&row.with),
        better_pct: Estimate { mean: row.compare_pct, interval: row.ci95.map(|[low, high]| (low, high)) },
        noise_pct: Some(judged.noise_pct),
        p: judged.p_holm,
        repeats: row.base.n as u32,
        verdict,
        published_pct: row.published.as_ref().map(|published| published.compare_pct),
    }
}

/// The sides of a row that were seen.
fn pictured_sides<'a>(found: &Comparison, pictures: &'a Pictures, row: &CompareRow) -> Vec<(String, &'a Picture)> {
    let [base, with] = names(found);
    let of = |name, with| Some((name, pictures.of(row, with)?));
    [of(base, false), of(with, true)].into_iter().flatten().collect()
}

/// Puts on the page what there is. Over time only one row is shown: that with the largest change.
fn add_pictures(page: &mut Page, found: &Comparison, pictures: &Pictures) {
    let all = || {
        let of = |row| pictured_sides(found, pictures, row).into_iter().map(move |side| (row, side));
        found.rows.iter().flat_map(of)
    };
    let met = all_reasons(all().map(|(_, (_, picture))| &picture.reasons));
    for (row, (side, picture)) in all() {
        let place = place(found, row);
        page.latencies.extend(latency(&side, &place, "", &picture.waits));
        page.reasons.extend(reasons(&side, &place, &picture.reasons, &met));
        page.migrations.extend(migrations(&side, &place, &picture.over_time));
    }
    let Some(row) = largest(found) else { return };
    let pictured_sides = pictured_sides(found, pictures, row);
    if pictured_sides.is_empty() {
        return;
    }
    let Place { case, load } = place(found, row);
    page.run.facts.push((
        "shown over time and explained".to_owned(),
        format!("{case} {load}: the first repeat of each side, from the start of the run").trim().to_owned(),
    ));
    let llc_names = llc_names(found);
    for (side, picture) in &pictured_sides {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_that_there_is_no_verdict_and_why() {
        let why = "none, as one run per side cannot tell a difference from chance".to_owned();
        assert_eq!(headline(why), "No verdict, as one run per side cannot tell a difference from chance");
        assert_eq!(headline("B is better".to_owned()), "B is better");
        assert_eq!(headline("no difference is shown".to_owned()), "No difference is shown");
    }
}
