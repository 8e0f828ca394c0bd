//! Messages of hackbench through pipes, simulated, against the base side of a posting that gives its seconds.

use std::sync::atomic::AtomicBool;
use wakelab_study::compare::compare;
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runners::Simulator;

/// The posting of the SIS scan efficiency, v5 (`data/published/t09-sis-eff-intel-2s48c96t`): seconds of so many groups.
fn published(groups: &str) -> f64 {
    let table = include_str!("../../../../data/published/t09-sis-eff-intel-2s48c96t/rows.csv");
    let row =
        table.lines().find(|line| line.starts_with(&format!("hackbench,process-pipes,{groups},"))).expect("a row");
    row.split(',').nth(3).expect("the base side").parse().expect("a number")
}

/// mmtests of 2022 runs `perf bench sched messaging -g N -l 10000` (configs/config-scheduler-unbound), in which each of
/// 20 senders of a group writes to each of its 20 receivers.
const MESSAGES: f64 = 20.0 * 20.0 * 10_000.0;

/// A group of 40 tasks has CPUs of its own; 4 groups have more tasks than CPUs, and still find idle ones; 30 groups
/// have 12 tasks a CPU, and readers preempt their writers.
#[test]
fn messages_a_second_are_the_published_ones() {
    let (machine, kernel) = ("intel-2s48c96t", "v5.19-rc2-tip");
    let sides = ("SIS_UTIL,NO_SIS_PROP", "SIS_UTIL,NO_SIS_PROP,SIS_EFF_FILTER");
    let mut spec =
        Spec::of_two_sides(machine, kernel, "hackbench:process-pipe", Some("1,4,30"), sides.0, sides.1).unwrap();
    spec.settle_ns = Given::by_flag("--settle", 400_000_000);
    spec.time_ns = Given::by_flag("--time", 100_000_000);
    spec.repeats = Given::by_flag("--repeat", 1);
    let mut experiment = spec.resolve_two_sides().expect("a sound experiment");
    experiment.variants.clear();
    for row in compare(&Simulator, &experiment, 0, &(), &AtomicBool::new(false)).expect("runs that end").rows {
        let groups = row.load.split(' ').next().unwrap();
        let published = groups.parse::<f64>().unwrap() * MESSAGES / published(groups);
        let ratio = row.base.mean / published;
        assert!(
            (0.7..1.3).contains(&ratio),
            "{} groups: {:.0} messages/s, published {published:.0}",
            groups,
            row.base.mean
        );
    }
}
