//! Placement: where a waking, forking or executing task is put (`select_task_rq_fair()` and all that it calls).
//!
//! The decision is a function of a [`Wakeup`] (who wakes whom), the [`Rules`] (kernel version, features, domains) and
//! a [`View`] of the system, and it changes nothing: what the kernel would write is returned as [`Effects`].
//!
//! The same code makes it in two ways:
//! - in one call, with [`select_task_rq_fair`], on a state that does not change meanwhile (a recorded snapshot, a
//!   test);
//! - probe by probe, with [`Select`], which names the CPU of its next probe and reads the view only when it is called
//!   to make it, so that a simulator can let time pass between two probes.
//!
//! A function of the kernel is in the file of its name:
//!
//! ```text
//!  select_task_rq_fair
//!        │ record_wakee, wake_wide                                            wake_affine.rs
//!        │ TTWU: find_energy_efficient_cpu → [energy]                         crate::energy
//!        │ TTWU: wake_on_current         → [current-cpu]                      with SIS_CURRENT
//!        │ TTWU                      FORK, EXEC
//!  wake_affine ── target       find_idlest_cpu, find_idlest_group
//!        │                           [slow]
//!  select_idle_sibling
//!        │ target, prev, kthread, recent → [target] [prev] [kthread] [recent]
//!        │ select_idle_capacity          → [capacity]                         if CPUs differ in capacity
//!        │ select_idle_smt               → [smt]
//!  select_idle_cpu
//!        │ search policies               → [overloaded] [short]               policy/
//!        │ select_idle_core              → [core] [core-cpu]
//!        └ the scan of the LLC           → [scan] [limit] [none]
//!  select_idle_node                      → [core] [core-cpu] [scan] in another LLC, with SIS_NODE
//! ```
//!
//! What a search reads of the LLC is kept by `update_idle_core()` (update_idle_core.rs) and `update_idle_cpu_scan()`
//! (policy/sis_util.rs).
//!
//! If the rules have an energy model ([`Rules::with_energy`]) and no CPU is overutilized, wake-ups are placed by energy
//! ([`find_energy_efficient_cpu`](crate::energy::find_energy_efficient_cpu)). Core scheduling is not modelled.

mod cluster;
mod decision;
mod find_idlest_cpu;
mod find_idlest_group;
mod find_idlest_group_by_load;
mod observer;
pub mod policy;
mod predict;
mod rank_set;
mod rules;
mod scan_by_mask;
mod search_position;
mod select_idle_capacity;
mod select_idle_core;
mod select_idle_cpu;
mod select_idle_node;
mod select_idle_sibling;
mod select_idle_smt;
mod select_task_rq_fair;
mod update_idle_core;
mod util_fits_cpu;
mod view;
mod wake_affine;
mod wake_on_current;
mod wakeup;

pub(crate) use cluster::sets_cluster_flag;
pub use cluster::{ClusterScan, Far};
pub use decision::{Affine, Decision, Effects, Reason, ScanCost, SearchCount};
#[cfg(test)]
pub(crate) use find_idlest_group::update_pick_idlest;
pub use find_idlest_group::{GroupStats, GroupType};
pub use find_idlest_group_by_load::GroupLoads;
pub use observer::{EnergyProbe, Event, Observer, Probe, Site};
pub use policy::sis_oracle::best_idle_cpu;
pub use policy::sis_util::{IdleScanForm, IdleScanRules, update_idle_cpu_scan};
pub use predict::ScanRange;
pub use rules::{Rules, RulesError};
pub use search_position::{IdleChange, LlcIdle, Reach, SearchLlcs, SearchPosition};
pub use select_idle_cpu::select_idle_cpu;
pub use select_idle_sibling::select_idle_sibling;
pub use select_task_rq_fair::{Cx, Select, select_task_rq_fair};
pub use update_idle_core::update_idle_core;
pub use util_fits_cpu::{CpuCapacity, Fit, Uclamp, util_fits_cpu};
pub(crate) use util_fits_cpu::{fits_capacity, util_fits};
pub use view::{
    AsymView, EnergyView, GroupView, IdleCores, IdleStateView, IdleView, LlcView, MaskView, PolicyView, RqView,
    ScanClock, SearchView, UtilView, View,
};
pub use wake_affine::{
    AffineDetail, WakeeFlips, record_wakee, wake_affine, wake_affine_idle, wake_affine_weight, wake_wide,
};
pub use wakeup::{WakeFlags, Wakee, Waker, Wakeup};
