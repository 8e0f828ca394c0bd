//! Captured workloads against what they were captured from: the same throughput, waits and searches when they are
//! simulated on the same machine, and the same answer to what another policy would do.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_events::simulated::EventFolder;
use wakelab_events::stream::Source;
use wakelab_machine::Machine;
use wakelab_study::Progress;
use wakelab_study::capture::{
    CaptureOptions, Captured, Facts, Fidelity, Likeness, RunTimes, capture, experiment, fidelity,
};
use wakelab_study::compare::{Comparison, Experiment, Recording, Runner, Simulator, compare};
use wakelab_study::experiment::Spec;
use wakelab_workload::Op;

struct Quiet;

impl Progress for Quiet {
    fn rows(&self, _: u64) {}
    fn part(&self, _: &Path, _: f64) {}
    fn file(&self, _: &Path) {}
}

const MS: u64 = 1_000_000;

/// An experiment as `wakelab compare` makes it, of one repeat.
fn original(machine: &str, kernel: &str, workload: &str, load: &str, sides: [&str; 2], ms: [u64; 2]) -> Experiment {
    let spec = Spec::of_flags(machine, kernel, workload, Some(load), sides[0], sides[1]).expect("it has a load");
    let mut experiment = spec.resolve().unwrap_or_else(|error| panic!("{workload}: {error}"));
    (experiment.settle_ns, experiment.time_ns) = (ms[0] * MS, ms[1] * MS);
    experiment
}

fn made(experiment: &Experiment, runner: &dyn Runner) -> Comparison {
    compare(runner, experiment, 1, &(), &AtomicBool::new(false)).expect("it runs")
}

/// Runs the base side and writes its events to `folder`; returns the throughput.
fn recorded(experiment: &Experiment, folder: &Path) -> f64 {
    let events = EventFolder::new(folder).expect("a new folder");
    let recording = Recording { events: Some(&events), traces: None, others: &Simulator };
    let one = Experiment { base_only: true, ..experiment.clone() };
    made(&one, &recording).rows[0].base.mean
}

fn source(folder: &Path) -> Source {
    Source::at(folder).expect("a run").pop().expect("one run")
}

fn captured(folder: &Path, machine: &Machine, exact: bool) -> Captured {
    let options = CaptureOptions { machine: Some(machine), from_ns: None, window_ns: None, exact };
    capture(&source(folder), &options, &Quiet).expect("it is captured")
}

fn again(captured: &Captured, of: &Experiment) -> Experiment {
    let times = RunTimes { settle_ns: of.settle_ns, time_ns: of.time_ns };
    let file = Path::new("captured.toml");
    experiment(captured, file, captured.load, &of.machine, [&of.base, &of.with], times).expect("a valid workload")
}

struct Recovered {
    throughput: [f64; 2],
    fidelity: Fidelity,
}

/// Captures a benchmark and simulates the capture.
fn recover(of: &Experiment) -> Recovered {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["original", "captured"].map(|name| folder.path().join(name));
    let throughput = recorded(of, &first);
    let captured = captured(&first, &of.machine, false);
    let throughput = [throughput, recorded(&again(&captured, of), &second)];
    let options = CaptureOptions { machine: Some(&of.machine), from_ns: None, window_ns: None, exact: false };
    let [a, b] = [&first, &second].map(|folder| Facts::of(&source(folder), &options, &Quiet).expect("facts"));
    Recovered { throughput, fidelity: fidelity(&a, &b, &of.machine) }
}

fn show(name: &str, found: &Recovered) -> String {
    let rows = found.fidelity.rows.iter().map(|row| {
        format!("  {:32} {:>12.2?} {:>12.2} {:?}\n", row.quantity, row.recorded, row.simulated, row.likeness())
    });
    format!("{name}: throughput {:.0?}\n{}", found.throughput, rows.collect::<String>())
}

#[test]
fn benchmarks_are_recovered() {
    let cases = [
        ("netperf:TCP_RR", "4", Likeness::Faithful),
        ("netperf:UDP_RR", "4", Likeness::Faithful),
        ("tbench:loopback", "4", Likeness::Roughly),
        ("sysbench:oltp_read_write", "4", Likeness::Roughly),
        ("will-it-scale:context_switch1", "4", Likeness::Roughly),
    ];
    let mut wrong = String::new();
    for (workload, load, at_least) in cases {
        let of = original("test-8c", "v6.1", workload, load, ["", ""], [120, 60]);
        let found = recover(&of);
        println!("{}", show(workload, &found));
        let [original, again] = found.throughput;
        let within = (again / original - 1.0).abs() <= 0.1;
        if !within || found.fidelity.verdict() > at_least {
            wrong += &show(workload, &found);
        }
    }
    assert!(wrong.is_empty(), "not recovered:\n{wrong}");
}

/// Most messages of overloaded groups are read without anybody sleeping, so that a recording does not show who depends
/// on whom.
#[test]
fn what_is_not_recovered_is_not_taken_for_faithful() {
    let of = original("test-8c", "v6.1", "hackbench:process-pipe", "1", ["", ""], [60, 40]);
    let found = recover(&of);
    let [original, again] = found.throughput;
    let far = (again / original - 1.0).abs() > 0.1;
    assert!(!far || found.fidelity.verdict() != Likeness::Faithful, "{}", show("hackbench", &found));
}

#[test]
fn an_exact_capture_does_what_was_recorded_once() {
    let of = original("test-8c", "v6.1", "netperf:TCP_RR", "4", ["", ""], [80, 10]);
    let folder = tempfile::tempdir().expect("a folder");
    recorded(&of, folder.path());
    let captured = captured(folder.path(), &of.machine, true);
    let workload = &again(&captured, &of).cases[0].workload;
    assert_eq!(workload.tasks.len(), 8);
    assert!(workload.programs.iter().all(|program| !program.ops.iter().any(|op| matches!(op, Op::Repeat { .. }))));
    let done: usize =
        workload.programs.iter().map(|program| program.ops.iter().filter(|op| **op == Op::Done).count()).sum();
    assert_eq!(done as u64, captured.transactions);
}

/// The flip of netperf between its two states at 196 threads on 112 CPUs, which was published as +195%, predicted from
/// a capture of the kernel without SIS_UTIL.
#[test]
fn a_capture_of_one_policy_predicts_the_flip_under_the_other() {
    let of = original("intel-1s56c112t", "v5.19-rc1", "netperf:TCP_RR", "196", ["SIS_PROP", "SIS_UTIL"], [100, 20]);
    let folder = tempfile::tempdir().expect("a folder");
    recorded(&of, folder.path());
    let captured = captured(folder.path(), &of.machine, false);
    assert_eq!((captured.load, captured.groups.len()), (196, 1), "{:?}", captured.groups);
    let asked = Experiment { settle_ns: 340 * MS, time_ns: 30 * MS, ..again(&captured, &of) };
    let row = &made(&asked, &Simulator).rows[0];
    assert!((150.0..300.0).contains(&row.compare_pct), "{:+.1}%", row.compare_pct);
}
