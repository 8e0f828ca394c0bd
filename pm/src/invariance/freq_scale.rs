//! The scale, from the counters.

use super::max_freq_ratio::MaxFreqRatio;
use crate::SCHED_CAPACITY_SCALE;
use crate::governor::CounterValues;

/// The arithmetic failed: the kernel switches frequency invariance off ("went wobbly"), for all CPUs and for good. Their
/// scale is 1024 since 6.1; 5.10 leaves it as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wobbly;

/// The scale of a CPU whose counters moved by `acnt` and `mcnt`, 1 to 1024 (`scale_freq_tick()`, 6.1 and 7.3;
/// `arch_scale_freq_tick()` in 5.10). `max_freq_ratio` is the highest frequency over the base, 1024 being 1.
pub fn scale_freq_tick(acnt: u64, mcnt: u64, max_freq_ratio: u64) -> Result<u64, Wobbly> {
    if acnt.leading_zeros() < 20 {
        return Err(Wobbly);
    }
    let mcnt = mcnt.checked_mul(max_freq_ratio).filter(|&mcnt| mcnt != 0).ok_or(Wobbly)?;
    match (acnt << 20) / mcnt {
        0 => Err(Wobbly),
        scale => Ok(scale.min(SCHED_CAPACITY_SCALE)),
    }
}

/// A CPU's scale (`arch_freq_scale` with the counters of the last tick).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FreqScale {
    scale: u64,
    aperf: u64,
    mperf: u64,
}

impl Default for FreqScale {
    fn default() -> Self {
        FreqScale { scale: SCHED_CAPACITY_SCALE, aperf: 0, mperf: 0 }
    }
}

impl FreqScale {
    /// `arch_scale_freq_capacity()`, 1 to 1024: what PELT's clock is to run by.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// The tick on a CPU (`arch_scale_freq_tick()`). Returns the new scale; where it fails, the scale stays.
    pub fn tick(&mut self, counters: CounterValues, ratio: &MaxFreqRatio) -> Result<u64, Wobbly> {
        let acnt = counters.aperf.wrapping_sub(self.aperf);
        let mcnt = counters.mperf.wrapping_sub(self.mperf);
        (self.aperf, self.mperf) = (counters.aperf, counters.mperf);
        self.scale = scale_freq_tick(acnt, mcnt, ratio.ratio())?;
        Ok(self.scale)
    }

    /// Invariance was switched off: full speed for ever after.
    pub fn disable(&mut self) {
        self.scale = SCHED_CAPACITY_SCALE;
    }
}
