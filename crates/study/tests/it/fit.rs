//! Machines fitted to tables, with a stand-in for the simulator whose results follow from the constants.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_machine::{MACHINE, MachineFile, Origin};
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup};
use wakelab_study::compare::compare;
use wakelab_study::experiment::Spec;
use wakelab_study::fit::{Fit, FitError, FitProgress, Observations, Request, Stage, fit, observations};
use wakelab_study::reproduce::{Quantity, Table, tables_at};
use wakelab_study::runs::{RunId, Runner, Why};
use wakelab_study::sensitivity::{Method, Plan, Running, sensitivity};

const TOML: &str = "machine = \"test-2c\"\nkernel = \"v6.1\"\nbase = \"\"\nwith = \"NO_SIS_UTIL\"\n\
                    [workloads]\n\"netperf,TCP_RR\" = \"netperf:TCP_RR\"\n";
const HEADER: &str = "benchmark,case,load,base,base_std_pct,with,with_std_pct,compare_pct,unit\n";
const LOADS: [u64; 8] = [2, 4, 6, 8, 10, 12, 14, 16];

/// The throughput of a machine: each instance costs `probe` in all others, and a wake-up in itself.
fn throughput(instances: f64, probe: f64, wakeup: f64) -> f64 {
    5e3 * instances / (1.0 + wakeup / 200.0 + 0.01 * probe * instances)
}

struct Stand;

impl Runner for Stand {
    fn run(&self, _: &RunId, setup: &Setup<'_>, measure: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        // Two tasks of netperf are no pair: the shell and the daemon, which fork the pairs.
        let (instances, costs) = ((setup.workload.tasks.len() - 2) as f64 / 2.0, &setup.machine.costs);
        let probe = costs.probe.value as f64;
        // The other side does without the search, which helps where a probe is dear.
        let probe = if setup.features.has(wakelab_kernel::Feature::SIS_UTIL) { probe } else { probe.min(55.0) };
        for n in 0..throughput(instances, probe, costs.wakeup.value as f64) as u64 {
            measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 + n % 7 });
        }
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

/// A table of a machine with these constants; the other side's numbers begin with `with`.
fn table(folder: &Path, (probe, wakeup): (f64, f64), with: &str) -> Vec<Table> {
    let row = |load: u64| {
        let base = throughput(load as f64, probe, wakeup);
        format!("netperf,TCP_RR,{load},{base:.1},1,{with}{load},1,{with}{load},trans/s\n")
    };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("table.toml"), TOML).unwrap();
    fs::write(folder.join("rows.csv"), LOADS.iter().fold(HEADER.to_owned(), |rows, &load| rows + &row(load))).unwrap();
    tables_at(folder).unwrap()
}

fn machine() -> MachineFile {
    MachineFile::get("test-2c").unwrap()
}

fn observed(tables: &[Table]) -> Observations {
    observations(tables, &machine().machine, "test-2c").unwrap()
}

fn fitted(tables: &[Table], jobs: usize) -> Fit {
    let (machine, observed) = (machine(), observed(tables));
    let request = Request {
        machine: &machine,
        workloads: &[],
        budget: 150,
        ensemble: 6,
        seed: 1,
        fitted: "the base side of mine, 2026-11-23",
    };
    fit(&Stand, &observed, &request, jobs, &(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn constants_that_the_numbers_tell_are_found_from_the_middle_of_their_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let range = {
        let probe = machine().machine.costs.probe;
        [probe.low as f64, probe.high as f64]
    };
    let fit = fitted(&table(folder.path(), (0.95 * range[1], 110.0), ""), 2);
    assert!(fit.middle.mean() > 1.0, "{}", fit.middle.mean());
    assert!(fit.best.mean() < 0.5 && fit.best.levels_rms_log().unwrap() < 0.02, "{}", fit.best.mean());
    assert!(fit.fits_below > fit.ensemble[0] && fit.ensemble.iter().all(|&misfit| misfit <= fit.fits_below));
    let probe = fit.constants.iter().find(|one| one.name == "probe").unwrap();
    // The curve's shape is probe / (1 + wakeup / 200): a dear probe and a cheap wake-up.
    assert!(probe.best as f64 > (range[0] * range[1]).sqrt(), "{probe:?}");
    let file = &fit.machine.machine;
    assert_eq!(file.costs.probe.value, probe.best);
    assert_eq!(file.costs.probe.origin, Origin::Assumed("fitted to the base side of mine, 2026-11-23".to_owned()));
    let ensemble = file.ensemble.as_ref().unwrap();
    assert_eq!(ensemble.sets[0], fit.constants.iter().map(|one| one.best).collect::<Vec<_>>());
    assert_eq!(MachineFile::from_toml(&fit.machine.to_toml(), "m.toml").unwrap(), fit.machine);
}

#[test]
fn what_was_measured_stays() {
    let folder = tempfile::tempdir().unwrap();
    let fit = fitted(&table(folder.path(), (60.0, 200.0), ""), 1);
    let before = machine().machine;
    for (name, _, _, cost) in before.costs.list() {
        if matches!(cost.origin, Origin::Source(_)) {
            assert!(fit.constants.iter().all(|one| one.name != name), "{name}");
            assert_eq!(fit.machine.machine.costs.clone().get_mut(name).unwrap(), cost);
        }
    }
    // Two CPUs in one LLC: nothing is far.
    assert!(fit.constants.iter().all(|one| !one.name.ends_with("_far") && one.of == MACHINE));
}

#[test]
fn the_other_side_is_never_read_and_the_same_tables_give_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    let tables = ["", "9"].map(|with| table(&folder.path().join("mine"), (70.0, 150.0), with));
    let [one, other] = [fitted(&tables[0], 1), fitted(&tables[1], 2)];
    assert_eq!(one.machine.to_toml(), other.machine.to_toml());
    for row in observed(&tables[1]).rows {
        assert!(row.compare_pct.is_none() && row.recipe.unwrap().0.with.is_none(), "a base side alone");
        assert!(row.values.is_none_or(|[_, with]| with.is_none()) && row.spreads.is_none());
        assert!(row.cells.iter().all(|(column, _)| !column.contains("with") && !column.contains("compare")));
    }
}

/// Stops after so many sets.
struct Stopping<'a> {
    after: usize,
    stop: &'a AtomicBool,
    stages: Mutex<BTreeMap<String, usize>>,
}

impl FitProgress for Stopping<'_> {
    fn tried(&self, stage: Stage, done: usize, all: usize, best: f64) {
        assert!(done >= 1 && done <= all && best.is_finite(), "{stage:?} {done} of {all}: {best}");
        let mut stages = self.stages.lock().unwrap();
        *stages.entry(format!("{stage:?}")).or_default() += 1;
        self.stop.fetch_or(stages.values().sum::<usize>() >= self.after, Ordering::Relaxed);
    }
}

#[test]
fn a_stop_ends_the_search_and_says_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, observed) = (machine(), observed(&table(folder.path(), (60.0, 200.0), "")));
    // The smallest budget, in its long runs: there are more than a twelfth of it.
    for (budget, after) in [(120, 3), (120, 40), (120, usize::MAX), (60, 66)] {
        let request = Request { machine: &machine, workloads: &[], budget, ensemble: 4, seed: 1, fitted: "" };
        let stop = AtomicBool::new(false);
        let progress = Stopping { after, stop: &stop, stages: Mutex::default() };
        let found = fit(&Stand, &observed, &request, 1, &progress, &stop);
        let stages = progress.stages.into_inner().unwrap();
        match after {
            usize::MAX => assert!(found.is_ok() && stages.len() == 5, "{stages:?}"),
            _ => {
                let Err(FitError::Interrupted { tried, of }) = found else { panic!("{found:?}") };
                assert!(tried >= after.min(3) && tried < of, "{tried} of {of}");
            }
        }
    }
}

/// Does nothing.
struct Idle;

impl Runner for Idle {
    fn run(&self, _: &RunId, setup: &Setup<'_>, _: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

#[test]
fn a_machine_on_which_no_row_can_be_simulated_is_an_error_of_the_first_set() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, observed) = (machine(), observed(&table(folder.path(), (60.0, 200.0), "")));
    let request = Request { machine: &machine, workloads: &[], budget: 60, ensemble: 1, seed: 1, fitted: "" };
    let error = fit(&Idle, &observed, &request, 1, &(), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(&error, FitError::Failed(why) if why.contains("no transaction")), "{error}");
}

#[test]
fn tables_without_a_base_side_of_the_machine_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let tables = table(folder.path(), (60.0, 200.0), "");
    let other = wakelab_machine::get("test-8c").unwrap();
    let error = observations(&tables, &other, "test-8c").unwrap_err();
    assert!(matches!(&error, FitError::OtherMachine { of, .. } if of == &["test-2c"]), "{error}");
    let rows = format!("{HEADER}netperf,TCP_RR,2,,,5,,5,trans/s\n");
    fs::write(folder.path().join("rows.csv"), rows).unwrap();
    let error = observations(&tables_at(folder.path()).unwrap(), &machine().machine, "test-2c").unwrap_err();
    assert!(matches!(error, FitError::Nothing { .. }) && error.to_string().contains("never read"), "{error}");
    let known = observed(&tables);
    let workloads = ["hackbench:process-pipe".to_owned()];
    let machine = machine();
    let request = Request { machine: &machine, workloads: &workloads, budget: 60, ensemble: 1, seed: 1, fitted: "" };
    let error = fit(&Stand, &known, &request, 1, &(), &AtomicBool::new(false)).unwrap_err();
    assert!(error.to_string().contains("netperf:TCP_RR"), "{error}");
}

#[test]
fn rows_that_cannot_be_built_are_left_out_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let tables = table(folder.path(), (60.0, 200.0), "");
    let other = folder.path().join("other");
    table(&other, (60.0, 200.0), "");
    fs::write(other.join("table.toml"), TOML.replace("base = \"\"", "base = \"SIS_UNHEARD_OF\"")).unwrap();
    let tables: Vec<Table> = tables.into_iter().chain(tables_at(&other).unwrap()).collect();
    let fit = fitted(&tables, 1);
    let left_out: Vec<(&str, usize)> = fit.left_out.iter().map(|(why, rows)| (why.as_str(), *rows)).collect();
    assert!(matches!(left_out[..], [(why, 8)] if why.contains("SIS_UNHEARD_OF")), "{left_out:?}");
    assert_eq!(fit.best.count(), 8);
}

#[test]
fn search_statistics_and_idle_time_of_a_folder_are_observed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), TOML).unwrap();
    let header = "benchmark,case,load,base,compare_pct,se_eff_pct,dom_eff_pct,fast_rate_pct,success_rate_pct,idle_pct";
    fs::write(folder.path().join("mine.csv"), format!("{header}\nnetperf,TCP_RR,2,,,90,20,80,99,33\n")).unwrap();
    let tables = tables_at(&folder.path().join("mine.toml")).unwrap();
    assert_eq!(tables[0].name, "mine");
    let observed = observed(&tables);
    let row = &observed.rows[0];
    assert_eq!((row.quantity, row.search.unwrap().fast_rate_pct, row.idle_pct), (Quantity::Metric, 80.0, Some(33.0)));
    fs::write(folder.path().join("mine.csv"), format!("{header}\nnetperf,TCP_RR,2,,,90,20,80,99,133\n")).unwrap();
    let error = tables_at(&folder.path().join("mine.toml")).unwrap_err().to_string();
    assert!(error.contains("idle_pct") && error.contains("0 to 100"), "{error}");
}

/// A prediction on a fitted machine says in how many of the machines that fit it holds.
#[test]
fn a_comparison_on_a_fitted_machine_is_made_with_every_set() {
    let folder = tempfile::tempdir().unwrap();
    let fit = fitted(&table(&folder.path().join("mine"), (75.0, 110.0), ""), 2);
    let path = folder.path().join("fitted.toml");
    fs::write(&path, fit.machine.to_toml()).unwrap();
    let path = path.to_str().unwrap();
    let spec = Spec::of_two_sides(path, "v6.1", "netperf:TCP_RR", Some("16"), "SIS_UTIL", "NO_SIS_UTIL").unwrap();
    let experiment = spec.resolve_two_sides().unwrap();
    let stop = AtomicBool::new(false);
    let nominal = compare(&Stand, &experiment, 1, &(), &stop).unwrap();
    let plan = Plan::new(&spec, &experiment, Method::Ensemble, None).unwrap();
    assert_eq!(plan.samples, fit.machine.machine.ensemble.as_ref().unwrap().sets);
    let found = sensitivity(&plan, &nominal, Running { runner: &Stand, jobs: 1, progress: &(), stop: &stop }).unwrap();
    let row = &found.rows[0];
    let classes = row.classes;
    assert_eq!((row.same.of, classes.better + classes.same + classes.worse), (plan.samples.len(), plan.samples.len()));
    // The first set is the machine itself.
    assert_eq!(found.samples[0].compare_pct[0], Some(nominal.rows[0].compare_pct));
    let few = Plan::new(&spec, &experiment, Method::Ensemble, Some(1)).unwrap();
    assert_eq!(few.samples.len(), 1);
    assert_eq!(found.fitted.as_deref(), Some("the base side of mine, 2026-11-23"));
}
