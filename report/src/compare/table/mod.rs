//! Tables for people, each no wider than 110 columns with usual names.

mod power;
mod regret;
mod results;
mod search;
mod times;

use super::format::switches;
use super::states::states;
use crate::VERSION;
use crate::numbers::count;
use crate::numbers::duration;
use std::fmt::Write;
use wakelab_study::compare::{CompareRow, Comparison, Side};
use wakelab_workload::TIME;

/// The whole comparison: what was run, results, searches, times, changes of state, and what is assumed.
pub fn table(comparison: &Comparison) -> String {
    let mut text = header(comparison);
    let same = |a: &CompareRow, b: &CompareRow| (&a.benchmark, &a.metric) == (&b.benchmark, &b.metric);
    for rows in comparison.rows.chunk_by(same) {
        text += &results::results(rows);
    }
    if !comparison.rows.is_empty() {
        let _ = write!(text, "\nSearches, all repeats together\n\n{}", search::counters(&comparison.rows));
        let _ = write!(text, "\nRates of the searches, %\n\n{}", search::rates(&comparison.rows));
        let _ = write!(text, "\nTimes and balance, mean over repeats\n\n{}", times::times(&comparison.rows));
        let _ = write!(text, "\nChanges of state, ms from the start of the run\n\n{}", states(comparison));
        text += &power::power(&comparison.rows);
        text += &regret::regret(&comparison.rows);
    }
    text + &footer(comparison)
}

fn header(comparison: &Comparison) -> String {
    let experiment = &comparison.experiment;
    let mut text = format!("{}: simulated by wakelab {VERSION}, not measured\n\n", experiment.name);
    let _ = writeln!(text, "machine   {}", experiment.machine);
    let _ = writeln!(text, "kernel    {}", experiment.kernel);
    for workload in &experiment.workloads {
        let _ = writeln!(text, "workload  {workload}");
    }
    let _ = writeln!(text, "base      {}", switches(&experiment.base));
    let _ = writeln!(text, "with      {}", switches(&experiment.with));
    let _ = writeln!(
        text,
        "runs      {}, seed {}, {}; spread over seeds, not over machines",
        count(experiment.repeats.into(), "repeat"),
        experiment.seed,
        measured(comparison),
    );
    if experiment.observer_cost_ns > 0 {
        let _ = writeln!(text, "observer  {} at each select_idle_cpu()", duration(experiment.observer_cost_ns));
    }
    if !comparison.complete {
        text += "\nNot complete: it was interrupted, and only rows that were done are shown.\n";
    }
    text
}

/// What of each run is measured: all of it where the metric is its time.
fn measured(comparison: &Comparison) -> String {
    let experiment = &comparison.experiment;
    let window = format!("{} measured after {}", duration(experiment.time_ns), duration(experiment.settle_ns));
    let timed = comparison.rows.iter().filter(|row| row.metric == TIME).count();
    match timed {
        0 => window,
        n if n == comparison.rows.len() => "all of it measured".to_owned(),
        _ => format!("{window} (time: all of it)"),
    }
}

fn footer(comparison: &Comparison) -> String {
    let machine = &comparison.experiment.machine;
    let assumed = comparison.assumed.len() as u64;
    let of_machine = comparison.assumed.iter().filter(|one| one.of == "machine").count();
    let mut text = format!(
        "\n{} of the model {} assumed, {of_machine} of them of the machine: `wakelab machine show {machine}`\n",
        count(assumed, "constant"),
        if assumed == 1 { "is" } else { "are" },
    );
    for path in &comparison.published {
        let _ = writeln!(text, "published: {}", path.display());
    }
    text
}

/// Case, load and side of a line; case and load stand at the first of a row's lines.
fn place(row: &CompareRow, name: &str) -> Vec<String> {
    let (case, load) = if name == "base" { (row.case.as_str(), row.load.as_str()) } else { ("", "") };
    vec![case.to_owned(), load.to_owned(), name.to_owned()]
}

fn sides(row: &CompareRow) -> [(&'static str, &Side); 2] {
    [("base", &row.base), ("with", &row.with)]
}
