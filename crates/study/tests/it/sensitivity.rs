//! Verdicts, with a stand-in for the simulator that is told which constant decides.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Feature;
use wakelab_machine::{Origin, ScxCosts};
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup};
use wakelab_study::compare::{Block, Class, compare};
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runs::cache::{Cached, Store};
use wakelab_study::runs::{Program, RunId, Runner, Why};
use wakelab_study::sensitivity::{Method, Plan, PlanError, Running, Sensitivity, Side, Verdict, sensitivity};

/// `with` does twice as much, or as much, as a constant says.
struct Decided {
    by: fn(&Setup<'_>) -> bool,
}

fn probe(setup: &Setup<'_>) -> u64 {
    setup.machine.costs.probe.value
}

fn param(setup: &Setup<'_>, name: &str) -> u64 {
    setup.workload.params.iter().find(|param| param.name == name).unwrap().value
}

impl Runner for Decided {
    fn run(&self, _: &RunId, setup: &Setup<'_>, measure: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        let twice = setup.features.has(Feature::SIS_UTIL) && (self.by)(setup);
        for n in 0..if twice { 200 } else { 100 } {
            measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 + n });
        }
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

fn spec() -> Spec {
    let spec =
        Spec::of_two_sides("test-8c", "v5.19-rc1", "netperf:TCP_RR", Some("4,8"), "SIS_PROP", "SIS_UTIL").unwrap();
    Spec { repeats: Given::by_default("repeats", 1), ..spec }
}

fn plan(method: Method, budget: Option<usize>) -> (Plan, Block) {
    let experiment = spec().resolve_two_sides().unwrap();
    (Plan::new(&spec(), &experiment, method, budget).unwrap(), experiment)
}

fn run(runner: &dyn Runner, method: Method, budget: Option<usize>) -> Sensitivity {
    let (plan, experiment) = plan(method, budget);
    let stop = AtomicBool::new(false);
    let nominal = compare(runner, &experiment, 1, &(), &stop).unwrap();
    sensitivity(&plan, &nominal, Running { runner, jobs: 2, progress: &(), stop: &stop }).unwrap()
}

#[test]
fn what_no_constant_changes_holds() {
    for method in [Method::LatinHypercube, Method::OneAtATime] {
        let found = run(&Decided { by: |_| true }, method, None);
        assert!(found.complete && found.rows.len() == 2);
        for row in &found.rows {
            assert_eq!((&row.verdict, row.class, row.same.n), (&Verdict::Holds, Class::Better, found.samples.len()));
            assert_eq!((row.compare_pct, row.noise_pct, row.range), (100.0, 10.0, Some([100.0; 3])));
        }
    }
}

#[test]
fn a_cost_that_decides_is_named_with_its_threshold() {
    let (plan, _) = plan(Method::LatinHypercube, None);
    let constant = plan.constants.iter().find(|constant| constant.name == "probe").unwrap().clone();
    assert!(constant.value > 30 && constant.low < 30, "{constant:?}");
    let found = run(&Decided { by: |setup| probe(setup) > 30 }, Method::LatinHypercube, Some(64));
    let Verdict::Depends(on) = &found.rows[0].verdict else { panic!("{:?}", found.rows[0].verdict) };
    let [condition] = &on[..] else { panic!("{on:?}") };
    assert_eq!((&condition.constant, condition.side), (&constant, Side::Above));
    assert!(condition.between[0] <= 30 && condition.between[1] > 30, "{condition:?}");
    assert_eq!((condition.inside.n, condition.outside.n), (condition.inside.of, 0));
    let mut strongest = found.rows[0].influences.clone();
    strongest.sort_by(|a, b| b.spearman.unwrap().abs().total_cmp(&a.spearman.unwrap().abs()));
    assert_eq!(strongest[0].name, "probe");
    assert!(strongest[0].spearman.unwrap() > 0.3, "{strongest:?}");
}

#[test]
fn a_number_of_the_workload_is_changed_too() {
    let found = run(&Decided { by: |setup| param(setup, "jitter") < 18 }, Method::LatinHypercube, Some(64));
    assert_eq!(found.rows[1].class, Class::Same);
    let Verdict::Depends(on) = &found.rows[1].verdict else { panic!("{:?}", found.rows[1].verdict) };
    assert_eq!((on[0].constant.of.as_str(), on[0].constant.name.as_str()), ("netperf:TCP_RR", "jitter"));
    assert_eq!((on[0].side, on[0].between), (Side::Above, [17, 18]));
}

#[test]
fn what_two_constants_decide_together_is_uncertain() {
    let by = |setup: &Setup<'_>| (probe(setup) > 60) != (param(setup, "jitter") > 20);
    let found = run(&Decided { by }, Method::LatinHypercube, Some(64));
    let row = &found.rows[0];
    assert_eq!(row.verdict, Verdict::Uncertain);
    assert!(row.same.n > 0 && row.same.n < row.same.of && row.same.of == 64, "{:?}", row.same);
}

#[test]
fn one_at_a_time_names_the_end_that_changes_the_class() {
    let found = run(&Decided { by: |setup| probe(setup) > 30 }, Method::OneAtATime, None);
    let of_probe = found.constants.iter().position(|constant| constant.name == "probe").unwrap();
    let constant = &found.constants[of_probe];
    let Verdict::Depends(on) = &found.rows[0].verdict else { panic!("{:?}", found.rows[0].verdict) };
    let [condition] = &on[..] else { panic!("{on:?}") };
    assert_eq!((condition.side, condition.between), (Side::Above, [constant.low, constant.value]));
    for (at, influence) in found.rows[0].influences.iter().enumerate() {
        let expected = if at == of_probe { Some(0.0) } else { Some(100.0) };
        assert_eq!((influence.at_low_pct, influence.at_high_pct), (expected, Some(100.0)), "{}", influence.name);
    }
    assert_eq!(found.samples.len(), 2 * found.constants.len());
}

#[test]
fn a_greater_budget_makes_only_the_new_samples() {
    let here = tempfile::tempdir().unwrap();
    let made = |budget| {
        let store = Store::open(here.path(), Program::named("x"), false).unwrap();
        let runner = Decided { by: |_| true };
        let found = run(&Cached { store: &store, runner: &runner }, Method::LatinHypercube, Some(budget));
        assert_eq!(found.samples.len(), budget);
        store.made()
    };
    // Two rows on both sides, with the comparison itself at first.
    assert_eq!((made(5), made(5), made(12), made(7)), (4 * 6, 0, 4 * 7, 0));
}

#[test]
fn the_result_does_not_depend_on_how_many_run_at_a_time() {
    let (plan, experiment) = plan(Method::LatinHypercube, Some(9));
    let (runner, stop) = (Decided { by: |setup| probe(setup) > 60 }, AtomicBool::new(false));
    let nominal = compare(&runner, &experiment, 1, &(), &stop).unwrap();
    let run = |jobs| sensitivity(&plan, &nominal, Running { runner: &runner, jobs, progress: &(), stop: &stop });
    assert_eq!(run(1).unwrap(), run(5).unwrap());
}

#[test]
fn a_stop_leaves_the_samples_that_are_complete() {
    let (plan, experiment) = plan(Method::LatinHypercube, None);
    let stop = AtomicBool::new(false);
    let runner = Decided { by: |_| true };
    let nominal = compare(&runner, &experiment, 1, &(), &stop).unwrap();
    stop.store(true, Ordering::Relaxed);
    let found = sensitivity(&plan, &nominal, Running { runner: &runner, jobs: 1, progress: &(), stop: &stop }).unwrap();
    assert!(!found.complete && found.samples.is_empty());
    assert_eq!((&found.rows[0].verdict, found.rows[0].range), (&Verdict::Uncertain, None));
}

#[test]
fn what_the_experiment_gives_is_not_changed() {
    let mut spec = spec();
    spec.workloads[0].params.push(("jitter".to_owned(), Given::by_default("params", 16)));
    let experiment = spec.resolve_two_sides().unwrap();
    let plan = Plan::new(&spec, &experiment, Method::LatinHypercube, None).unwrap();
    assert!(plan.constants.iter().any(|constant| constant.of == "netperf:TCP_RR"));
    assert!(!plan.constants.iter().any(|constant| constant.name == "jitter"));
    let sample = plan.experiment(&plan.samples[3]).unwrap();
    let jitter = sample.cases[0].workload.params.iter().find(|param| param.name == "jitter").unwrap();
    assert_eq!(jitter.value, 16);
}

#[test]
fn samples_are_within_the_ranges_and_published_numbers_stay() {
    let (plan, experiment) = plan(Method::LatinHypercube, Some(40));
    for values in &plan.samples {
        for (constant, value) in plan.constants.iter().zip(values) {
            assert!((constant.low..=constant.high).contains(value), "{constant:?} {value}");
        }
        let sample = plan.experiment(values).unwrap();
        let varied = |name: &str| plan.constants.iter().any(|one| one.of == "machine" && one.name == name);
        for ((name, _, _, cost), (_, _, _, usual)) in
            sample.machine.costs.list().iter().zip(experiment.machine.costs.list())
        {
            assert!(varied(name) || *cost == usual, "{name}");
        }
    }
}

/// They are constants of the comparison only if a side has a scheduler: nothing else reads them.
#[test]
fn what_a_scheduler_costs_is_varied_if_a_side_has_one() {
    let with = "scx:../bpf/tests/data/scx_simple.bpf.o";
    let spec = Spec::of_two_sides("test-8c", "v7.2", "netperf:TCP_RR", Some("4"), "", with).unwrap();
    let experiment = spec.resolve_two_sides().unwrap();
    let plan = Plan::new(&spec, &experiment, Method::LatinHypercube, Some(8)).unwrap();
    let of_fair = self::plan(Method::LatinHypercube, Some(8)).0;
    let costs = experiment.machine.scx_costs.list();
    // Those that were measured, as the lines of this machine's scale, are not varied.
    let assumed = |name: &str| {
        costs.iter().any(|(known, _, _, cost)| *known == name && matches!(cost.origin, Origin::Assumed(_)))
    };
    assert!(assumed("scx_dsq"));
    for name in ScxCosts::NAMES.iter().filter(|name| assumed(name)) {
        let at = plan.constants.iter().position(|constant| constant.name == *name).unwrap_or_else(|| panic!("{name}"));
        assert!(of_fair.constants.iter().all(|constant| constant.name != *name), "{name}");
        let mut sample = plan.experiment(&plan.samples[3]).unwrap();
        let value = sample.machine.scx_costs.get_mut(name).unwrap().value;
        assert_eq!(value, plan.samples[3][at], "{name}");
    }
}

#[test]
fn a_budget_that_does_not_do_for_all_constants_is_refused() {
    let experiment = spec().resolve_two_sides().unwrap();
    let error = Plan::new(&spec(), &experiment, Method::OneAtATime, Some(3)).unwrap_err();
    assert!(matches!(error, PlanError::Few { given: 3, .. }), "{error}");
    assert!(error.to_string().starts_with("--budget: 3 is too few; expected "), "{error}");
}

#[test]
fn every_workload_with_the_number_has_it_changed() {
    let here = tempfile::tempdir().unwrap();
    let path: &Path = &here.path().join("x.toml");
    let text = "machine = \"test-8c\"\nkernel = \"v5.19-rc1\"\n[variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL\"\n\
                [[workload]]\nname = \"netperf:TCP_RR\"\nload = \"4\"\n[[workload]]\nname = \
                \"hackbench:process-pipe\"\nload = \"1\"\n";
    fs::write(path, text).unwrap();
    let spec = Spec::read(path).unwrap();
    let experiment = spec.resolve_two_sides().unwrap();
    let plan = Plan::new(&spec, &experiment, Method::LatinHypercube, Some(8)).unwrap();
    let sample = plan.experiment(&plan.samples[0]).unwrap();
    for (case, usual) in sample.cases.iter().zip(&experiment.cases) {
        for (param, usual) in case.workload.params.iter().zip(&usual.workload.params) {
            let at = plan.constants.iter().position(|one| one.of == case.name && one.name == param.name);
            assert_eq!(param.value, at.map_or(usual.value, |at| plan.samples[0][at]), "{} {}", case.name, param.name);
        }
    }
}

/// Whatever they say: seven that agree leave a third of the ranges open.
#[test]
fn fewer_than_eight_samples_are_uncertain() {
    let of = |budget| run(&Decided { by: |_| true }, Method::LatinHypercube, Some(budget)).rows[0].clone();
    let (few, enough) = (of(7), of(8));
    assert_eq!((few.same.n, few.verdict), (7, Verdict::Uncertain));
    assert_eq!((enough.same.n, enough.verdict), (8, Verdict::Holds));
}

#[test]
fn what_constants_have_to_exceed_to_stand_out_is_that_of_all_of_them() {
    let found = run(&Decided { by: |setup| probe(setup) > 30 }, Method::LatinHypercube, Some(64));
    let above = found.rows[0].stands_out_above.unwrap();
    let out: Vec<_> = found.rows[0].influences.iter().filter(|one| one.spearman.unwrap().abs() > above).collect();
    assert!(out.len() == 1 && out[0].name == "probe", "{above}: {out:?}");
    let ends = run(&Decided { by: |setup| probe(setup) > 30 }, Method::OneAtATime, None);
    assert_eq!(ends.rows[0].stands_out_above, None);
}
