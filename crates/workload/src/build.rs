//! Workloads by name.

use crate::benchmark::{Benchmark, Case, ShortestRun, Values, benchmarks};
use crate::error::{About, WorkloadError};
use crate::file;
use crate::rt_app::RtApp;
use crate::validate::{NR_CPUS_MAX, TASKS_MAX};
use crate::{Load, Workload};
use std::collections::BTreeMap;
use std::path::Path;
use wakelab_input::{nearest, suggest};

/// Builds a workload for a machine of `nr_cpus` CPUs. `name` is that of a benchmark and its case (`netperf:TCP_RR`), or
/// the path of a file that ends in `.toml`, or in `.json` for rt-app's. `options` sets parameters of a benchmark's
/// model, by name, in their own units.
///
/// # Errors
/// There is no such workload, the file is wrong, the load amounts to no instance, an option is unknown or too high, or
/// the workload does not fit the machine ([`Workload::validate`]).
pub fn build(name: &str, load: Load, nr_cpus: u32, options: &BTreeMap<String, u64>) -> Result<Workload, WorkloadError> {
    build_found(&find(name, false)?.0, load, nr_cpus, options)
}

/// Builds a workload as [`build()`] does, but gives a warning for each thing in a file of rt-app that the model cannot
/// represent, instead of an error.
///
/// # Errors
/// Those of [`build()`], except for these.
pub fn build_leniently(
    name: &str,
    load: Load,
    nr_cpus: u32,
    options: &BTreeMap<String, u64>,
) -> Result<(Workload, Vec<WorkloadError>), WorkloadError> {
    let (found, warnings) = find(name, true)?;
    Ok((build_found(&found, load, nr_cpus, options)?, warnings))
}

fn build_found(
    found: &Found,
    load: Load,
    nr_cpus: u32,
    options: &BTreeMap<String, u64>,
) -> Result<Workload, WorkloadError> {
    found.check_load(load)?;
    let instances =
        load.instances(nr_cpus).map_err(|e| WorkloadError::new(About::Load, e.what).with_hint(Some(e.example)))?;
    let workload = found.workload(instances, options)?;
    found.check(&workload, nr_cpus)?;
    Ok(workload)
}

/// A workload as `wakelab workload show` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// A sentence about the workload and, after an empty line, the rest. Empty for a file.
    pub doc: String,
    /// What the case does. Empty for a file.
    pub case_doc: String,
    /// One instance of the workload.
    pub workload: Workload,
}

/// Describes a workload, by the names that [`build()`] takes.
///
/// # Errors
/// There is no such workload, or its file is wrong.
pub fn describe(name: &str) -> Result<Description, WorkloadError> {
    describe_found(&find(name, false)?.0)
}

/// Describes a workload as [`describe`] does, but gives a warning for each thing in a file of rt-app that the model
/// cannot represent, instead of an error.
///
/// # Errors
/// Those of [`describe`], except for these.
pub fn describe_leniently(name: &str) -> Result<(Description, Vec<WorkloadError>), WorkloadError> {
    let (found, warnings) = find(name, true)?;
    Ok((describe_found(&found)?, warnings))
}

fn describe_found(found: &Found) -> Result<Description, WorkloadError> {
    let (doc, case_doc) = match found {
        Found::Benchmark(benchmark, case) => (benchmark.doc().to_owned(), case.doc.to_owned()),
        Found::File(_) | Found::RtApp(_) => (String::new(), String::new()),
    };
    let workload = found.workload(if found.load_is_rate() { SHOWN_A_SECOND } else { 1 }, &BTreeMap::new())?;
    found.check(&workload, NR_CPUS_MAX)?;
    Ok(Description { doc, case_doc, workload })
}

/// The rate at which a workload is shown whose load is a rate.
const SHOWN_A_SECOND: u32 = 100;

/// Builds one instance of the workload whose file has this text. Errors call the file `path`.
///
/// # Errors
/// The file is wrong: with the line, the key, and what was expected.
pub fn from_toml(text: &str, path: &Path, instances: u32) -> Result<Workload, WorkloadError> {
    let file = file::WorkloadFile::checked(path, text)?;
    let workload = file.workload(instances)?;
    workload.validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
    Ok(workload)
}

/// Returns the shortest run of the workload of that name that is compared with published results, as
/// [`shortest_run`] does.
pub fn published_run(name: &str) -> ShortestRun {
    by_name(name).map_or_else(ShortestRun::default, |(benchmark, case)| benchmark.published_run(case))
}

/// Returns the shortest run of the workload of that name whose result means anything: 0 for a file, about which nothing
/// is known, and for an unknown name.
pub fn shortest_run(name: &str) -> ShortestRun {
    by_name(name).map_or_else(ShortestRun::default, |(benchmark, case)| benchmark.shortest_run(case))
}

/// Returns whether the load of the workload of that name is a rate: `400/s`.
pub fn load_is_rate(name: &str) -> bool {
    by_name(name).is_some_and(|(benchmark, _)| benchmark.load_is_rate())
}

/// Returns the load of the workload of that name if none is given. That of a .toml file is 1 if all its tasks are by
/// `count`, so that a load changes nothing, and if it cannot be read, so that building the workload says why. Returns
/// `None` if a load must be given, and for an unknown name.
pub fn default_load(name: &str) -> Option<u32> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") {
        return file::WorkloadFile::read(path).map_or(Some(1), |file| (!file.by_instance()).then_some(1));
    }
    by_name(name).and_then(|(benchmark, _)| benchmark.default_load())
}

/// Returns the number that a benchmark itself prints at a load of `instances` if the model measures `metric`, up to a
/// constant factor.
pub fn printed(benchmark: &str, instances: u64, metric: f64) -> f64 {
    let known = benchmarks().iter().find(|known| known.name() == benchmark);
    known.map_or(metric, |benchmark| benchmark.printed(instances, metric))
}

/// All cases of all benchmarks.
fn cases() -> impl Iterator<Item = (&'static dyn Benchmark, &'static Case)> {
    benchmarks().iter().flat_map(|&benchmark| benchmark.cases().iter().map(move |case| (benchmark, case)))
}

fn by_name(name: &str) -> Option<(&'static dyn Benchmark, &'static Case)> {
    // No two names differ in case alone.
    cases().find(|&(benchmark, case)| {
        let first = benchmark.has_default_case() && benchmark.cases().first() == Some(case);
        (first && name.eq_ignore_ascii_case(benchmark.name())) || full_name(benchmark, case).eq_ignore_ascii_case(name)
    })
}

/// The names of all benchmarks' cases: `netperf:TCP_RR`.
pub fn names() -> Vec<String> {
    cases().map(|(benchmark, case)| full_name(benchmark, case)).collect()
}

/// What a name refers to.
enum Found {
    Benchmark(&'static dyn Benchmark, &'static Case),
    File(Box<file::WorkloadFile>),
    RtApp(Box<RtApp>),
}

impl Found {
    fn load_is_rate(&self) -> bool {
        matches!(self, Found::Benchmark(benchmark, _) if benchmark.load_is_rate())
    }

    /// Refuses a rate if instances are counted, and instances if a rate is expected.
    fn check_load(&self, load: Load) -> Result<(), WorkloadError> {
        let wrong = |expected: &str, hint: &str| {
            let what = format!("expected a load that is {expected}, found {load}");
            Err(WorkloadError::new(About::Load, what).with_hint(Some(hint.to_owned())))
        };
        match (self.load_is_rate(), matches!(load, Load::PerSecond(_))) {
            (true, false) => wrong("a rate", "such as 50/s; 10..400/s is a sweep from 10 to 400 a second"),
            (false, true) => wrong("a number of instances or a percentage", "such as 28 instances, or 25% of the CPUs"),
            _ => Ok(()),
        }
    }

    fn workload(&self, instances: u32, options: &BTreeMap<String, u64>) -> Result<Workload, WorkloadError> {
        match self {
            Found::Benchmark(benchmark, case) => of_benchmark(*benchmark, case, instances, options),
            Found::File(file) => no_options(file.path(), options).and_then(|()| file.workload(instances)),
            Found::RtApp(file) => no_options(file.path(), options).and_then(|()| file.copies(instances)),
        }
    }

    /// Validates a workload that was built from this, on a machine of so many CPUs.
    fn check(&self, workload: &Workload, nr_cpus: u32) -> Result<(), WorkloadError> {
        workload.validate(nr_cpus).map_err(|error| self.locate(error))
    }

    /// Returns an error about a workload that was built from this: for a file, with the line.
    fn locate(&self, error: WorkloadError) -> WorkloadError {
        match self {
            Found::Benchmark(..) => {
                let hint = matches!(error.about, About::Task(_))
                    .then(|| "the parameter `cpus` is the number of CPUs to which tasks are pinned".to_owned());
                error.with_hint(hint)
            }
            Found::File(file) => file.locate(error),
            Found::RtApp(file) => file.locate(error),
        }
    }
}

fn no_options(file: &Path, options: &BTreeMap<String, u64>) -> Result<(), WorkloadError> {
    let Some(option) = options.keys().next() else { return Ok(()) };
    let what = format!("a workload from a file has no parameters, but {option} was given");
    let hint = format!("change {} instead", file.display());
    Err(WorkloadError::new(About::Param(option.clone()), what).with_hint(Some(hint)))
}

fn of_benchmark(
    benchmark: &dyn Benchmark,
    case: &Case,
    instances: u32,
    options: &BTreeMap<String, u64>,
) -> Result<Workload, WorkloadError> {
    let values = Values::new(&full_name(benchmark, case), &benchmark.params(case), options)?;
    let tasks = benchmark.nr_tasks(case, instances, &values);
    if tasks > TASKS_MAX {
        let what = format!("{instances} instances make {tasks} tasks; expected at most {TASKS_MAX}");
        return Err(WorkloadError::new(About::Load, what));
    }
    let measures = benchmark.measures(case, &values);
    let set = benchmark.build(case, instances, &values);
    Ok(Workload {
        benchmark: benchmark.name().to_owned(),
        case: case.name.to_owned(),
        load: benchmark.load_label(case, instances),
        metric: measures.metric.to_owned(),
        unit: measures.unit.to_owned(),
        higher_is_better: measures.higher_is_better,
        programs: set.programs,
        channels: set.channels,
        tasks: set.tasks,
        cpu_sets: vec![],
        distributions: vec![],
        params: values.into_params(),
        groups: vec![],
        interrupts: vec![],
        changes: vec![],
    })
}

fn full_name(benchmark: &dyn Benchmark, case: &Case) -> String {
    format!("{}:{}", benchmark.name(), case.name)
}

/// Looks a name up, and returns the warnings of reading its file.
fn find(name: &str, lenient: bool) -> Result<(Found, Vec<WorkloadError>), WorkloadError> {
    let path = Path::new(name);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => {
            return file::WorkloadFile::read(path).map(|file| (Found::File(Box::new(file)), vec![]));
        }
        Some("json") => {
            return RtApp::read(path, lenient).map(|(file, warnings)| (Found::RtApp(Box::new(file)), warnings));
        }
        _ => {}
    }
    if let Some((benchmark, case)) = by_name(name) {
        return Ok((Found::Benchmark(benchmark, case), vec![]));
    }
    let names = names();
    let like = nearest(name, names.iter().map(String::as_str));
    let what = format!("there is no workload {name:?}{}", suggest(&like));
    let hint = "`wakelab workload list` shows all workloads; the path of a file ends in .toml, or in .json for rt-app";
    Err(WorkloadError::new(About::Name, what).with_hint(Some(hint.to_owned())))
}
