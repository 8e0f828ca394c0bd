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
        let loads =
            Load::parse_list(load).map_err(|e| Wrong { about: About::Load, what: e.what, hint: Some(e.example) })?;
        let params: BTreeMap<String, u64> = params.iter().cloned().collect();
        loads.into_iter().map(|load| wakelab_workload::build(name, load, nr_cpus, &params).map_err(wrong)).collect()
    }
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
