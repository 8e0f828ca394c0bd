//! A side's features and tunables.

use super::power_side::{PowerSideError, power_side};
use std::fmt;
use wakelab_kernel::{Class, Feature, FeatureSet, Preset, SettingError, SwitchError, Switches};
use wakelab_machine::Machine;
use wakelab_sched::boost;
use wakelab_sched::select::policy;
use wakelab_sim::PmSide;

/// What is on.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What was switched on top of the kernel's features, as given; empty for nothing.
    pub label: String,
    /// What is on then.
    pub features: FeatureSet,
    /// The kernel, with the tunables that were set.
    pub kernel: Preset,
    /// How frequencies and idle states are governed; `None` where nothing was asked.
    pub pm: Option<PmSide>,
}

/// Switches that change nothing, or cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariantError {
    /// They do not fit the kernel.
    Switch(SwitchError),
    /// A tunable does not fit the kernel.
    Setting(SettingError),
    /// An option of power management is not understood.
    Power(PowerSideError),
    /// Nothing acts on the feature.
    NotModelled(Feature),
    /// This kernel has the feature, and its code does the same with and without.
    SameEitherWay(&'static str, Feature),
    /// The code of this kernel does not read the feature.
    NotRead(&'static str, Feature),
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        let key = |v: &Self| (v.features, v.kernel.name, v.kernel.tunables, v.pm);
        self.label == other.label && key(self) == key(other)
    }
}

impl Eq for Variant {}

impl fmt::Display for VariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariantError::Switch(e) => e.fmt(f),
            VariantError::Setting(e) => e.fmt(f),
            VariantError::Power(e) => e.fmt(f),
            VariantError::NotModelled(feature) => {
                write!(f, "nothing in the model acts on {feature}, so switching it would change nothing")
            }
            VariantError::SameEitherWay(kernel, feature) => {
                write!(f, "{kernel} lists {feature}, and its run queues do the same with and without")
            }
            VariantError::NotRead(kernel, feature) => {
                let source = feature.source();
                write!(f, "{kernel} has no feature {feature} (it is in {source}), and its run queues do not read it")
            }
        }
    }
}

impl std::error::Error for VariantError {}

impl Variant {
    /// `kernel` with `switches`.
    ///
    /// # Errors
    /// Where a switch would change nothing on this kernel whatever its value.
    pub fn new(kernel: &'static Preset, switches: &Switches) -> Result<Self, VariantError> {
        Self::with_usual(kernel, switches, None)
    }

    /// The same on a machine, which may have a governor where the switches name none ([`PmSide::usual`]).
    ///
    /// # Errors
    /// As [`Variant::new`].
    pub fn on(machine: &Machine, kernel: &'static Preset, switches: &Switches) -> Result<Self, VariantError> {
        Self::with_usual(kernel, switches, PmSide::usual(machine))
    }

    fn with_usual(kernel: &'static Preset, switches: &Switches, usual: Option<PmSide>) -> Result<Self, VariantError> {
        let features = kernel.switched(switches).map_err(VariantError::Switch)?;
        if let Some(feature) = switches.inert().next() {
            return Err(VariantError::NotModelled(feature));
        }
        if let Some((feature, _)) = switches.iter().find(|&(feature, _)| same_either_way(kernel, feature)) {
            return Err(VariantError::SameEitherWay(kernel.name, feature));
        }
        // A policy's switch acts on any kernel: not yet, never, or no longer released there.
        let of_policy = |feature| policy::switches().any(|switch| switch.feature == feature);
        // How utilisation is measured no kernel has a switch for.
        let of_pm = |feature| feature == Feature::FREQ_INVARIANCE;
        let boosts = |feature| boost::SWITCHES.contains(&feature);
        let reads = |feature| kernel.lists(feature) || of_policy(feature) || of_pm(feature) || boosts(feature);
        match switches.iter().find(|&(feature, _)| !reads(feature)) {
            Some((feature, _)) => Err(VariantError::NotRead(kernel.name, feature)),
            None => {
                let kernel = kernel.with_settings(switches.settings()).map_err(VariantError::Setting)?;
                let pm = power_side(switches, usual).map_err(VariantError::Power)?;
                Ok(Variant { label: switches.to_string(), features, kernel, pm })
            }
        }
    }
}

/// What a kernel lists and does not act on any more: the return that DOUBLE_TICK passes over is the end of `entity_tick()` in
/// 6.12.
fn same_either_way(kernel: &Preset, feature: Feature) -> bool {
    feature == Feature::DOUBLE_TICK && kernel.code.class == Class::Eevdf && kernel.lists(feature)
}
