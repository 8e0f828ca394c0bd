//! Machines and workloads that come with the program, or lie in files.

use super::{About, Shelf, Wrong};
use std::collections::BTreeMap;
use wakelab_machine::Machine;
use wakelab_workload::{Load, Workload, WorkloadError};

/// What comes with the program, and files.
#[derive(Clone, Copy, Debug)]
pub struct Shipped;

impl Shelf for Shipped {
    fn machine(&self, name_or_path: &str) -> Result<Machine, Wrong> {
        wakelab_machine::get(name_or_path).map_err(|mut error| {
            let hint = error.hint.take();
            Wrong { about: About::Name, what: error.to_string(), hint }
        })
    }

    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Workload>, Wrong> {
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
    ) -> Result<(Vec<Workload>, Vec<String>), Wrong> {
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

fn loads(text: &str) -> Result<Vec<Load>, Wrong> {
    Load::parse_list(text).map_err(|e| Wrong { about: About::Load, what: e.what, hint: Some(e.example) })
}

fn wrong(mut error: WorkloadError) -> Wrong {
    use wakelab_workload::About as Of;
    let hint = error.hint.take();
    let what = error.to_string();
    let about = match error.about {
        Of::Load => About::Load,
        Of::Param(name) => About::Param(name),
        // Its own places are in its text already.
        _ => About::Name,
    };
    Wrong { about, what, hint }
}
