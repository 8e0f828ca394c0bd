//! A chain of tasks that are long enough runs as fast under any governor.

use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{Block, compare};
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runners::Simulator;

fn seconds(governor: &str) -> f64 {
    let mut spec =
        Spec::of_two_sides("i7-2600k", "v5.3", "sequential-tasks:any", Some("1/s"), governor, "governor=performance")
            .unwrap();
    spec.workloads[0].params = [("jitter".to_owned(), Given::by_default("params", 0))].into();
    spec.settle_ns = Given::by_default("settle", 1_000_000_000);
    spec.time_ns = Given::by_default("time", 8_000_000_000);
    let experiment: Block = spec.resolve_two_sides().unwrap();
    let row = compare(&Simulator, &experiment, 2, &(), &AtomicBool::new(false)).unwrap().rows.remove(0);
    row.base.mean / row.with.mean
}

#[test]
fn the_ratio_to_the_performance_governor_goes_to_1_as_the_rate_goes_to_0() {
    for governor in ["ondemand", "intel_pstate:powersave", "schedutil,NO_FREQ_INVARIANCE", "schedutil,FREQ_INVARIANCE"]
    {
        let ratio = seconds(&format!("governor={governor}"));
        assert!((0.99..1.06).contains(&ratio), "{governor}: {ratio}");
    }
}
