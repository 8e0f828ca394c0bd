//! How long work takes at a frequency.

use crate::cpu::CpuState;
use wakelab_pm::Khz;

/// The dilation of a CPU at full speed.
pub const FULL: u64 = 1 << 20;

/// How long work takes on a CPU of `capacity` at `khz`, [`FULL`] being the time it takes on the fastest CPU at its highest
/// frequency. `nominal` is the highest frequency of this CPU, kHz.
pub fn dilation(nominal: Khz, khz: Khz, capacity: u64) -> u64 {
    let full = u128::from(FULL) * u128::from(nominal) * 1024;
    (full / (u128::from(khz.max(1)) * u128::from(capacity.max(1)))) as u64
}

impl CpuState {
    /// Neither SMT siblings nor the frequency slow the CPU down.
    #[inline]
    fn at_full_speed(&self) -> bool {
        self.slowdown == 100 && self.dilation == FULL
    }

    /// The time that `work` takes, ns of both, rounded down.
    #[inline]
    pub fn time_of(&self, work: u64) -> u64 {
        if self.at_full_speed() {
            work
        } else if self.dilation == FULL {
            work * self.slowdown / 100
        } else {
            (u128::from(work) * self.factor() / FACTOR) as u64
        }
    }

    /// The same, rounded up.
    #[inline]
    pub fn time_until_done(&self, work: u64) -> u64 {
        if self.at_full_speed() {
            work
        } else if self.dilation == FULL {
            (work * self.slowdown).div_ceil(100)
        } else {
            (u128::from(work) * self.factor()).div_ceil(FACTOR) as u64
        }
    }

    /// The work that is done in `time`, ns of both, rounded down.
    #[inline]
    pub fn work_in(&self, time: u64) -> u64 {
        if self.at_full_speed() {
            time
        } else if self.dilation == FULL {
            time * 100 / self.slowdown
        } else {
            (u128::from(time) * FACTOR / self.factor()) as u64
        }
    }

    fn factor(&self) -> u128 {
        u128::from(self.slowdown) * u128::from(self.dilation)
    }
}

/// What [`CpuState::factor`] is at full speed.
const FACTOR: u128 = 100 * FULL as u128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_frequency_or_the_capacity_takes_twice_the_time() {
        assert_eq!(dilation(2_000_000, 2_000_000, 1024), FULL);
        assert_eq!(dilation(2_000_000, 1_000_000, 1024), 2 * FULL);
        assert_eq!(dilation(2_000_000, 2_000_000, 512), 2 * FULL);
        assert_eq!(dilation(2_000_000, 1_000_000, 256), 8 * FULL);
    }
}
