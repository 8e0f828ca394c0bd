//! What is compared, with every name resolved, and the seeds of its runs.

use super::assumed::assumed;
use super::sides::{differ, notes};
use super::{Assumed, ExperimentInfo, Published, Until, Variant};
use std::sync::Arc;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sim::Mechanisms;
use wakelab_workload::Workload;

/// A workload at one load.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the workload as given: `netperf:TCP_RR`.
    pub name: String,
    /// The tasks of the workload.
    pub workload: Arc<Workload>,
}

/// A comparison of two sides: all that their runs need.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name of the experiment.
    pub name: String,
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub kernel: &'static Preset,
    /// The workloads with their loads as given.
    pub workloads: Vec<String>,
    /// Every workload at every load, each of which is a row of the result.
    pub cases: Vec<Case>,
    /// The side that is 100%.
    pub base: Variant,
    /// The other side.
    pub with: Variant,
    /// Whether only the base side is run. The rows then have its numbers on both sides.
    pub base_only: bool,
    /// The number of runs of each case on each side, 1 or more; with `until`, the fewest.
    pub repeats: u32,
    /// How exact the intervals are to be; `None` for a fixed number of repeats.
    pub until: Option<Until>,
    /// The seed from which the seeds of the runs are derived.
    pub seed: u64,
    /// The simulated time before measuring begins, ns.
    pub settle_ns: u64,
    /// The measured time, ns; not 0.
    pub time_ns: u64,
    /// The cost of a tracer at each call of `select_idle_cpu()`, ns; 0 if there is none.
    pub observer_cost_ns: u64,
    /// The CPUs that the workloads are restricted to, as given; `None` for all. The cases are restricted already.
    pub pinned: Option<String>,
    /// Whether each search is compared with perfect knowledge.
    pub regret: bool,
    /// The mechanisms that the simulator includes.
    pub mechanisms: Mechanisms,
    /// The published results of these cases.
    pub published: Published,
    /// Warnings about the workloads' files and the sides.
    pub warnings: Vec<String>,
}

impl Experiment {
    /// The end of a run, ns.
    pub fn end_ns(&self) -> u64 {
        self.settle_ns + self.time_ns
    }

    /// The number of runs: every case on both sides, as often as it is repeated.
    pub fn runs(&self) -> usize {
        self.cases.len() * self.runs_of_case()
    }

    /// The number of runs of a case.
    pub(super) fn runs_of_case(&self) -> usize {
        self.repeats as usize * self.sides()
    }

    /// The number of sides that are run.
    pub(super) fn sides(&self) -> usize {
        if self.base_only { 1 } else { 2 }
    }

    /// The assumed constants of the machine and the workloads.
    pub fn assumed(&self) -> Vec<Assumed> {
        assumed(self)
    }

    /// The description of the experiment for results.
    pub fn info(&self) -> ExperimentInfo {
        ExperimentInfo {
            name: self.name.clone(),
            machine: self.machine.name.clone(),
            kernel: self.kernel.name.to_owned(),
            workloads: self.workloads.clone(),
            seed: self.seed,
            repeats: self.repeats,
            until: self.until,
            settle_ns: self.settle_ns,
            time_ns: self.time_ns,
            base: self.base.label.clone(),
            with: self.with.label.clone(),
            differ: differ(&self.base, &self.with),
            notes: notes(&self.base, &self.with),
            observer_cost_ns: self.observer_cost_ns,
            pinned: self.pinned.clone(),
        }
    }
}
