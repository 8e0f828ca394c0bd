//! Captures of simulated runs, simulated again: how like the original they are, and whether they answer alike.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_events::simulated::EventFolder;
use wakelab_events::stream::Source;
use wakelab_machine::Machine;
use wakelab_study::Progress;
use wakelab_study::capture::{CaptureOptions, Captured, Facts, Fidelity, RunTimes, capture, experiment, fidelity};
use wakelab_study::compare::{Block, CompareRow, Comparison, compare};
use wakelab_study::experiment::Spec;
use wakelab_study::runners::{EventWriter, Simulator};
use wakelab_study::runs::Runner;

/// Shows no progress.
pub struct Quiet;

impl Progress for Quiet {
    fn rows(&self, _: u64) {}
    fn part(&self, _: &Path, _: f64) {}
    fn file(&self, _: &Path) {}
}

/// A ms, ns.
pub const MS: u64 = 1_000_000;

/// An experiment as `wakelab compare` makes it, with one run per side; `ms` are the times before and while it is
/// measured.
pub fn original(machine: &str, kernel: &str, workload: &str, load: &str, sides: [&str; 2], ms: [u64; 2]) -> Block {
    let spec = Spec::of_two_sides(machine, kernel, workload, Some(load), sides[0], sides[1]).expect("it has a load");
    let mut experiment = spec.resolve_two_sides().unwrap_or_else(|error| panic!("{workload}: {error}"));
    (experiment.settle_ns, experiment.time_ns, experiment.repeats) = (ms[0] * MS, ms[1] * MS, 1);
    experiment
}

/// Runs an experiment.
pub fn made(experiment: &Block, runner: &dyn Runner) -> Comparison {
    compare(runner, experiment, 1, &(), &AtomicBool::new(false)).expect("it runs")
}

/// Runs the base side and writes its events to `folder`; returns the transactions a second.
pub fn recorded(experiment: &Block, folder: &Path) -> f64 {
    let events = EventFolder::new(folder).expect("a new folder");
    let recording = EventWriter { events: Some(&events), traces: None, others: &Simulator };
    let one = Block { variants: Vec::new(), repeats: 1, ..experiment.clone() };
    let run = &made(&one, &recording).rows[0].base.runs[0];
    run.done as f64 * 1e9 / run.measured_ns as f64
}

/// The run that was written to a folder.
pub fn source(folder: &Path) -> Source {
    Source::at(folder).expect("a run").pop().expect("one run")
}

/// Captures it.
pub fn captured(folder: &Path, machine: &Machine, exact: bool) -> Captured {
    let options = CaptureOptions { machine: Some(machine), from_ns: None, window_ns: None, exact };
    capture(&source(folder), &options, &Quiet).expect("it is captured")
}

/// The captured load in place of the original one.
pub fn again(captured: &Captured, of: &Block) -> Block {
    let times = RunTimes { settle_ns: of.settle_ns, time_ns: of.time_ns };
    let file = Path::new("captured.toml");
    let made = experiment(captured, file, captured.load, &of.machine, [&of.base, &of.variants[0]], times);
    Block { repeats: of.repeats, ..made.expect("a valid workload") }
}

/// An original and its capture, both simulated.
pub struct Recovered {
    /// The capture.
    pub captured: Captured,
    /// Transactions a second of the original, and of the capture.
    pub throughput: [f64; 2],
    /// Both by their events.
    pub fidelity: Fidelity,
}

/// Captures a benchmark and simulates the capture.
pub fn recover(of: &Block) -> Recovered {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["original", "captured"].map(|name| folder.path().join(name));
    let throughput = recorded(of, &first);
    let captured = captured(&first, &of.machine, false);
    let throughput = [throughput, recorded(&again(&captured, of), &second)];
    let options = CaptureOptions { machine: Some(&of.machine), from_ns: None, window_ns: None, exact: false };
    let [a, b] = [&first, &second].map(|folder| Facts::of(&source(folder), &options, &Quiet).expect("facts"));
    Recovered { captured, throughput, fidelity: fidelity(&a, &b) }
}

/// All quantities of both.
pub fn show(name: &str, found: &Recovered) -> String {
    let rows = found.fidelity.rows.iter().map(|row| {
        format!("  {:38} {:>12.2?} {:>12.2} {:?}\n", row.quantity, row.recorded, row.simulated, row.likeness())
    });
    let groups = &found.captured.groups;
    let kinds: Vec<String> = groups.iter().map(|group| format!("{}x{}", group.instances, group.nr_tasks)).collect();
    let of_rounds = groups.iter().filter(|group| group.cycles).count();
    let groups = format!("{} groups, {of_rounds} of rounds: {}", groups.len(), kinds.join(" "));
    format!("{name}: throughput {:.0?}, {groups}\n{}", found.throughput, rows.collect::<String>())
}

/// Which side is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The other side is better.
    Better,
    /// The other side is worse.
    Worse,
    /// Neither is.
    NoDifference,
}

/// The least difference that is one, %.
const LEAST_PCT: f64 = 1.0;
/// The p value below which a difference is one.
const SIGNIFICANT: f64 = 0.05;

/// The class of a comparison: a difference of a per cent or more, which chance does not make.
pub fn class(row: &CompareRow) -> Class {
    match row.compare_pct {
        pct if pct.abs() < LEAST_PCT || row.p_value.is_some_and(|p| p >= SIGNIFICANT) => Class::NoDifference,
        pct if pct > 0.0 => Class::Better,
        _ => Class::Worse,
    }
}
