//! Workloads by name.

use crate::benchmark::{Benchmark, Case, Takes, Values, benchmarks};
use crate::error::{About, WorkloadError};
use crate::file;
use crate::rt_app::RtApp;
use crate::validate::{NR_CPUS_MAX, TASKS_MAX};
use crate::{Load, Workload};
use std::collections::BTreeMap;
use std::path::Path;
use wakelab_input::did_you_mean;

/// Builds a workload for a machine of `nr_cpus` CPUs. `name` is that of a benchmark and its case (`netperf:TCP_RR`), or
/// the path of a file (it ends in `.toml`, or in `.json` if it is rt-app's); `options` sets numbers of a benchmark's model to others, by name, in their own
/// units.
///
/// # Errors
/// Where there is no such workload, the file is not right, the load comes to no instance, an option is unknown or too
/// high, or what was built does not fit the machine ([`Workload::validate`]).
pub fn build(name: &str, load: Load, nr_cpus: u32, options: &BTreeMap<String, u64>) -> Result<Workload, WorkloadError> {
    build_found(&find(name, false)?.0, load, nr_cpus, options)
}

/// The same, with what the model has no meaning for let pass in files of rt-app, and a warning for each such thing.
///
/// # Errors
/// As [`build()`], but for those.
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
    found.takes_load(load)?;
    let instances =
        load.instances(nr_cpus).map_err(|e| WorkloadError::new(About::Load, e.what).with_hint(Some(e.example)))?;
    let workload = found.workload(instances, options)?;
    found.check(&workload, nr_cpus)?;
    Ok(workload)
}

/// A workload as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it is: a sentence, then, after an empty line, what else is to be known. Empty for a file.
    pub doc: String,
    /// What the case does. Empty for a file.
    pub case_doc: String,
    /// One instance of it.
    pub workload: Workload,
}

/// Describes a workload, by the names that [`build()`] takes.
///
/// # Errors
/// Where there is no such workload or its file is not right.
pub fn describe(name: &str) -> Result<Description, WorkloadError> {
    describe_found(&find(name, false)?.0)
}

/// The same, with what the model has no meaning for let pass in files of rt-app, and a warning for each such thing.
///
/// # Errors
/// As [`describe`], but for those.
pub fn describe_leniently(name: &str) -> Result<(Description, Vec<WorkloadError>), WorkloadError> {
    let (found, warnings) = find(name, true)?;
    Ok((describe_found(&found)?, warnings))
}

fn describe_found(found: &Found) -> Result<Description, WorkloadError> {
    let (doc, case_doc) = match found {
        Found::Benchmark(benchmark, case) => (benchmark.doc().to_owned(), case.doc.to_owned()),
        Found::File(_) | Found::RtApp(_) => (String::new(), String::new()),
    };
    let workload = found.workload(if found.by_rate() { SHOWN_A_SECOND } else { 1 }, &BTreeMap::new())?;
    found.check(&workload, NR_CPUS_MAX)?;
    Ok(Description { doc, case_doc, workload })
}

/// The rate at which a workload is shown that has one.
const SHOWN_A_SECOND: u32 = 100;

/// One instance of the workload whose file has this text; `path` is what errors call it.
///
/// # Errors
/// Where the file is not right: with its line, its key, and what was expected.
pub fn from_toml(text: &str, path: &Path) -> Result<Workload, WorkloadError> {
    let file = file::WorkloadFile::checked(path, text)?;
    let workload = file.workload(1)?;
    workload.validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
    Ok(workload)
}

/// How long a run of a workload of that name takes at least until it says something: of a file nobody knows, nor of what
/// does not exist.
pub fn takes(name: &str) -> Takes {
    let all = || benchmarks().iter().flat_map(|&b| b.cases().iter().map(move |case| (b, case)));
    all().find(|(b, case)| is_named(*b, case, name)).map_or_else(Takes::default, |(b, case)| b.takes(case))
}

/// Whether the load of a benchmark of that name is a rate: `400/s`.
pub fn is_by_rate(name: &str) -> bool {
    benchmarks().iter().any(|&b| b.by_rate() && b.cases().iter().any(|case| is_named(b, case, name)))
}

/// The load of a workload of that name where none is given: `None` where one has to be, for files, and for what does not
/// exist.
pub fn usual_load(name: &str) -> Option<u32> {
    let all = || benchmarks().iter().flat_map(|&b| b.cases().iter().map(move |case| (b, case)));
    all().find(|(b, case)| is_named(*b, case, name)).and_then(|(b, _)| b.usual_load())
}

/// What a name stands for.
enum Found {
    Benchmark(&'static dyn Benchmark, &'static Case),
    File(Box<file::WorkloadFile>),
    RtApp(Box<RtApp>),
}

impl Found {
    fn by_rate(&self) -> bool {
        matches!(self, Found::Benchmark(benchmark, _) if benchmark.by_rate())
    }

    /// Refuses a rate where instances are counted, and the other way round.
    fn takes_load(&self, load: Load) -> Result<(), WorkloadError> {
        let wrong = |expected: &str, hint: &str| {
            let what = format!("expected a load that is {expected}, found {load}");
            Err(WorkloadError::new(About::Load, what).with_hint(Some(hint.to_owned())))
        };
        match (self.by_rate(), matches!(load, Load::PerSecond(_))) {
            (true, false) => wrong("a rate", "as 50/s; 10..400/s is a sweep from 10 to 400 a second"),
            (false, true) => wrong("no rate", "as 28 instances, or 25% of the CPUs"),
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

    /// Checks what was made of it for a machine of so many CPUs.
    fn check(&self, workload: &Workload, nr_cpus: u32) -> Result<(), WorkloadError> {
        workload.validate(nr_cpus).map_err(|error| self.locate(error))
    }

    /// Says what is wrong with what was made of it: of a file, with the line.
    fn locate(&self, error: WorkloadError) -> WorkloadError {
        match self {
            Found::Benchmark(..) => {
                let hint = matches!(error.about, About::Task(_))
                    .then(|| "the number cpus says on how many CPUs the tasks are pinned".to_owned());
                error.with_hint(hint)
            }
            Found::File(file) => file.locate(error),
            Found::RtApp(file) => file.locate(error),
        }
    }
}

fn no_options(file: &Path, options: &BTreeMap<String, u64>) -> Result<(), WorkloadError> {
    let Some(option) = options.keys().next() else { return Ok(()) };
    let what = format!("a workload from a file has no numbers to set, and {option} was given");
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
        let what = format!("{instances} instances are {tasks} tasks; expected {TASKS_MAX} at most");
        return Err(WorkloadError::new(About::Load, what));
    }
    let measures = benchmark.measures(case, &values);
    let parts = benchmark.build(case, instances, &values);
    Ok(Workload {
        benchmark: benchmark.name().to_owned(),
        case: case.name.to_owned(),
        load: benchmark.load_label(case, instances),
        metric: measures.metric.to_owned(),
        unit: measures.unit.to_owned(),
        higher_is_better: measures.higher_is_better,
        programs: parts.programs,
        channels: parts.channels,
        tasks: parts.tasks,
        cpu_sets: vec![],
        params: values.into_params(),
    })
}

fn full_name(benchmark: &dyn Benchmark, case: &Case) -> String {
    format!("{}:{}", benchmark.name(), case.name)
}

/// Whether a case has that name.
fn is_named(benchmark: &dyn Benchmark, case: &Case, name: &str) -> bool {
    let first = benchmark.is_its_first_case() && benchmark.cases().first() == Some(case);
    (first && name == benchmark.name()) || full_name(benchmark, case) == name
}

/// What a name stands for, and the warnings of reading its file.
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
    let all = || benchmarks().iter().flat_map(|&b| b.cases().iter().map(move |case| (b, case, full_name(b, case))));
    if let Some((benchmark, case, _)) = all().find(|(b, case, _)| is_named(*b, case, name)) {
        return Ok((Found::Benchmark(benchmark, case), vec![]));
    }
    let names: Vec<String> = all().map(|(.., full)| full).collect();
    let what = format!(
        "there is no workload {name:?}; expected {}, or the path of a .toml file or of rt-app's .json",
        names.join(", ")
    );
    let hint = did_you_mean(name, names.iter().map(String::as_str))
        .unwrap_or_else(|| "`wakelab workload list` says what they are".to_owned());
    Err(WorkloadError::new(About::Name, what).with_hint(Some(hint)))
}
