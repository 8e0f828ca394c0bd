//! What is compared, with every name resolved: the base and its variants on one machine and kernel.

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

/// The cases of an experiment on one machine and kernel, on the base and on each variant: all that their runs need. One
/// variant makes two sides.
#[derive(Clone, Debug)]
pub struct Block {
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
    /// The sides that are compared with it. If there is none, only the base is run, and rows have its numbers on both
    /// sides.
    pub variants: Vec<Variant>,
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

impl Block {
    /// The end of a run, ns.
    pub fn end_ns(&self) -> u64 {
        self.settle_ns + self.time_ns
    }

    /// The number of runs: every case on all sides, as often as it is repeated.
    pub fn runs(&self) -> usize {
        self.cases.len() * self.repeats as usize * self.sides()
    }

    /// The most runs that `until` can make of them.
    pub(super) fn most_runs(&self) -> usize {
        let most = self.until.map_or(self.repeats, |until| until.most.max(self.repeats));
        self.cases.len() * most as usize * self.sides()
    }

    /// The number of sides that are run.
    pub fn sides(&self) -> usize {
        1 + self.variants.len()
    }

    /// The sides: the base, then the variants.
    pub fn each_side(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.base).chain(&self.variants)
    }

    /// A side by its number: 0 for the base, then the variants.
    pub fn side(&self, side: usize) -> &Variant {
        if side == 0 { &self.base } else { &self.variants[side - 1] }
    }

    /// The side that is compared with the base, of two sides; the base itself if there is no variant.
    pub fn with(&self) -> &Variant {
        self.variants.first().unwrap_or(&self.base)
    }

    /// The numbers of the sides that are compared with the base: the variants, or the base itself if there is none.
    pub(super) fn compared_sides(&self) -> std::ops::Range<usize> {
        if self.variants.is_empty() { 0..1 } else { 1..self.sides() }
    }

    /// The machine's and the kernel's name.
    pub(crate) fn place(&self) -> (&str, &'static str) {
        (&self.machine.name, self.kernel.name)
    }

    /// The assumed constants of the machine and the workloads.
    pub fn assumed(&self) -> Vec<Assumed> {
        assumed(self, &self.each_side().collect::<Vec<_>>())
    }

    /// The description for results of the comparison of the base with `with`.
    pub fn info(&self, with: &Variant) -> ExperimentInfo {
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
            with: with.label.clone(),
            differ: differ(&self.base, with),
            notes: notes(&self.base, with),
            observer_cost_ns: self.observer_cost_ns,
            pinned: self.pinned.clone(),
        }
    }
}
