//! Tables for people, each no wider than 110 columns with usual names.

mod power;
mod scheduler;
mod search;

pub(crate) use power::{WATTS, power_quantity};
pub(crate) use scheduler::{OF_CORE, core_counters, own_counters};

use super::differences;
use crate::VERSION;
use crate::numbers::{
    NONE, amount, count, duration, fixed, fixed_or_none, interval, p_value, signed, spread, switches, thousands,
};
use crate::table::{table as new_table, text as table_text};
use std::fmt::Write;
use wakelab_input::printable;
use wakelab_measure::{RunStats, State};
use wakelab_statistics::Better;
use wakelab_study::compare::{CompareRow, Comparison, ExperimentInfo, PublishedRow, Side};
use wakelab_study::verdict::RowVerdict;
use wakelab_workload::TIME;

/// The whole comparison: what was run, results, searches, times, changes of state, and what is assumed.
pub fn table(comparison: &Comparison) -> String {
    let mut text = header(comparison);
    let same = |a: &CompareRow, b: &CompareRow| (&a.benchmark, &a.metric) == (&b.benchmark, &b.metric);
    for rows in comparison.rows.chunk_by(same) {
        text += &results(rows);
    }
    if !comparison.rows.is_empty() {
        let rows = &of_runs(&comparison.rows);
        let _ = write!(text, "\nSearches, all repeats together\n\n{}", search::counters(rows));
        let _ = write!(text, "\nRates of the searches, %\n\n{}", search::rates(rows));
        text += &wakeup_latencies(rows);
        text += &periods(rows);
        let _ = write!(text, "\nTimes and balance, mean over repeats\n\n{}", times(rows));
        let settle_ns = comparison.experiment.settle_ns;
        let _ = write!(text, "\nChanges of state, ms from the start of the run\n\n{}", states_text(rows, settle_ns));
        text += &power::power(rows);
        text += &scheduler::scheduler(rows);
        text += &search::regret(rows);
    }
    text + &footer(comparison)
}

/// The rows with what is of a run and not of its metric, each run once: jankbench's frames are one run, of which its
/// metrics are a row each. The case of such a row has the names of all.
pub(in crate::compare) fn of_runs(rows: &[CompareRow]) -> Vec<CompareRow> {
    let mut all: Vec<CompareRow> = Vec::new();
    for row in rows {
        let same_runs = |other: &&mut CompareRow| {
            (&other.benchmark, &other.load) == (&row.benchmark, &row.load)
                && (&other.base.runs, &other.with.runs) == (&row.base.runs, &row.with.runs)
        };
        match all.iter_mut().find(same_runs) {
            Some(other) => other.case = format!("{}, {}", other.case, row.case),
            None => all.push(row.clone()),
        }
    }
    all
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
    text += &differences(experiment, "differ    ");
    let _ = writeln!(
        text,
        "runs      {}, seed {}, {}; spread over seeds, not over machines",
        repeats(experiment),
        experiment.seed,
        measured(comparison),
    );
    if let Some(cpus) = &experiment.pinned {
        let _ = writeln!(text, "pinned    {cpus}");
    }
    if experiment.observer_cost_ns > 0 {
        let _ = writeln!(text, "observer  {} at each select_idle_cpu()", duration(experiment.observer_cost_ns));
    }
    if !comparison.complete {
        text += "\nNot complete: it was interrupted, and only finished rows are shown.\n";
    }
    text
}

/// How often each case is run on each side.
pub(super) fn repeats(experiment: &ExperimentInfo) -> String {
    match experiment.until {
        None => count(experiment.repeats.into(), "repeat"),
        Some(until) => format!(
            "{} to {} repeats, until each 95% interval is within ±{}%",
            experiment.repeats, until.most, until.half_width_pct
        ),
    }
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

/// The rows of one benchmark and metric.
fn results(rows: &[CompareRow]) -> String {
    let first = &rows[0];
    let good = match first.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let published = rows.iter().any(|row| row.published.is_some());
    let mut columns = vec!["case", "load", "base ± std%", "with ± std%", "compare%", "95% interval", "p", "n"];
    if published {
        columns.push("published(std)");
    }
    let mut results = new_table(&columns, 2);
    for row in rows {
        let mut line = vec![
            row.case.clone(),
            row.load.clone(),
            spread(row.base.mean, row.base.std_pct, row.base.n),
            spread(row.with.mean, row.with.std_pct, row.with.n),
            signed(row.compare_pct, 2),
            interval_or_identical(row.is_identical(), row.ci95),
            p_value(row.p_value),
            row.base.n.to_string(),
        ];
        if published {
            let beside =
                |row: PublishedRow| format!("{} ({})", signed(row.compare_pct, 2), fixed(row.compare_std_pct, 2));
            line.push(row.published.map_or_else(|| NONE.to_owned(), beside));
        }
        results.add_row(line);
    }
    let mut text = format!("\n{} {}, {}, {good}; ", first.benchmark, first.metric, first.unit);
    text += "compare%: positive is better\n\n";
    text += &table_text(&results);
    match rows.iter().find_map(|row| row.test) {
        Some(test) => text + &format!("p: {test}\n"),
        None if first.base.n > 1 => text,
        None => text + "One repeat: no interval and no p. --repeat 3 or more gives them.\n",
    }
}

/// The 95% interval, or `identical`.
pub(crate) fn interval_or_identical(identical: bool, ci95: Option<[f64; 2]>) -> String {
    if identical { RowVerdict::Identical.name().to_owned() } else { interval(ci95) }
}

/// A line for each side of each row; nothing if no task was woken.
fn wakeup_latencies(rows: &[CompareRow]) -> String {
    let mut table = new_table(&["case", "load", "side", "p50 us", "p95 us", "p99 us", "longest us"], 3);
    let mut any = false;
    for row in rows {
        for (name, side) in sides(row) {
            let ns = side.wakeup_latency_ns;
            any |= ns.is_some();
            let mut line = place(row, name);
            let percentiles = [ns.map(|ns| ns.p50), ns.map(|ns| ns.p95), ns.map(|ns| ns.p99), ns.map(|ns| ns.max)];
            line.extend(percentiles.map(|ns| fixed_or_none(ns.map(|ns| ns / 1e3), 2)));
            table.add_row(line);
        }
    }
    if !any {
        return String::new();
    }
    format!(
        "\nWake-up latency of the workload's tasks, from try_to_wake_up() to the switch, mean over repeats\n\n{}",
        table_text(&table)
    )
}

/// A line for each thread that waits for a periodic timer, on each side; nothing if there is none.
fn periods(rows: &[CompareRow]) -> String {
    let columns = ["case", "thread", "side", "periods", "missed %", "slack us", "least us"];
    let columns: Vec<&str> = columns.into_iter().chain(["wake-up p50 us", "p99 us", "longest us"]).collect();
    let mut table = new_table(&columns, 3);
    let mut any = false;
    for row in rows {
        for (at, thread) in row.base.threads.iter().enumerate() {
            let same = row.with.threads.iter().find(|other| other.name == thread.name);
            for (name, thread) in [("base", Some(thread)), ("with", same)] {
                let Some(thread) = thread else { continue };
                any = true;
                let first = |text: &str, stands: bool| if stands { text.to_owned() } else { String::new() };
                let base = name == "base";
                let mut line = vec![first(&row.case, at == 0 && base), first(&printable(&thread.name), base)];
                line.extend([name.to_owned(), thousands(thread.periods), fixed(thread.missed_pct, 2)]);
                line.extend([thread.slack_mean_ns, thread.slack_min_ns as f64].map(|ns| fixed(ns / 1e3, 2)));
                let ns = thread.wakeup_latency_ns;
                let latency = [ns.map(|ns| ns.p50), ns.map(|ns| ns.p99), ns.map(|ns| ns.max)];
                line.extend(latency.map(|ns| fixed_or_none(ns.map(|ns| ns / 1e3), 2)));
                table.add_row(line);
            }
        }
    }
    if !any {
        return String::new();
    }
    format!(
        "\nThreads with periods: slack is the time from the end of the work to the start of the next period, negative \
         if that was missed\n\n{}",
        table_text(&table)
    )
}

/// A line for each side of each row: the latencies of what the benchmark counts, and how the CPUs fared.
fn times(rows: &[CompareRow]) -> String {
    let columns = [
        "case",
        "load",
        "side",
        "done p50 us",
        "p99 us",
        "busy us/wake-up",
        "migrations by balance",
        "LLC util %",
        "idle %",
    ];
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let mut line = place(row, name);
            line.extend([side.latency_p50_ns, side.latency_p99_ns].map(|ns| fixed(ns / 1e3, 2)));
            line.push(fixed_or_none(side.busy_ns_per_wakeup.map(|ns| ns / 1e3), 2));
            line.push(amount(side.migrations));
            line.push(fixed_or_none(side.llc_util.map(|util| 100.0 * util), 1));
            line.push(fixed(side.idle_pct, 1));
            table.add_row(line);
        }
    }
    table_text(&table)
}

/// A line for each run that changed state, or one that says that none did.
fn states_text(rows: &[CompareRow], settle_ns: u64) -> String {
    let mut text = String::new();
    for row in rows {
        for (name, side) in [("base", &row.base), ("with", &row.with)] {
            for (repeat, run) in changed(side) {
                let changes: Vec<_> = run
                    .changes
                    .iter()
                    .map(|change| format!("{} at {} ms", state_name(change.state), change.at_ns / 1_000_000))
                    .collect();
                let measured = run.changes.iter().any(|change| change.at_ns >= settle_ns);
                let mark = if measured { "  (while it was measured: its numbers mix two states)" } else { "" };
                let changes = changes.join(", ");
                let _ = writeln!(text, "{} {}, {name}, repeat {repeat}: {changes}{mark}", row.case, row.load);
            }
        }
    }
    if text.is_empty() { "No run changed state: all kept migrating.\n".to_owned() } else { text }
}

fn changed(side: &Side) -> impl Iterator<Item = (usize, &RunStats)> {
    (1..).zip(&side.runs).filter(|(_, run)| !run.changes.is_empty())
}

pub(crate) fn state_name(state: State) -> &'static str {
    match state {
        State::Migrating => "migrating",
        State::Stacked => "stacked",
    }
}
