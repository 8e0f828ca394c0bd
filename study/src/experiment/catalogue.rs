//! Where machines and workloads come from.

use std::collections::BTreeMap;
use wakelab_machine::Machine;
use wakelab_workload::{Load, Workload, WorkloadError};

/// What is wrong with a name, a load or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupError {
    /// What is wrong of the workload; a machine has nothing but its name.
    pub about: LookupSubject,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What of a workload is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupSubject {
    /// Its name.
    Name,
    /// Its load.
    Load,
    /// A number of its model, by name.
    Param(String),
}

/// Knows machines and workloads by name.
pub trait Catalogue {
    /// The machine of that name, or in that file.
    ///
    /// # Errors
    /// Where there is none, or its file is not right.
    fn machine(&self, name_or_path: &str) -> Result<Machine, LookupError>;

    /// The workload of that name at each of the loads that `load` lists, on a machine with so many CPUs, with numbers of
    /// its model set to others.
    ///
    /// # Errors
    /// Where there is no such workload, load or number.
    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Workload>, LookupError>;

    /// The same, with what the model has no meaning for let pass in files of rt-app; and what was let pass.
    ///
    /// # Errors
    /// The same, but for that.
    fn lenient_workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<(Vec<Workload>, Vec<String>), LookupError> {
        self.workloads(name, load, params, nr_cpus).map(|workloads| (workloads, Vec::new()))
    }
}

/// What comes with the program, and files.
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
    ) -> Result<Vec<Workload>, LookupError> {
        // A name that is unknown is told before its load.
        wakelab_workload::describe(name).map_err(wrong)?;
        let params: BTreeMap<String, u64> = params.iter().cloned().collect();
        let build = |load| wakelab_workload::build(name, load, nr_cpus, &params).map_err(wrong);
        loads(load)?.into_iter().map(build).collect()
    }

    fn lenient_workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<(Vec<Workload>, Vec<String>), LookupError> {
        let (_, warnings) = wakelab_workload::describe_leniently(name).map_err(wrong)?;
        let params: BTreeMap<String, u64> = params.iter().cloned().collect();
        // The warnings are about the file, and the same at each load.
        let build = |load| {
            wakelab_workload::build_leniently(name, load, nr_cpus, &params).map(|(workload, _)| workload).map_err(wrong)
        };
        let workloads = loads(load)?.into_iter().map(build).collect::<Result<_, _>>()?;
        Ok((workloads, warnings.iter().map(ToString::to_string).collect()))
    }
}

fn loads(text: &str) -> Result<Vec<Load>, LookupError> {
    Load::parse_list(text).map_err(|e| LookupError { about: LookupSubject::Load, what: e.what, hint: Some(e.example) })
}

fn wrong(mut error: WorkloadError) -> LookupError {
    use wakelab_workload::About as Of;
    let hint = error.hint.take();
    let what = error.to_string();
    let about = match error.about {
        Of::Load => LookupSubject::Load,
        Of::Param(name) => LookupSubject::Param(name),
        // Its own places are in its text already.
        _ => LookupSubject::Name,
    };
    LookupError { about, what, hint }
}
