//! The scale of a CPU's frequency (`arch_scale_freq_capacity()`), which PELT's clock runs by and which makes utilisation
//! independent of frequency.
//!
//! x86 measures it at the tick: [`Counters`] count, [`FreqScale::tick`] divides by what [`MaxFreqRatio`] takes for the
//! highest frequency. arm64 takes it from cpufreq: [`arch_set_freq_scale`].
//!
//! What is not known to the ratio goes wrong, as in the kernel: under a frequency cap or with turbo off a CPU that is
//! always busy has a scale below 1024, so that its utilisation never comes to 1024 and decays too fast.

mod arm64;
mod counters;
mod freq_scale;
mod max_freq_ratio;
mod msr;

pub use arm64::arch_set_freq_scale;
pub use counters::Counters;
pub use freq_scale::{FreqScale, Wobbly, scale_freq_tick};
pub use max_freq_ratio::{MaxFreq, MaxFreqRatio};
pub use msr::{CpuKind, Msrs, intel_set_max_freq_ratio};
