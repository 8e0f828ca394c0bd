//! A run: its setup, its outcome, and why it can fail.

use crate::PmSide;
use std::fmt;
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_machine::Machine;
use wakelab_pm::power::PowerStats;
use wakelab_scx_core::ext::OpTime;
use wakelab_scx_core::ops::{Exit, Scheduler};
use wakelab_workload::Workload;

/// The use of one CPU's time, ns. The three add up to the simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the steps of task programs, softirqs included.
    pub work: u64,
    /// In the kernel: wake-ups, switches, idle entry and exit, balancing, ticks; and cold caches.
    pub overhead: u64,
    /// Idle.
    pub idle: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it ended, ns: earlier than asked for if all tasks had exited or the run was stopped.
    pub ended: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Whether all tasks of the workload had exited.
    pub exited: bool,
    /// Tasks of the workload that have not exited.
    pub nr_tasks: u64,
    /// Those of them that can run and have no CPU, in the order of their creation: their numbers and names. A task
    /// whose control group is throttled, or whose deadline budget is used up, is one.
    pub waiting: Vec<(u32, String)>,
    /// By CPU.
    pub cpus: Vec<CpuTime>,
    /// Wake-ups of all kinds.
    pub wakeups: u64,
    /// Events that the simulator handled, a measure of its work.
    pub events: u64,
    /// Frequencies, idle states and energy from [`PmSide::measured_from`](crate::PmSide::measured_from) on; `None`
    /// without governors.
    pub power: Option<PowerStats>,
    /// Counts of the whole run under a scheduler of sched_ext, by name: what the core counted, and then what the
    /// scheduler did itself ([`Ops::counters`](wakelab_scx_core::ops::Ops::counters)). Empty without one.
    pub scheduler: Vec<(String, u64)>,
    /// The operations of that scheduler, by their members of `struct sched_ext_ops`, with their calls in the whole run.
    pub scheduler_ops: Vec<(&'static str, OpTime)>,
}

/// A task in a deadlock, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub task: String,
    /// The step of its program that it is in, from 0.
    pub step: usize,
    /// The thing that it waits for, such as `a message in request`, `room in reply` or `its children`.
    pub what: String,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The kernel is not modelled, or not all of it.
    #[error("kernel {0}")]
    Kernel(String),
    /// The machine is not modelled, or not under this kernel.
    #[error("machine {0}")]
    Machine(String),
    /// The workload does not fit the machine, or does what no program may.
    #[error("{0}")]
    Workload(String),
    /// The scheduler could not be loaded.
    #[error("scheduler {0}")]
    Scheduler(String),
    /// The scheduler has ended.
    #[error("scheduler {name} has ended: {exit}")]
    SchedulerEnded {
        /// Its `ops.name`.
        name: String,
        /// How it ended; of a stall with how it came to that.
        exit: Box<Exit>,
    },
    /// No task can ever run again.
    #[error("deadlock at {at} ns: {}", Deadlock(waiting))]
    Deadlock {
        /// When the last task went to sleep, ns from the start.
        at: u64,
        /// All tasks that have not exited.
        waiting: Vec<Waiting>,
    },
}

struct Deadlock<'a>(&'a [Waiting]);

impl fmt::Display for Deadlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Waiting { task, step, what }) in self.0.iter().take(8).enumerate() {
            let sep = if n == 0 { "" } else { "; " };
            write!(f, "{sep}{task} waits for {what} (step {step})")?;
        }
        if self.0.len() > 8 {
            write!(f, "; and {} more", self.0.len() - 8)?;
        }
        Ok(())
    }
}

macro_rules! mechanisms {
    ($($name:ident: $doc:literal;)*) => {
        /// Mechanisms of the model that can be switched off, to see what each contributes. All are on by default.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Mechanisms { $(#[doc = $doc] pub $name: bool,)* }

        impl Default for Mechanisms {
            fn default() -> Self {
                Mechanisms { $($name: true),* }
            }
        }

        impl Mechanisms {
            /// The name of each, and what it is.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$((stringify!($name), $doc)),*];

            /// All except the one of that name. Returns `None` if there is no such name.
            pub fn without(name: &str) -> Option<Self> {
                let mut all = Self::default();
                match name {
                    $(stringify!($name) => all.$name = false,)*
                    _ => return None,
                }
                Some(all)
            }
        }
    };
}

mechanisms! {
    window: "The window between the choice of a CPU and its run queue being seen as busy.";
    idle_cores: "`has_idle_cores` and the search for an idle core.";
    newidle_gate: "Limiting newly-idle balancing by its measured cost.";
    newidle_balance: "Newly-idle balancing.";
    periodic_balance: "Balancing at ticks; nohz balancing continues, and with it nr_idle_scan.";
    nohz_balance: "Balancing by one idle CPU for those whose tick is stopped.";
    softirq_util: "Utilisation that includes softirq time.";
    cold_cache: "Cache misses after a migration.";
    channel_lines: "Cache lines of a pipe that move to its users, and the work of a task that waited for it.";
    distance: "The cost of cache lines by where they were written: off, all cost the same as those of the LLC.";
    ramp: "Tasks that start one after another.";
    util_est: "UTIL_EST in the LLC's summed utilisation.";
    wake_affine: "`wake_affine()`: off, the target is the previous CPU.";
    smt: "The slow-down by the SMT sibling.";
    lock_wait: "Waits for run-queue locks.";
    noise: "Background kworkers.";
}

/// The setup of one run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Preset,
    /// The scheduler features that are on: the preset's, with the variant's switches.
    pub features: FeatureSet,
    /// The workload.
    pub workload: &'a Workload,
    /// The seed of all randomness.
    pub seed: u64,
    /// When the run ends, ns from the start.
    pub until: u64,
    /// The mechanisms that are on.
    pub mechanisms: Mechanisms,
    /// The time that a tracer takes at each call of `select_idle_cpu()`, ns; 0 without one.
    pub observer_cost: u64,
    /// How frequencies and idle states are governed. `None`: every CPU runs at its highest frequency, whatever the
    /// others do, and leaving idle takes the same however long it lasted.
    pub pm: Option<PmSide>,
    /// The scheduler of sched_ext under which all tasks run that are not realtime tasks. `None`: the fair class.
    pub scheduler: Option<&'a dyn Scheduler>,
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
