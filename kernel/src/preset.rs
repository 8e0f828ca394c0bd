//! Kernel versions.
use crate::{Code, FeatureSet};

/// One kernel version.
#[derive(Clone, Debug)]
pub struct Preset {
    /// `v6.1`, ...
    pub name: &'static str,
    /// What is on by default.
    pub features: FeatureSet,
    /// Which form its code has.
    pub code: Code,
}

/// A preset's name was not understood.
#[derive(Debug, thiserror::Error)]
#[error("unknown kernel {name}")]
pub struct PresetError {
    /// What was given.
    pub name: String,
}
