//! The machines and workloads that an experiment can name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_machine::Machine;
use wakelab_workload::{Load, Workload, WorkloadError};

/// An error in a name, a load or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupError {
    /// The part of a workload that is wrong; a machine has only a name.
    pub about: LookupSubject,
    /// The problem, and what was expected.
    pub what: String,
    /// The next step.
    pub hint: Option<String>,
}

/// The part of a workload that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupSubject {
    /// Its name.
    Name,
    /// Its load.
    Load,
    /// A parameter of its model, by name.
    Param(String),
}

/// Finds machines and workloads by name.
pub trait Catalogue {
    /// Returns the machine with this name or in this file.
    ///
    /// # Errors
    /// Fails if there is none, or if its file is wrong.
    fn machine(&self, name_or_path: &str) -> Result<Machine, LookupError>;

    /// Returns the workload with this name at each of the loads in `load`, on a machine with `nr_cpus` CPUs and with
    /// these parameters set.
    ///
    /// # Errors
    /// Fails if there is no such workload, load or parameter.
    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Arc<Workload>>, LookupError>;

    /// Returns the same workloads, but accepts parts of rt-app files that the model has no meaning for, and returns a
    /// warning for each.
    ///
    /// # Errors
    /// Fails if there is no such workload, load or parameter.
    fn lenient_workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<(Vec<Arc<Workload>>, Vec<String>), LookupError> {
        self.workloads(name, load, params, nr_cpus).map(|workloads| (workloads, Vec::new()))
    }
}

/// What a workload was asked for by: its name, loads, parameters and CPUs, and whether leniently.
type Asked = (String, String, Vec<(String, u64)>, u32, bool);
/// Workloads, and warnings of files that were read leniently.
type Made = Result<(Vec<Arc<Workload>>, Vec<String>), LookupError>;

/// A catalogue that makes each workload once, whatever it is combined with: one of 100,000 tasks takes a while.
pub(crate) struct Remembering<'a> {
    catalogue: &'a dyn Catalogue,
    made: Mutex<BTreeMap<Asked, Made>>,
}

impl<'a> Remembering<'a> {
    pub(crate) fn new(catalogue: &'a dyn Catalogue) -> Self {
        Remembering { catalogue, made: Mutex::default() }
    }

    fn made(&self, asked: Asked, make: impl FnOnce() -> Made) -> Made {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(asked).or_insert_with(make).clone()
    }
}

impl Catalogue for Remembering<'_> {
    fn machine(&self, name_or_path: &str) -> Result<Machine, LookupError> {
        self.catalogue.machine(name_or_path)
    }

    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Arc<Workload>>, LookupError> {
        let asked = (name.to_owned(), load.to_owned(), params.to_vec(), nr_cpus, false);
        let make = || Ok((self.catalogue.workloads(name, load, params, nr_cpus)?, Vec::new()));
        self.made(asked, make).map(|(workloads, _)| workloads)
    }

    fn lenient_workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<(Vec<Arc<Workload>>, Vec<String>), LookupError> {
        let asked = (name.to_owned(), load.to_owned(), params.to_vec(), nr_cpus, true);
        self.made(asked, || self.catalogue.lenient_workloads(name, load, params, nr_cpus))
    }
}

/// The catalogue of what comes with the program, and of files.
#[derive(Clone, Copy, Debug)]
pub struct Shipped;

impl Catalogue for Shipped {
    fn machine(&self, name_or_path: &str) -> Result<Machine, LookupError> {
        wakelab_machine::get(name_or_path).map_err(|mut error| {
            let hint = error.hint.take();
            LookupError { about: LookupSubject::Name, what: error.to_string(), hint }
        })
    }

    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Arc<Workload>>, LookupError> {
        // An unknown name is reported before a wrong load.
        wakelab_workload::describe(name).map_err(wrong)?;
        let params: BTreeMap<String, u64> = params.iter().cloned().collect();
        at_each(name, load, |name, load| wakelab_workload::build(name, load, nr_cpus, &params))
    }

    fn lenient_workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<(Vec<Arc<Workload>>, Vec<String>), LookupError> {
        let (_, warnings) = wakelab_workload::describe_leniently(name).map_err(wrong)?;
        let params: BTreeMap<String, u64> = params.iter().cloned().collect();
        // The warnings are about the file, and the same at each load.
        let workloads = at_each(name, load, |name, load| {
            wakelab_workload::build_leniently(name, load, nr_cpus, &params).map(|(workload, _)| workload)
        })?;
        Ok((workloads, warnings.iter().map(ToString::to_string).collect()))
    }
}

/// The workloads of a name at each of the loads of a list.
fn at_each(
    name: &str,
    load: &str,
    build: impl Fn(&str, Load) -> Result<Workload, WorkloadError>,
) -> Result<Vec<Arc<Workload>>, LookupError> {
    let names = results_of(name);
    let places = loads(load)?.into_iter().flat_map(|load| names.iter().map(move |name| (name, load)));
    places.map(|(name, load)| build(name, load).map(Arc::new).map_err(wrong)).collect()
}

/// The workloads of a name. Jankbench prints all of its results after one run: its name alone is all of them.
fn results_of(name: &str) -> Vec<String> {
    const ALL_OF_ONE_RUN: &str = "jankbench";
    if !name.eq_ignore_ascii_case(ALL_OF_ONE_RUN) {
        return vec![name.to_owned()];
    }
    let of_it = |one: &String| one.split_once(':').is_some_and(|(benchmark, _)| benchmark == ALL_OF_ONE_RUN);
    wakelab_workload::names().into_iter().filter(of_it).collect()
}

/// The loads of a list.
pub(crate) fn loads(text: &str) -> Result<Vec<Load>, LookupError> {
    Load::parse_list(text).map_err(|e| LookupError { about: LookupSubject::Load, what: e.what, hint: Some(e.example) })
}

fn wrong(mut error: WorkloadError) -> LookupError {
    use wakelab_workload::About as Of;
    let hint = error.hint.take();
    let what = error.to_string();
    let about = match error.about {
        Of::Load => LookupSubject::Load,
        Of::Param(name) => LookupSubject::Param(name),
        // The text of the error already has any other place.
        _ => LookupSubject::Name,
    };
    LookupError { about, what, hint }
}
