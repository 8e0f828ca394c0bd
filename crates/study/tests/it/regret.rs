//! Regret of simulated runs, on a small machine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_measure::regret::Regret;
use wakelab_sim::Setup;
use wakelab_study::compare::{Block, Comparison, RegretSummary, compare};
use wakelab_study::experiment::Spec;
use wakelab_study::runners::Simulator;
use wakelab_study::runs::Program;
use wakelab_study::runs::cache::{Cached, Store};

fn experiment(kernel: &str, with: &str, regret: bool) -> Block {
    let text = format!(
        r#"
        machine = "test-8c"
        kernel = "{kernel}"
        repeats = 1
        settle = "20ms"
        time = "20ms"
        workload = [{{ name = "netperf:TCP_RR", load = "4,16", params = {{ ramp = 5000000 }} }}]
        variants = {{ base = "SIS_PROP", with = "{with}" }}
    "#
    );
    let mut spec = Spec::parse(Path::new("small.toml"), &text).unwrap();
    spec.regret = regret;
    spec.resolve_two_sides().unwrap()
}

fn run(with: &str, regret: bool) -> Comparison {
    compare(&Simulator, &experiment("v5.19-rc1", with, regret), 2, &(), &AtomicBool::new(false)).unwrap()
}

fn sides(found: &Comparison) -> Vec<&RegretSummary> {
    let both = found.rows.iter().flat_map(|row| [&row.base, &row.with]);
    both.map(|side| side.regret.as_ref().expect("it was wanted")).collect()
}

#[test]
fn who_asks_for_regret_changes_nothing_else() {
    let (without, mut with) = (run("SIS_UTIL", false), run("SIS_UTIL", true));
    for row in &mut with.rows {
        for side in [&mut row.base, &mut row.with] {
            assert!(side.regret.take().is_some_and(|regret| regret.wakeups.counts.n > 0));
            side.runs.iter_mut().for_each(|run| run.regret = None);
        }
    }
    assert_eq!(with.rows, without.rows);
}

/// A run that was kept without regret has none to give.
#[test]
fn kept_runs_are_told_apart_by_whether_regret_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Program::named("test"), false).unwrap();
    let cached = Cached { store: &store, runner: &Simulator };
    let run = |regret| {
        let experiment = experiment("v5.19-rc1", "SIS_UTIL", regret);
        compare(&cached, &experiment, 2, &(), &AtomicBool::new(false)).unwrap().rows
    };
    let (without, with) = (run(false), run(true));
    assert_eq!((store.made(), store.found()), (8, 0));
    assert!(without[0].base.regret.is_none() && with[0].base.regret.is_some());
    assert_eq!((run(true), run(false)), (with, without));
    assert_eq!((store.made(), store.found()), (8, 8));
}

#[test]
fn what_is_counted_adds_up() {
    let found = run("SIS_UTIL", true);
    for (side, regret) in found.rows.iter().flat_map(|row| [&row.base, &row.with]).zip(sides(&found)) {
        let search = side.search.counts;
        let (wakeups, searches, looks) = (&regret.wakeups.counts, &regret.searches.counts, &regret.looks.counts);
        assert_eq!(wakeups.n, search.sis_search);
        assert_eq!(wakeups.n, wakeups.on_idle + wakeups.on_claimed + wakeups.on_busy);
        assert_eq!((searches.n, searches.failed), (search.sis_domain_search, search.sis_failed));
        assert_eq!(searches.failed, searches.missed + searches.gone + searches.nothing);
        assert_eq!(looks.n, search.sis_scanned - search.sis_search, "each search adds one for its fast path");
        assert_eq!(looks.n, looks.nothing_idle + looks.before_first + looks.from_first);
        let enough: u64 = regret.enough.iter().map(|bucket| bucket.count).sum();
        assert_eq!(searches.n, enough + regret.enough_never);
    }
}

#[test]
fn perfect_knowledge_misses_nothing() {
    let found = run("SIS_ORACLE,NO_SIS_PROP", true);
    let oracle = found.rows.iter().map(|row| row.with.regret.as_ref().unwrap());
    for (oracle, row) in oracle.zip(&found.rows) {
        let (wakeups, searches) = (&oracle.wakeups.counts, &oracle.searches.counts);
        assert_eq!((searches.missed, searches.gone), (0, 0), "{}", row.load);
        // It chooses when the search begins, and the CPU may be claimed before the choice is there.
        assert!(wakeups.missed * 10 <= wakeups.n, "{}: {wakeups:?}", row.load);
    }
}

#[test]
fn the_charged_time_is_all_the_time_in_which_the_machine_was_not_idle() {
    for kernel in Preset::names() {
        let experiment = experiment(kernel, "NO_TTWU_QUEUE", true);
        for (case, variant) in experiment.cases.iter().zip(experiment.each_side()) {
            let until = 40_000_000;
            let setup = Setup {
                machine: &experiment.machine,
                kernel: &variant.kernel,
                features: variant.features,
                workload: &case.workload,
                seed: 1,
                until,
                mechanisms: experiment.mechanisms,
                observer_cost: 0,
                pm: None,
                scheduler: None,
            };
            let mut regret = Regret::new(0, until, experiment.machine.topology.nr_cpus());
            let outcome = wakelab_sim::run(&setup, &mut regret, &AtomicBool::new(false)).unwrap();
            let busy: u64 = outcome.cpus.iter().map(|cpu| cpu.work + cpu.overhead).sum();
            let stats = regret.finish(outcome.ended, &[]);
            let cpu = stats.cpu;
            let charged = [cpu.on_idle, cpu.on_claimed, cpu.on_busy, cpu.other].map(|kind| kind.busy_ns);
            assert_eq!(charged.iter().sum::<u64>(), busy, "{kernel} {}", case.workload.load);
            assert_eq!(stats.migrating.busy_ns, busy);
        }
    }
}
