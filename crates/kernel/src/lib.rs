//! Presets of Linux kernels: what a version's fair class has switched on, its tunables, and which form its code has.
//!
//! This crate holds data and no algorithm. [`Preset`] is a kernel version; its [`FeatureSet`] is what
//! `/sys/kernel/debug/sched/features` shows on it; its [`Tunables`] are what that version's source sets them to; and
//! its rules say, unit by unit of the kernel, which of the forms that the source has had over time this version has:
//!
//! | rules | of |
//! |---|---|
//! | [`FairClass`]: [`CfsRules`] or [`EevdfRules`] | the run queue |
//! | [`Code`] | placement, the wakelist and energy-aware placement |
//! | [`PeltRules`], [`UtilEst`] | averages and estimated utilisation |
//! | [`GroupRules`] | control groups |
//! | [`BalanceRules`] | load balancing |
//! | [`DomainRules`] | scheduling domains |
//! | [`CpufreqRules`] with [`SugovRules`] | frequency selection |
//! | [`CpuidleRules`] with [`MenuRules`] | idle governors |
//! | [`CoreRules`] with [`ExtRules`] | what the fair class meets outside of fair.c, and sched_ext |
//!
//! No other crate decides anything by a kernel's name or version number. Every datum names its source, and what was not
//! checked against a source tree says so.

mod diff;
mod feature;
mod power_option;
mod preset;
mod rules;
mod sd_flags;
mod setting;
mod task_clamp;
mod tunables;

pub use diff::{Changed, PresetDiff, PresetInfo, RuleChanged};
pub use feature::{
    Feature, FeatureError, FeatureSet, FeaturesFile, OwnFeature, OwnFeatureError, Switches, SwitchesError, add_own,
};
pub use power_option::PowerOption;
pub use preset::{Hz, Preset, PresetError, SwitchError};
pub use rules::{
    AsymDetection, BalanceRules, BusyHold, BusyInterval, CapacitySearch, CfsRules, Class, Code, CoreRules,
    CpufreqRules, CpuidleRules, DomainRules, Eas, EevdfRules, EnergyModel, ExtKickWait, ExtRules, ExtSelectCpu,
    ExtSelectCpuKfunc, ExtTypes, FairClass, FindGroup, Footprint, GroupFlags, GroupReweight, GroupRules, GroupShares,
    Headroom, HrtickForm, IdleSearch, IlbWalk, ImbNuma, InitWeight, LagLimit, LlcBusy, LlcId, LlcThreads, MenuRules,
    NewidleRules, NewidleStop, NumaFork, NumaImbalance, PeltRules, PkgName, PreferSibling, PressureForm, Push,
    RtBandwidthForm, Rule, RuleSet, RunnableBoost, SchedCacheRules, Serialize, SiblingImbalance, SisProp,
    SliceProtection, SmtScan, SugovRules, SumRule, Teo, ThrottleForm, TransitionDelay, Typical, UtilEst, UtilFits,
    Wakelist, WakeupPreempt,
};
pub use sd_flags::SdFlagTable;
pub use setting::{Setting, SettingError};
pub use task_clamp::{TaskClamp, TaskClampError};
pub use tunables::{Tunable, Tunables, Unit};
