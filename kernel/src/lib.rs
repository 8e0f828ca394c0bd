//! Presets of Linux kernels: what a version's fair class has switched on, its tunables, and which form its code has.
//!
//! This crate holds data and no algorithm. [`Preset`] is a kernel version; its [`FeatureSet`] is what
//! `/sys/kernel/debug/sched/features` shows on it; its [`Code`] says, mechanism by mechanism, which of the forms
//! that the source has had over time this version runs.

mod code;
mod feature;
mod preset;

pub use code::{Class, Code, IdleSearch, NumaFork, SisProp, SmtScan};
pub use feature::{Feature, FeatureError, FeatureSet};
pub use preset::{Preset, PresetError};
