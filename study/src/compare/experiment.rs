//! What is to be compared, with every name resolved.

use super::assumed::assumed;
use super::{Assumed, ExperimentInfo, Published, Variant};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sim::Mechanisms;
use wakelab_workload::Workload;

/// A workload at one load.
#[derive(Clone, Debug)]
pub struct Case {
    /// The workload's name, as given: `netperf:TCP_RR`.
    pub name: String,
    /// Its tasks.
    pub workload: Workload,
}

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub kernel: &'static Preset,
    /// Workloads with their loads as given.
    pub workloads: Vec<String>,
    /// Every workload at every load: a row each.
    pub cases: Vec<Case>,
    /// The side that is 100%.
    pub base: Variant,
    /// The other.
    pub with: Variant,
    /// How often each case is run on each side, 1 or more.
    pub repeats: u32,
    /// Where the seeds of the runs come from.
    pub seed: u64,
    /// What is simulated before measuring begins, ns.
    pub settle_ns: u64,
    /// What is measured after that, ns; not 0.
    pub time_ns: u64,
    /// What a tracer costs at each call of `select_idle_cpu()`, ns; 0 for none.
    pub observer_cost_ns: u64,
    /// Whether each search is compared with perfect knowledge.
    pub regret: bool,
    /// What the simulator includes.
    pub mechanisms: Mechanisms,
    /// What was published of these cases.
    pub published: Published,
    /// What was let pass in the workloads' files.
    pub warnings: Vec<String>,
}

impl Experiment {
    /// When a run ends, ns.
    pub fn end_ns(&self) -> u64 {
        self.settle_ns + self.time_ns
    }

    /// How many runs it is: every case on both sides, so often as it is repeated.
    pub fn runs(&self) -> usize {
        self.cases.len() * self.repeats as usize * 2
    }

    /// The constants of machine and workloads that nobody published.
    pub fn assumed(&self) -> Vec<Assumed> {
        assumed(self)
    }

    /// What was asked for, as the result shows it.
    pub fn info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: self.name.clone(),
            machine: self.machine.name.clone(),
            kernel: self.kernel.name.to_owned(),
            workloads: self.workloads.clone(),
            seed: self.seed,
            repeats: self.repeats,
            settle_ns: self.settle_ns,
            time_ns: self.time_ns,
            base: self.base.label.clone(),
            with: self.with.label.clone(),
            observer_cost_ns: self.observer_cost_ns,
        }
    }
}
