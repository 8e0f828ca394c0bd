//! Kernel versions.
mod by_name;
mod v5_10;
mod v5_18;
mod v5_18_eas;
mod v5_19_rc1;
mod v5_19_rc2_tip;
mod v5_2;
mod v5_3;
mod v6_1;
mod v6_12;
mod v7_2;
mod v7_3;

pub use by_name::{PresetError, SwitchError};

use crate::{Code, Feature, FeatureSet, SdFlagTable, Tunables};

/// The frequency of the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hz {
    /// Ticks per second.
    pub value: u32,
    /// Where that is from.
    pub source: &'static str,
}

impl Hz {
    /// A tick, in nanoseconds (`TICK_NSEC`).
    pub const fn tick_ns(self) -> u64 {
        1_000_000_000 / self.value as u64
    }
}

/// One kernel version.
#[derive(Clone, Debug)]
pub struct Preset {
    /// `v6.1`, ...
    pub name: &'static str,
    /// Where its data were read.
    pub source: &'static str,
    /// What is not complete.
    pub complete: &'static str,
    /// What is on by default, with the features of the model that no kernel of this version lists.
    pub features: FeatureSet,
    /// What the version's `features` file lists, in its order, with the defaults.
    pub feature_file: &'static [(Feature, bool)],
    /// What the source sets the tunables to.
    pub tunables: Tunables,
    /// Where the tunables were read.
    pub tunables_source: &'static str,
    /// The tick.
    pub hz: Hz,
    /// How the version numbers the scheduling-domain flags.
    pub sd_flags: &'static SdFlagTable,
    /// What it calls the level that spans a package.
    pub package_level: &'static str,
    /// Which form its code has.
    pub code: Code,
}

/// Every preset, the oldest first.
static ALL: [&Preset; 11] = [
    &v5_2::PRESET,
    &v5_3::PRESET,
    &v5_10::PRESET,
    &v5_18::PRESET,
    &v5_18_eas::PRESET,
    &v5_19_rc1::PRESET,
    &v5_19_rc2_tip::PRESET,
    &v6_1::PRESET,
    &v6_12::PRESET,
    &v7_2::PRESET,
    &v7_3::PRESET,
];

/// A tick of 250 Hz, which is also `kernel/Kconfig.hz`'s default.
const fn hz_250(source: &'static str) -> Hz {
    Hz { value: 250, source }
}

/// The tick of versions that no distribution's configuration stands for.
const HZ_DEFAULT: Hz = hz_250("kernel/Kconfig.hz's default; the published runs do not say");

/// What is on by default: what the file says, and what the model adds to every version.
const fn features(file: &[(Feature, bool)]) -> FeatureSet {
    FeatureSet::of(file)
        .with(Feature::SIS_CORE, true)
        .with(Feature::RUNNABLE_BOOST_FREQ, true)
        .with(Feature::RUNNABLE_BOOST_EAS, true)
        .with(Feature::RUNNABLE_BOOST_LB, true)
}

/// The same of a version whose code boosts utilisation unconditionally.
const fn features_boosted(file: &[(Feature, bool)]) -> FeatureSet {
    features(file).with(Feature::RUNNABLE_BOOST, true)
}
