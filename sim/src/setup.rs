//! What is to be run.

use crate::PmSide;
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_machine::Machine;
use wakelab_workload::Workload;

macro_rules! mechanisms {
    ($($name:ident: $doc:literal;)*) => {
        /// Parts of the model that can be switched off, to see what they are worth. All are on by default.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Mechanisms { $(#[doc = $doc] pub $name: bool,)* }

        impl Default for Mechanisms {
            fn default() -> Self {
                Mechanisms { $($name: true),* }
            }
        }

        impl Mechanisms {
            /// Their names, and what each is.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$((stringify!($name), $doc)),*];

            /// All but the one of that name; `None` if there is no such name.
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
    newidle_gate: "Newly-idle balancing held back by its measured cost.";
    newidle_balance: "Newly-idle balancing.";
    periodic_balance: "Balancing at ticks; nohz balancing goes on, and with it nr_idle_scan.";
    nohz_balance: "Balancing by one idle CPU for those whose tick is stopped.";
    softirq_util: "Utilisation that includes softirq time.";
    cold_cache: "Cache misses after a migration.";
    ramp: "Tasks that start one after another.";
    util_est: "UTIL_EST in the LLC's summed utilisation.";
    wake_affine: "`wake_affine()`: off, the target is the previous CPU.";
    smt: "The slow-down by the SMT sibling.";
    lock_wait: "Waits for run-queue locks.";
    noise: "Background kworkers.";
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Preset,
    /// What is on: the preset's features with the variant's switches.
    pub features: FeatureSet,
    /// The workload.
    pub workload: &'a Workload,
    /// Where all randomness comes from.
    pub seed: u64,
    /// When the run ends, ns.
    pub until: u64,
    /// What the model includes.
    pub mechanisms: Mechanisms,
    /// What a tracer costs at each call of `select_idle_cpu()`, ns; 0 for none.
    pub observer_cost: u64,
    /// How frequencies and idle states are governed. `None`: every CPU runs at its highest frequency, whatever the others do, and
    /// leaving idle takes the same however long it lasted.
    pub pm: Option<PmSide>,
}
