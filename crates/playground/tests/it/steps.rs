//! Steps change nothing.

use crate::{netperf, run_in};
use std::sync::atomic::AtomicBool;
use wakelab_measure::Measure;
use wakelab_playground::{Description, Side};

/// Netperf that stacks and that does not, messages among groups, the frames of a phone with its governors, and calls of
/// which the latency is measured.
fn runs() -> Vec<Description> {
    let on = |machine: &str, kernel: &str, workload: &str, load: &str, side: &str| Description {
        machine: machine.to_owned(),
        kernel: kernel.to_owned(),
        workload: workload.to_owned(),
        ..netperf(load, side)
    };
    vec![
        netperf("200%", "SIS_UTIL"),
        netperf("50%", "SIS_PROP"),
        on("test-2llc", "v6.12", "hackbench:process-pipe", "1", "SIS_UTIL,sis_util_pct=150"),
        on("pixel6", "v5.18-eas", "jankbench:mean", "", ""),
        on("i7-2600k", "v6.12", "schbench:wakeup-99th", "2", "governor=schedutil"),
    ]
}

#[test]
fn a_run_in_steps_is_the_run_of_the_simulator() {
    for description in runs() {
        let side = Side::new(&description).unwrap_or_else(|e| panic!("{description:?}: {e:?}"));
        let setup = side.setup();
        let mut measure = Measure::new(side.seed, side.settle_ns, side.until_ns, setup.machine.topology.nr_cpus());
        let outcome = wakelab_sim::run_dyn(&setup, &mut measure, &AtomicBool::new(false)).expect("it runs");
        let mut stats = measure.finish(outcome.ended);
        stats.power = outcome.power;
        let value = stats.metric(&side.workload.metric);

        let whole = run_in(&description, std::iter::empty());
        let odd = run_in(&description, (1..).map(|n| n * 777_773).take_while(|&at| at < 100_000_000));
        // Times that have been reached, some of them twice, and the end of a bin.
        let back = run_in(&description, [3_000_000, 1, 3_000_000, 3_000_001, 50_000_000, 50_000_000].into_iter());
        for stepped in [whole, odd, back] {
            match stepped {
                Ok(finished) => {
                    assert_eq!(finished.stats, stats, "{description:?}");
                    assert_eq!(finished.value.to_bits(), value.to_bits(), "{description:?}");
                }
                Err(problem) => assert!(stats.done == 0, "{description:?}: {problem:?}"),
            }
        }
    }
}
