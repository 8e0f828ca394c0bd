//! Comparisons in the simulator, on a small machine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{Comparison, compare};
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
    compare(&experiment, jobs, &(), &AtomicBool::new(false)).unwrap()
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
