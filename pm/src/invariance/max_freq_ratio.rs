//! What x86 takes for the highest frequency.

use crate::turbo::Turbo;
use crate::{Khz, SCHED_CAPACITY_SCALE};
use serde::{Deserialize, Serialize};

/// Which turbo frequency stands for full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MaxFreq {
    /// That of four active cores: Intel's cores since 5.7, as a CPU seldom has that of one.
    #[serde(rename = "4C")]
    FourCores,
    /// That of one active core: Atoms.
    #[serde(rename = "1C")]
    OneCore,
    /// The base frequency: turbo is not known of.
    #[serde(rename = "base")]
    Base,
}

/// The highest frequency over the base frequency (`arch_max_freq_ratio`), 1024 being 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaxFreqRatio {
    turbo: u64,
    current: u64,
}

impl MaxFreqRatio {
    /// Of a ratio, 1024 being 1, that holds while turbo is on (`arch_turbo_freq_ratio`). `None` if it is 0.
    pub fn new(turbo: u64) -> Option<MaxFreqRatio> {
        (turbo != 0).then_some(MaxFreqRatio { turbo, current: turbo })
    }

    /// Of a frequency over the base, kHz. `None` if the ratio would be 0, or `base` is.
    pub fn of_khz(max: Khz, base: Khz) -> Option<MaxFreqRatio> {
        Self::new((u64::from(max) * SCHED_CAPACITY_SCALE).checked_div(u64::from(base))?)
    }

    /// Of a package's bins. Of fewer than four cores, all of them.
    pub fn of_turbo(turbo: &Turbo, choice: MaxFreq) -> Option<MaxFreqRatio> {
        let max = match choice {
            MaxFreq::FourCores => turbo.limit(4, false, Khz::MAX),
            MaxFreq::OneCore => turbo.limit(1, false, Khz::MAX),
            MaxFreq::Base => turbo.base,
        };
        Self::of_khz(max, turbo.base)
    }

    /// Turbo goes off or on: without it the base frequency is full speed (`arch_set_max_freq_ratio()`). intel_pstate
    /// calls it for turbo that the firmware switches off, and (7.3, not 5.10) for `no_turbo`. No kernel calls it for a
    /// frequency cap.
    pub fn arch_set_max_freq_ratio(&mut self, turbo_disabled: bool) {
        self.current = if turbo_disabled { SCHED_CAPACITY_SCALE } else { self.turbo };
    }

    /// The ratio now.
    pub fn ratio(&self) -> u64 {
        self.current
    }

    /// The ratio while turbo is on.
    pub fn turbo_ratio(&self) -> u64 {
        self.turbo
    }
}
