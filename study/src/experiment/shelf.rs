//! Where machines and workloads come from.

use wakelab_machine::Machine;
use wakelab_workload::Workload;

/// What is wrong with a name, a load or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong of the workload; a machine has nothing but its name.
    pub about: About,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What of a workload is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Its name.
    Name,
    /// Its load.
    Load,
    /// A number of its model, by name.
    Param(String),
}

/// Knows machines and workloads by name.
pub trait Shelf {
    /// The machine of that name, or in that file.
    ///
    /// # Errors
    /// Where there is none, or its file is not right.
    fn machine(&self, name_or_path: &str) -> Result<Machine, Wrong>;

    /// The workload of that name at each of the loads that `load` lists, on a machine with so many CPUs, with numbers of
    /// its model set to others.
    ///
    /// # Errors
    /// Where there is no such workload, load or number.
    fn workloads(&self, name: &str, load: &str, params: &[(String, u64)], nr_cpus: u32)
    -> Result<Vec<Workload>, Wrong>;

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
    ) -> Result<(Vec<Workload>, Vec<String>), Wrong> {
        self.workloads(name, load, params, nr_cpus).map(|workloads| (workloads, Vec::new()))
    }
}
