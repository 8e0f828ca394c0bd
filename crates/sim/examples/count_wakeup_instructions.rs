//! Runs for `cargo xtask bench instructions`, which counts what one simulated wake-up of each costs.
//!
//! A run begins with a machine at rest and the forks of its tasks, which are counted too. As with the sibling in the
//! package wakelab-sched, what is to be counted happens in calls of [`measured`], one for each run; the names are
//! printed in that order, each with the number of wake-ups. An argument chooses the runs whose names contain it.

use wakelab_testing::speed_runs::{self, Case, MS};

/// What is counted.
#[inline(never)]
fn measured(case: &Case, until: u64) -> u64 {
    case.run(until).wakeups
}

fn count(name: &str, case: &Case, until: u64) {
    let name = format!("wake-up: {name}");
    if std::env::args().nth(1).is_none_or(|part| name.contains(&part)) {
        println!("{}\t{name}", measured(case, until));
    }
}

fn main() {
    for (state, case) in speed_runs::netperf(20 * MS) {
        count(&format!("netperf, 224 pairs, 112 CPUs, {state}"), &case, 30 * MS);
    }
    for (machine, cpus, until) in [("test-8c", 8, 40 * MS), ("intel-1s56c112t", 112, 10 * MS)] {
        count(&format!("2 tasks a CPU, {cpus} CPUs"), &speed_runs::run_sleep(machine, cpus), until);
    }
    count("2 tasks a CPU, 1024 CPUs, LLCs of 16", &speed_runs::run_sleep(speed_runs::LLCS_OF_16, 1024), 3 * MS);
    for (name, case) in &speed_runs::governed()[1..] {
        count(&format!("2 tasks a CPU, 8 CPUs, governor {name}"), case, 40 * MS);
    }
}
