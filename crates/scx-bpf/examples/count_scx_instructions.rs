//! Runs for `cargo xtask bench instructions`, which counts what one simulated wake-up under a scheduler of sched_ext
//! costs.
//!
//! They are those of the sibling in the package wakelab-sim with two tasks for each CPU. All runs of a process share
//! the object that was linked for the first, which is not counted. An argument chooses the runs whose names contain it;
//! a second one is the path of another object.

use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Work, synthetic};

const SCX_SIMPLE: &[u8] = include_bytes!("../../bpf/tests/data/scx_simple.bpf.o");

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;

/// What is counted.
#[inline(never)]
fn measured(setup: &Setup<'_>) -> u64 {
    run_dyn(setup, &mut (), &AtomicBool::new(false)).expect("a run").wakeups
}

fn count(name: &str, machine: &Machine, scheduler: &BpfScheduler, until: u64) {
    let kernel = Preset::get("v7.2").expect("a preset");
    let half = Work::uniform(50_000, 20);
    let setup = Setup {
        machine,
        kernel,
        features: kernel.features,
        workload: &synthetic::run_sleep(2 * machine.topology.nr_cpus(), half, half),
        seed: 1,
        until,
        mechanisms: Mechanisms { noise: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm: None,
        scheduler: Some(scheduler),
    };
    run_dyn(&Setup { until: 1, ..setup }, &mut (), &AtomicBool::new(false)).expect("a run");
    println!("{}\t{name}", measured(&setup));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let part = args.next().unwrap_or_default();
    let (name, scheduler) = match args.next() {
        Some(path) => (path.clone(), BpfScheduler::new(&path, &std::fs::read(&path)?, &path)?),
        None => ("scx_simple".to_owned(), BpfScheduler::new("scx_simple", SCX_SIMPLE, "")?),
    };
    for (machine, until) in [("test-8c", 40 * MS), ("intel-1s56c112t", 10 * MS), ("bench-1024", 3 * MS)] {
        let machine = wakelab_machine::get(machine)?;
        let name = format!("wake-up: {name}, 2 tasks a CPU, {} CPUs", machine.topology.nr_cpus());
        if name.contains(&part) {
            count(&name, &machine, &scheduler, until);
        }
    }
    Ok(())
}
