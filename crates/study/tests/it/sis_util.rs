//! The published comparison of SIS_PROP and SIS_UTIL (netperf TCP_RR and schbench on one LLC of 112 CPUs), simulated,
//! against its numbers. Short runs: the committed experiment measures longer.

use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{CompareRow, RunProgress, compare};
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runners::Simulator;
use wakelab_study::runs::RunId;

/// The seed of these runs. Their results are one draw: docs/simulator.md has the misses of three seeds of longer runs.
const SEED: u64 = 20;

struct Silent;

impl RunProgress for Silent {
    fn run(&self, _: usize, _: usize, _: &RunId) {}
}

/// A workload at these loads, measured for the second of two times after the first, ms.
fn spec(workload: &str, load: &str, [settle, time]: [u64; 2]) -> Spec {
    let mut spec =
        Spec::of_two_sides("intel-1s56c112t", "v5.19-rc1", workload, Some(load), "SIS_PROP", "SIS_UTIL").unwrap();
    spec.settle_ns = Given::by_flag("--settle", settle * 1_000_000);
    spec.time_ns = Given::by_flag("--time", time * 1_000_000);
    spec.seed = SEED;
    spec.repeats = Given::by_flag("--repeat", 1);
    spec
}

fn compared(spec: &Spec, base_only: bool) -> Vec<CompareRow> {
    let mut experiment = spec.resolve_two_sides().expect("a sound experiment");
    if base_only {
        experiment.variants.clear();
    }
    compare(&Simulator, &experiment, 0, &Silent, &AtomicBool::new(false)).expect("runs that end").rows
}

fn rows(load: &str, base_only: bool) -> Vec<CompareRow> {
    compared(&spec("netperf:TCP_RR", load, [300, 60]), base_only)
}

/// The posting's table (`data/published/sis_util-vanilla-search-stats.csv`): se_eff, dom_eff, fast_rate, success_rate.
fn published(case: &str, load: &str) -> [f64; 4] {
    let table = include_str!("../../../../data/published/sis_util-vanilla-search-stats.csv");
    let line = table.lines().find(|line| line.starts_with(&format!("{case},{load},"))).expect("a row");
    let numbers: Vec<f64> = line.split(',').skip(3).map(|number| number.parse().expect("a number")).collect();
    numbers.try_into().expect("four numbers")
}

/// How far a search statistic may be from the published one, percentage points.
struct Bounds {
    se_eff: f64,
    dom_eff: f64,
    fast_rate: f64,
    success_rate: f64,
}

/// The bounds at a load. They contain what the fit is documented to miss (docs/simulator.md, "What the fit misses").
fn bounds(load: &str) -> Bounds {
    // fast_rate is 4.8 points low at 224 threads; the same bound holds at all loads.
    let usual = Bounds { se_eff: 1.5, dom_eff: 0.5, fast_rate: 5.0, success_rate: 1.0 };
    match load {
        // At 84 threads dom_eff is 2.1 points high, and se_eff 4.1.
        "84 threads" => Bounds { se_eff: 5.0, dom_eff: 2.5, ..usual },
        _ => usual,
    }
}

/// Asserts that a statistic is within its bound of the published value.
fn assert_near(what: &str, load: &str, simulated: Option<f64>, published: f64, within: f64) {
    let simulated = simulated.expect("there were searches");
    assert!(
        (simulated - published).abs() <= within,
        "{what} at {load}: {simulated:.3} simulated, {published:.3} published, {within} apart at most"
    );
}

#[test]
fn vanilla_search_statistics_and_the_flip_are_the_published_ones() {
    for row in rows("84,140,224", false) {
        let [se_eff, dom_eff, fast_rate, success_rate] = published("netperf,TCP_RR", &row.load);
        let search = &row.base.search;
        let load = &row.load;
        let bounds = bounds(load);
        assert_near("fast_rate", load, search.fast_rate_pct, fast_rate, bounds.fast_rate);
        assert_near("dom_eff", load, search.dom_eff_pct, dom_eff, bounds.dom_eff);
        assert_near("se_eff", load, search.se_eff_pct, se_eff, bounds.se_eff);
        assert_near("success_rate", load, search.success_rate_pct, success_rate, bounds.success_rate);
        // The posting has +197.30% at 224 threads, where SIS_UTIL changes the state, and less than 1% below.
        if load == "224 threads" {
            assert!((150.0..250.0).contains(&row.compare_pct), "{load}: {:+.2}%", row.compare_pct);
            assert!(row.with.runs.iter().all(|run| !run.changes.is_empty()), "the state never changed");
        } else {
            assert!(row.compare_pct.abs() < 2.0, "{load}: {:+.2}%", row.compare_pct);
        }
    }
}

#[test]
fn few_tasks_take_the_fast_path() {
    let row = &rows("56", true)[0];
    let fast_rate = row.base.search.fast_rate_pct.expect("there were searches");
    assert!(fast_rate > 99.8, "{fast_rate}, published 99.96");
}

/// With more workers than CPUs, searches of schbench fail: those of `-s -c`, which its poster ran (with the message
/// threads of `-s 30000` more than half of the machine is idle).
#[test]
fn searches_of_schbench_fail_as_published() {
    let mut spec = spec("schbench:normal", "3,5,6", [500, 2_000]);
    spec.workloads[0].params = vec![("sleeptime".to_owned(), Given::by_flag("params", 0))];
    for row in compared(&spec, true) {
        let [_, dom_eff, fast_rate, success_rate] = published("schbench,normal", &row.load);
        let (search, load) = (&row.base.search, &row.load);
        // With 3 there are hardly any searches of the domain, and the statistics of all others are not in doubt.
        if load != "3 mthreads" {
            assert_near("dom_eff", load, search.dom_eff_pct, dom_eff, 0.5);
        }
        assert_near("fast_rate", load, search.fast_rate_pct, fast_rate, 8.0);
        assert_near("success_rate", load, search.success_rate_pct, success_rate, 8.0);
    }
}
