//! schedutil: a frequency from the utilisation that the scheduler tracks (`kernel/sched/cpufreq_schedutil.c`).
//!
//! ```text
//! CpuUtil ─▶ effective_cpu_util() ─▶ Asked ─▶ iowait boost, headroom ─▶ get_next_freq() ─▶ hold, rate limit ─▶ target
//! ```
//!
//! [`Sugov`] is the state of a policy with its CPUs. What differs between versions is [`SugovRules`].
//! `RUNNABLE_BOOST` has its place at [`CpuUtil::util_cfs`]: the caller gives `cpu_util_cfs()`, or
//! `cpu_util_cfs_boost()` where the switch is on.

mod effective;
mod iowait;
mod next_freq;
mod sugov_cpu;
mod sugov_policy;
mod uclamp;
mod update;
mod update_shared;

pub use effective::{CpuUtil, effective_cpu_util, effective_cpu_util_6_1};
pub use iowait::{IOWAIT_BOOST_MIN, IowaitBoost};
pub use next_freq::{CapacityRef, map_util_freq, raw_freq};
pub use sugov_cpu::{Asked, SugovCpu};
pub use sugov_policy::SugovPolicy;
pub use update::{Perf, Sugov};
pub use wakelab_kernel::{BusyHold, Headroom, SugovRules};
