//! Comparisons in the simulator, on a small machine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{Comparison, Simulator, compare};
use wakelab_study::experiment::Spec;

fn experiment(jobs: usize) -> Comparison {
    let text = r#"
        machine = "test-8c"
        kernel = "v5.19-rc1"
        repeats = 2
        settle = "20ms"
        time = "20ms"
        workload = [{ name = "netperf:TCP_RR", load = "4,16", params = { ramp = 5000000 } }]
        variants = { base = "SIS_PROP", with = "SIS_UTIL" }
    "#;
    let experiment = Spec::parse(Path::new("small.toml"), text).unwrap().resolve().unwrap();
    compare(&Simulator, &experiment, jobs, &(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_comparison_is_the_same_however_many_run_at_a_time() {
    let (one, two) = (experiment(1), experiment(2));
    assert!(one.complete && one.rows.len() == 2);
    assert_eq!(one.rows, two.rows);
}

#[test]
fn a_comparison_measures_what_was_run() {
    for row in experiment(2).rows {
        for side in [&row.base, &row.with] {
            let searches = side.search.counts;
            assert!(side.mean > 0.0 && searches.sis_search > 0, "{}: {side:?}", row.load);
            assert!(searches.sis_scanned >= searches.sis_search && searches.sis_domain_search <= searches.sis_search);
            assert!(side.runs.iter().all(|run| run.measured_ns == 20_000_000 && run.wakeups >= run.done));
        }
    }
}

#[test]
fn a_time_is_from_the_gate_to_the_last_exit_however_short_the_measured_time_is() {
    let time = |loops: u32, time: &str| {
        let text = format!(
            r#"
            machine = "test-8c"
            kernel = "v6.1"
            settle = "10ms"
            time = "{time}"
            workload = [{{ name = "hackbench:thread-pipe", load = "1", params = {{ fds = 4, loops = {loops} }} }}]
            variants = {{ base = "SIS_PROP", with = "SIS_UTIL" }}
        "#
        );
        let experiment = Spec::parse(Path::new("time.toml"), &text).unwrap().resolve().unwrap();
        compare(&Simulator, &experiment, 2, &(), &AtomicBool::new(false)).unwrap().rows.remove(0)
    };
    let short = time(8000, "1ms");
    assert_eq!((short.metric.as_str(), short.unit.as_str()), ("time", "s"));
    for side in [&short.base, &short.with] {
        // 4 x 4 x 8000 messages, each 1500 ns to write and 300 to read, 20% more or less, on 8 CPUs, and what
        // switches take beside it: the work alone is 28.8 ms.
        assert!((0.0216..0.3).contains(&side.mean), "{}", side.mean);
        let run = &side.runs[0];
        // The tasks are started before the gate opens, main first, 15 us apart.
        assert!(run.span_ns.unwrap() + 8 * 15_000 <= run.measured_ns, "{run:?}");
        assert_eq!(run.done, 1);
    }
    assert_eq!(short, time(8000, "1s"));
    let ratio = time(32_000, "1ms").base.mean / short.base.mean;
    assert!((3.0..5.0).contains(&ratio), "{ratio}");
    let better = 100.0 * (short.base.mean - short.with.mean) / short.base.mean;
    assert!((short.compare_pct - better).abs() < 1e-9, "less time is better: {}", short.compare_pct);
}
