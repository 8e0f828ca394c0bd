//! Comparisons in the simulator, on a small machine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{CompareRow, Comparison, compare};
use wakelab_study::experiment::Spec;
use wakelab_study::runners::Simulator;

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
    let experiment = Spec::parse(Path::new("small.toml"), text).unwrap().resolve_two_sides().unwrap();
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
        let experiment = Spec::parse(Path::new("time.toml"), &text).unwrap().resolve_two_sides().unwrap();
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

/// What differs between the sides and decided nothing: the settings, each with its reason, by row.
fn decided_nothing(machine: &str, kernel: &str, workload: &str, [base, with]: [&str; 2]) -> Vec<Vec<[String; 2]>> {
    let text = format!(
        r#"
        machine = "{machine}"
        kernel = "{kernel}"
        repeats = 1
        settle = "2ms"
        time = "10ms"
        workload = [{{ name = "{workload}", load = "1" }}]
        variants = {{ base = "{base}", with = "{with}" }}
    "#
    );
    let experiment = Spec::parse(Path::new("small.toml"), &text).unwrap().resolve_two_sides().unwrap();
    let found = compare(&Simulator, &experiment, 1, &(), &AtomicBool::new(false)).unwrap();
    let of_row = |row: &CompareRow| row.decided_nothing.iter().map(|it| [it.setting.clone(), it.why.clone()]).collect();
    found.rows.iter().map(of_row).collect()
}

#[test]
fn switches_whose_code_decided_nothing_are_told_with_the_reason() {
    for (kernel, sides, setting, why) in [
        ("v6.12", ["", "NO_SIS_UTIL"], "SIS_UTIL off", "search"),
        ("v6.12", ["", "base_slice=1000000"], "base_slice", "no run queue had more than one task"),
        ("v6.12", ["", "NO_PLACE_LAG"], "PLACE_LAG off", "no run queue had more than one task"),
        ("v6.12", ["", "sched_rr_timeslice_ms=10"], "sched_rr_timeslice_ms", "the workload has no task of SCHED_RR"),
        ("v6.12", ["", "sched_cfs_bandwidth_slice_us=1000"], "sched_cfs_bandwidth_slice_us", "no group"),
        ("v7.2", ["", "SCHED_CACHE_LB"], "SCHED_CACHE_LB on", "has one LLC"),
        ("v6.12", ["", "SIS_CURRENT"], "SIS_CURRENT on", ""),
    ] {
        let rows = decided_nothing("test-8c", kernel, "netperf:TCP_RR", sides);
        let Some([first, reason]) = rows[0].first() else { panic!("{sides:?}: {rows:?}") };
        assert!(first.starts_with(setting) && reason.contains(why), "{sides:?}: {rows:?}");
    }
}

#[test]
fn a_switch_whose_code_decided_something_is_not_told() {
    // Eight pairs on two CPUs: queues of several tasks, and wake-ups that preempt.
    let text = r#"
        machine = "test-2c"
        kernel = "v6.12"
        repeats = 1
        settle = "5ms"
        time = "20ms"
        workload = [{ name = "netperf:TCP_RR", load = "8" }]
        variants = { base = "", with = "NO_WAKEUP_PREEMPTION" }
    "#;
    let experiment = Spec::parse(Path::new("small.toml"), text).unwrap().resolve_two_sides().unwrap();
    let found = compare(&Simulator, &experiment, 1, &(), &AtomicBool::new(false)).unwrap();
    assert!(found.rows[0].decided_nothing.is_empty(), "{:?}", found.rows[0].decided_nothing);
    assert!(found.schedulers.is_empty());
}

/// A side whose kernel has not what the workload needs is refused when the sides are looked up, not when its turn
/// comes.
#[test]
fn what_one_side_cannot_run_is_refused_before_any_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("idle.toml");
    let workload = r#"
        [workload]
        benchmark = "hogs"
        case = "idle"
        metric = "throughput"
        unit = "turns/s"
        better = "higher"

        [[program]]
        name = "hog"
        ops = ["begin", {run = "1ms"}, "done", {repeat = {to = 0}}]

        [[group]]
        name = "/batch"
        idle = true

        [[task]]
        name = "hog"
        program = "hog"
        group = "/batch"
    "#;
    std::fs::write(&file, workload).unwrap();
    let spec =
        |with: &str| Spec::of_two_sides("test-2c", "v6.12", file.to_str().unwrap(), Some("1"), "", with).unwrap();
    spec("kernel=v6.1").resolve_two_sides().unwrap();
    let error = spec("kernel=v5.10").resolve_two_sides().unwrap_err().to_string();
    assert!(error.contains("--workload") && error.contains("were added in 5.15"), "{error}");
}
