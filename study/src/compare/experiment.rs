//! What is compared, with every name resolved, and the seeds of its runs.

use super::assumed::assumed;
use super::sides::{differ, notes};
use super::{Assumed, ExperimentInfo, Published, Until, Variant};
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
    pub workload: Workload,
}

/// What is compared.
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

/// Returns the seed of a repeat (from 0) at `load` (`224 threads`) of an experiment with `seed`. It is the same on both
/// sides, so that they start alike, and does not depend on the other cases of the experiment.
///
/// Each byte of the load, then the repeat, is mixed in by XOR, with a step of splitmix64 between any two. 53 bits of
/// the result are used, because JSON readers that only have doubles would round more.
pub fn run_seed(seed: u64, load: &str, repeat: u32) -> u64 {
    let state = load.bytes().fold(splitmix64(seed), |state, byte| splitmix64(state ^ u64::from(byte)));
    splitmix64(state ^ u64::from(repeat)) >> 11
}

/// A step of Steele, Lea and Flood's SplitMix64 ("Fast splittable pseudorandom number generators", OOPSLA 2014), with
/// the constants of Vigna's splitmix64.c.
fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn splitmix64_is_the_published_one() {
        // The first outputs of splitmix64.c for the seed 1234567.
        let gamma = 0x9e37_79b9_7f4a_7c15_u64;
        let outputs = [0, 1, 2].map(|n: u64| splitmix64(1_234_567u64.wrapping_add(gamma.wrapping_mul(n))));
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn seeds_differ_by_experiment_load_and_repeat() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for load in ["28 threads", "56 threads", "82 threads"] {
                (0..10).for_each(|repeat| assert!(seen.insert(run_seed(seed, load, repeat))));
            }
        }
    }

    #[test]
    fn a_seed_is_exact_as_a_double() {
        let seed = run_seed(1, "224 threads", 0);
        assert_eq!(seed as f64 as u64, seed);
        // A published run can be found again by its seed.
        assert_eq!(seed, SEED_OF_224_THREADS);
    }

    const SEED_OF_224_THREADS: u64 = 592_239_270_657_150;
}
