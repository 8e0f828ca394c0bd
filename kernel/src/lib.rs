//! Presets of Linux kernels: what a version's fair class has switched on, its tunables, and which form its code has.
//!
//! This crate holds data and no algorithm. [`Preset`] is a kernel version; its [`FeatureSet`] is what
//! `/sys/kernel/debug/sched/features` shows on it; its [`Tunables`] are what that version's source sets them to; its
//! [`Code`] says, mechanism by mechanism, which of the forms that the source has had over time this version runs.
//!
//! Every datum names its source, and what was not checked against a source tree says so.

mod code;
mod diff;
mod feature;
mod power_option;
mod preset;
mod sd_flags;
mod setting;
mod tunables;

pub use code::{
    CapacitySearch, Class, Code, CodeField, Eas, EnergyModel, FindGroup, IdleSearch, NumaFork, RunnableBoost, SisProp,
    SliceProtection, SmtScan, UtilFits, Wakelist,
};
pub use diff::{Changed, CodeChanged, PresetDiff, PresetInfo};
pub use feature::{
    Feature, FeatureError, FeatureSet, FeaturesFile, OwnFeature, OwnFeatureError, Switches, SwitchesError, add_own,
};
pub use power_option::PowerOption;
pub use preset::{Hz, Preset, PresetError, SwitchError};
pub use sd_flags::{SdFlagTable, decode_sd_flags, package_level, sd_flag_names};
pub use setting::{Setting, SettingError};
pub use tunables::{Tunable, Tunables, Unit};
