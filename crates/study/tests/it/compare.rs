//! Comparisons with a stand-in for the simulator.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_statistics::Better;
use wakelab_study::compare;
use wakelab_study::compare::{Block, Comparison, RunProgress, Variant, VariantError, run_seed};
use wakelab_study::runs::{RunFailed, RunId, Why};
use wakelab_testing::fake_runner::{Fake, experiment};

const LOADS: [&str; 3] = ["1 thread", "2 threads", "3 threads"];

fn compare(fake: &Fake, experiment: &Block, jobs: usize) -> Result<Comparison, RunFailed> {
    compare::compare(fake, experiment, jobs, &(), &AtomicBool::new(false))
}

#[test]
fn a_row_has_both_sides_of_all_repeats() {
    let found = compare(&Fake::default(), &experiment(&LOADS, 3), 1).unwrap();
    assert!(found.complete);
    assert_eq!(found.rows.iter().map(|row| row.load.as_str()).collect::<Vec<_>>(), LOADS);
    let row = &found.rows[1];
    let seeds: Vec<u64> = (0..3).map(|repeat| run_seed(1, "2 threads", repeat)).collect();
    // So many transactions in two seconds.
    let rates = |all: u64| seeds.iter().map(|seed| (all + seed % 10) as f64 / 2.0).collect::<Vec<_>>();
    assert_eq!((&row.base.values, &row.with.values), (&rates(100), &rates(200)));
    assert_eq!((row.base.n, row.better, row.unit.as_str()), (3, Better::Higher, "trans/s"));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / 3.0;
    let expected = 100.0 * (mean(&row.with.values) / mean(&row.base.values) - 1.0);
    assert!((row.compare_pct - expected).abs() < 1e-9);
    assert_eq!((row.compare_std_pct, row.test), (row.with.std_pct, Some("Welch's t-test")));
    assert!(row.ci95.is_some() && row.p_value.unwrap() < 0.05);
}

#[test]
fn both_sides_of_a_repeat_have_one_seed() {
    let found = compare(&Fake::default(), &experiment(&LOADS, 2), 2).unwrap();
    for row in &found.rows {
        let seeds = |runs: &[wakelab_measure::RunStats]| runs.iter().map(|run| run.seed).collect::<Vec<_>>();
        assert_eq!(seeds(&row.base.runs), seeds(&row.with.runs));
        assert_ne!(row.base.runs[0].seed, row.base.runs[1].seed);
    }
}

#[test]
fn one_repeat_has_no_interval_and_no_test() {
    let row = &compare(&Fake::default(), &experiment(&LOADS, 1), 1).unwrap().rows[0];
    assert_eq!((row.ci95, row.p_value, row.test, row.compare_std_pct), (None, None, None, 0.0));
}

#[test]
fn less_is_better_where_the_workload_says_so() {
    let mut experiment = experiment(&LOADS, 1);
    std::sync::Arc::make_mut(&mut experiment.cases[0].workload).higher_is_better = false;
    let rows = compare(&Fake::default(), &experiment, 1).unwrap().rows;
    assert_eq!(rows[0].better, Better::Lower);
    assert!(rows[0].compare_pct < 0.0 && rows[1].compare_pct > 0.0);
}

#[test]
fn the_result_does_not_depend_on_how_many_run_at_a_time() {
    let experiment = experiment(&LOADS, 3);
    let all = [1, 2, 5, 0].map(|jobs| format!("{:?}", compare(&Fake::default(), &experiment, jobs).unwrap()));
    assert!(all.iter().all(|one| *one == all[0]));
}

#[test]
fn a_stop_leaves_the_rows_that_are_complete() {
    let fake = Fake { stops_at: Some("2 threads"), ..Fake::default() };
    let found = compare(&fake, &experiment(&LOADS, 2), 1).unwrap();
    assert!(!found.complete);
    assert_eq!(found.rows.iter().map(|row| row.load.as_str()).collect::<Vec<_>>(), ["1 thread"]);
    assert_eq!(found.rows[0].base.n, 2);
}

#[test]
fn a_failure_names_its_run() {
    let fake = Fake { fails_at: Some("2 threads"), ..Fake::default() };
    for jobs in [1, 4] {
        let failed = compare(&fake, &experiment(&LOADS, 2), jobs).unwrap_err();
        let seed = run_seed(1, "2 threads", 0);
        let expected =
            format!("netperf:TCP_RR 2 threads on test-4 v5.19-rc1 SIS_PROP, repeat 1, seed {seed}: this load");
        assert_eq!(failed.to_string(), expected);
    }
}

#[test]
fn a_run_that_measures_nothing_fails() {
    let experiment = experiment(&LOADS, 1);
    let early = Fake { ends_at: Some(7), ..Fake::default() };
    assert_eq!(compare(&early, &experiment, 1).unwrap_err().why, Why::Over { ended: 7, settle: 1_000_000_000 });
    let idle = Fake { ends_at: Some(2_000_000_000), ..Fake::default() };
    assert_eq!(compare(&idle, &experiment, 1).unwrap_err().why, Why::Nothing(1_000_000_000));
}

#[test]
fn a_metric_that_is_not_counted_is_refused() {
    let mut experiment = experiment(&LOADS, 1);
    std::sync::Arc::make_mut(&mut experiment.cases[0].workload).metric = "power".to_owned();
    let failed = compare(&Fake::default(), &experiment, 1).unwrap_err();
    assert_eq!(failed.why, Why::Metric("power".to_owned()));
}

#[test]
fn a_latency_is_the_percentile_of_each_run_in_us() {
    for (metric, part) in [("latency_90pct", 90), ("latency_99pct", 99)] {
        let mut experiment = experiment(&LOADS, 2);
        let workload = std::sync::Arc::make_mut(&mut experiment.cases[0].workload);
        (workload.metric, workload.higher_is_better) = (metric.to_owned(), false);
        let row = compare(&Fake::default(), &experiment, 1).unwrap().rows.remove(0);
        for side in [&row.base, &row.with] {
            for (value, run) in side.values.iter().zip(&side.runs) {
                // The transactions of a run take 1000, 1001, ... ns.
                let expected = 1000 + (run.done * part).div_ceil(100) - 1;
                assert!((value * 1000.0 - expected as f64).abs() <= 1.0, "{metric}: {value} of {}", run.done);
            }
        }
        // The other side has twice as many, which take longer: worse.
        assert!(row.compare_pct < 0.0, "{metric}: {}", row.compare_pct);
    }
}

#[test]
fn a_time_of_tasks_that_do_not_exit_is_none() {
    let mut experiment = experiment(&LOADS, 1);
    std::sync::Arc::make_mut(&mut experiment.cases[0].workload).metric = "time".to_owned();
    // The run is as long as a run may be, whatever was to be measured.
    let failed = compare(&Fake::default(), &experiment, 1).unwrap_err();
    assert_eq!(failed.why, Why::Unfinished(3_600_000_000_000));
    let silent = Fake { ends_at: Some(7), ..Fake::default() };
    assert_eq!(compare(&silent, &experiment, 1).unwrap_err().why, Why::Nothing(7));
}

#[test]
fn assumed_numbers_are_listed_once() {
    let found = compare(&Fake::default(), &experiment(&LOADS, 1), 1).unwrap();
    let names: Vec<_> = found.assumed.iter().map(|one| (one.of.as_str(), one.name.as_str(), one.value)).collect();
    assert_eq!(names, [("machine", "probe", 100), ("netperf:TCP_RR", "send", 1900)]);
}

#[test]
fn progress_is_told_of_every_run() {
    struct Told(Mutex<Vec<(usize, usize)>>);
    impl RunProgress for Told {
        fn run(&self, done: usize, all: usize, _: &RunId) {
            self.0.lock().unwrap().push((done, all));
        }
    }
    let told = Told(Mutex::default());
    compare::compare(&Fake::default(), &experiment(&LOADS, 2), 3, &told, &AtomicBool::new(false)).unwrap();
    let mut told = told.0.into_inner().unwrap();
    told.sort_unstable();
    assert_eq!(told, (1..=12).map(|n| (n, 12)).collect::<Vec<_>>());
}

fn variant(switches: &str) -> Result<Variant, VariantError> {
    Variant::new(Preset::get("v5.19-rc1").unwrap(), &switches.parse().unwrap())
}

#[test]
fn switches_lie_on_top_of_the_kernel() {
    let names = |variant: Variant| variant.features.iter().map(|feature| feature.name()).collect::<Vec<_>>();
    let with = names(variant("SIS_UTIL").unwrap());
    assert!(with.contains(&"SIS_UTIL") && with.contains(&"WA_IDLE") && !with.contains(&"SIS_PROP"));
    assert!(names(variant("SIS_UTIL,SIS_PROP").unwrap()).contains(&"SIS_PROP"));
    assert!(!names(variant("SIS_UTIL,NO_SIS_PROP").unwrap()).contains(&"SIS_PROP"));
    assert_eq!(variant("").unwrap().label, "");
}

#[test]
fn switches_that_change_nothing_are_refused() {
    use wakelab_kernel::Feature;
    assert_eq!(variant("NO_RT_PUSH_IPI"), Err(VariantError::NotModelled(Feature::RT_PUSH_IPI)));
    let eevdf = |switches: &str| Variant::new(Preset::get("v6.12").unwrap(), &switches.parse().unwrap());
    assert_eq!(eevdf("HRTICK,DOUBLE_TICK"), Err(VariantError::SameEitherWay("v6.12", Feature::DOUBLE_TICK)));
    assert!(variant("HRTICK,DOUBLE_TICK").is_ok() && variant("NEXT_BUDDY").is_ok());
    // In no kernel, and read on each.
    assert!(variant("SIS_ORACLE").is_ok());
    assert_eq!(variant("PLACE_LAG"), Err(VariantError::NotRead("v5.19-rc1", Feature::PLACE_LAG)));
    assert_eq!(variant("NO_PLACE_LAG"), Err(VariantError::NotRead("v5.19-rc1", Feature::PLACE_LAG)));
}
