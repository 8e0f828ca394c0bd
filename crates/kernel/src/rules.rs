//! The version-dependent rules of each unit of the kernel: which form it has, field by field.
//!
//! A struct here is plain data without an algorithm. Each field names the function that it belongs to and the versions
//! between which it changed, and describes itself ([`Preset::rules`](crate::Preset::rules)), so that a field that is
//! added appears in `wakelab kernel show`, in `--diff` and on the pages of `docs/kernels`. "Stable 5.10.y" and the
//! like mean the newest release of that branch whose source was read: 5.10.262, 6.1.176, 6.12.107.

mod balance;
mod cpufreq;
mod cpuidle;
mod describe;
mod ext;
mod fair;
mod pelt;
mod placement;
mod sched_cache;
mod sched_core;
mod task_group;
mod topology;

pub use balance::{
    BalanceRules, BusyInterval, IlbWalk, NewidleRules, NewidleStop, NumaImbalance, PreferSibling, Push, Serialize,
    SiblingImbalance,
};
pub use cpufreq::{BusyHold, CpufreqRules, Headroom, SugovRules, TransitionDelay};
pub use cpuidle::{CpuidleRules, MenuRules, Teo, Typical};
pub use describe::{Rule, RuleSet};
pub use ext::{ExtKickWait, ExtRules, ExtSelectCpu, ExtSelectCpuKfunc, ExtTypes};
pub use fair::{CfsRules, Class, EevdfRules, FairClass, LagLimit, SliceProtection, WakeupPreempt};
pub use pelt::{InitWeight, PeltRules, SumRule, UtilEst};
pub use placement::{
    CapacitySearch, Code, Eas, EnergyModel, FindGroup, IdleSearch, NumaFork, RunnableBoost, SisProp, SmtScan, UtilFits,
    Wakelist,
};
pub use sched_cache::{Footprint, LlcBusy, LlcThreads, SchedCacheRules};
pub use sched_core::{CoreRules, HrtickForm, PressureForm, RtBandwidthForm};
pub use task_group::{GroupReweight, GroupRules, GroupShares, ThrottleForm};
pub use topology::{AsymDetection, DomainRules, GroupFlags, ImbNuma, LlcId, PkgName};
