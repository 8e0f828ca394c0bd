//! schedutil: a frequency from the utilisation that the scheduler tracks (`kernel/sched/cpufreq_schedutil.c`).
//!
//! ```text
//! CpuUtil ─▶ effective_cpu_util() ─▶ Asked ─▶ iowait boost, headroom ─▶ get_next_freq() ─▶ hold, rate limit ─▶ target
//! ```
//!
//! [`Sugov`] is the state of a policy with its CPUs. What differs between versions is [`SugovRules`].
//! `RUNNABLE_BOOST` has its place at [`CpuUtil::util_cfs`]: the caller gives `cpu_util_cfs()`, or
//! `cpu_util_cfs_boost()` where the switch is on.

mod get_next_freq;
mod sugov_get_util;
mod sugov_iowait_boost;
mod sugov_update;

pub use get_next_freq::{CapacityRef, SugovPolicy};
pub use sugov_get_util::{Asked, CpuUtil, SugovCpu, effective_cpu_util, effective_cpu_util_6_1};
pub use sugov_iowait_boost::IowaitBoost;
pub use sugov_update::Sugov;
pub use wakelab_kernel::{BusyHold, Headroom, SugovRules};
