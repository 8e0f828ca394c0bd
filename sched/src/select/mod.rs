//! Where a waking, forking or executing task is put: `select_task_rq_fair()` and all it calls.
//!
//! The decision is a function of a [`Wakeup`] (who wakes whom), the [`Rules`] (kernel version, features, domains) and
//! a [`View`] of the system, and it changes nothing: what the kernel would write comes back as [`Effects`].
//!
//! It can be made in two ways by one and the same code:
//! - at once, with [`select_task_rq_fair`], on a state that does not change meanwhile (a recorded snapshot, a test);
//! - step by step, with [`Select`], which names the CPU that it looks at next and reads the view only when it is told
//!   to go on, so that a simulator can let time pass between two looks.
//!
//! ```text
//!  record_wakee                                                record_wakee.rs
//!        │ TTWU: the CPU that costs least → [energy]             crate::energy
//!  wake_wide                                                   record_wakee.rs
//!        │ TTWU                     FORK, EXEC
//!  wake_affine ── target      sched_balance_find_dst_cpu        wake_affine.rs, slow/
//!        │                          [slow]
//!  target, prev, kthread, recent  → [target] [prev] [kthread] [recent]     sibling.rs
//!        │
//!  sibling of prev                → [smt]                                   sibling.rs
//!        │
//!  limit from the search policies → [overloaded]                            policy/
//!        │
//!  walk over the LLC              → [core] [core-cpu] [scan] [limit] [none] scan.rs
//! ```
//!
//! Where CPUs differ in capacity, the fast paths take only a CPU that the task fits, and one search for the idle CPU that
//! fits best stands for all that follow: `[capacity]`, capacity.rs and fits.rs.
//!
//! Where the rules have an energy model ([`Rules::with_energy`]) and no CPU is overutilized, wake-ups go by energy
//! ([`find_energy_efficient_cpu`](crate::energy::find_energy_efficient_cpu)). Core scheduling is not modelled.

mod ahead;
mod at_once;
mod capacity;
mod decision;
mod fits;
mod hints;
mod idle_scan;
mod lookup;
mod oracle;
pub mod policy;
mod record_wakee;
mod rules;
mod scan;
mod sibling;
pub mod slow;
mod step;
mod trace;
mod view;
mod wake_affine;
mod wakeup;

pub use ahead::Path;
pub use at_once::{select_idle_cpu, select_idle_sibling, select_task_rq_fair};
pub use decision::{Affine, Decision, Effects, Reason, ScanCost, SearchCount};
pub use fits::{CpuCapacity, Fit, Uclamp, util_fits_cpu};
pub(crate) use fits::{fits_capacity, util_fits};
pub use hints::{update_idle_core, update_idle_cpu_scan};
pub use idle_scan::{IdleScanForm, IdleScanRules};
pub use oracle::best as best_idle_cpu;
pub use record_wakee::{WakeeFlips, record_wakee, wake_wide};
pub use rules::{Rules, RulesError};
pub use step::{Cx, Select};
pub use trace::{EnergyLook, Event, Look, Observer, Site};
pub use view::{IdleCores, ScanClock, View};
pub use wake_affine::{AffineDetail, wake_affine, wake_affine_idle, wake_affine_weight};
pub use wakeup::{WakeFlags, Wakee, Waker, Wakeup};
