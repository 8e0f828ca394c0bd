//! UTIL_EST_FASTER: while a task runs without a sleep, its CPU's utilisation follows as if PELT had half its half-life
//! and had begun at 0 with this activation.
//!
//! ```text
//! cpu_util_cfs(cpu), at the sites that are on:
//!     util = cfs.avg.util_avg
//!     d = (curr.sum_exec_runtime - curr.prev_sum_exec_runtime_vol) >> 10          since the last voluntary sleep
//!     UTIL_EST_FASTER_SCALED: d = d * capacity(cpu) / 1024 * freq_capacity(cpu) / 1024
//!     util = max(util, faster_est_approx(2 * d))                                  half of 32 ms
//!     util = max(util, util_est), at most the capacity
//! ```
//!
//! The averages themselves stay as they are. Energy-aware placement has it nowhere.
//!
//! The thread of "sched/pelt: Change PELT halflife at runtime": Peter Zijlstra's sketch of November 2022, in the
//! versions of Dietmar Eggemann of February and March 2023, which begin at the last voluntary sleep.

use crate::pelt::{__accumulate_pelt_segments, PELT_MIN_DIVIDER, SCHED_CAPACITY_SHIFT, Scale, cap_scale};
use wakelab_kernel::{Feature, FeatureSet};

/// A place that asks for a CPU's utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FasterSite {
    /// Schedutil's request.
    Freq,
    /// Load balance.
    Lb,
    /// `cpu_overutilized()`.
    Ou,
    /// Placement of forks and execs: a CPU of which the task is no part (`cpu_util_without()`).
    SlowPath,
}

impl FasterSite {
    /// The site's own switch.
    pub fn feature(self) -> Feature {
        match self {
            FasterSite::Freq => Feature::UTIL_EST_FASTER_FREQ,
            FasterSite::Lb => Feature::UTIL_EST_FASTER_LB,
            FasterSite::Ou => Feature::UTIL_EST_FASTER_OU,
            FasterSite::SlowPath => Feature::UTIL_EST_FASTER_SLOWPATH,
        }
    }

    /// Whether the site follows faster with these features on.
    #[inline]
    pub fn is_on(self, features: FeatureSet) -> bool {
        features.has(Feature::UTIL_EST_FASTER) && features.has(self.feature())
    }
}

/// `faster_est_approx()`: PELT's utilisation after running from 0 for `delta` us of 1024 ns.
pub fn faster_est_approx(delta: u64) -> u64 {
    const PERIOD: u64 = 1024;
    let (periods, rest) = (delta / PERIOD, (delta % PERIOD) as u32);
    let contrib = if periods == 0 { rest } else { __accumulate_pelt_segments(periods, PERIOD as u32, rest) };
    (u64::from(contrib) << SCHED_CAPACITY_SHIFT) / u64::from(PELT_MIN_DIVIDER)
}

/// The utilisation of a CPU whose running task has run for `ran` ns since it slept last; 0 if it has not run.
pub fn util_est_faster(features: FeatureSet, ran: u64, scale: Scale) -> u64 {
    let mut delta = ran >> 10;
    if features.has(Feature::UTIL_EST_FASTER_SCALED) {
        delta = cap_scale(cap_scale(delta, scale.cpu), scale.freq);
    }
    faster_est_approx(2 * delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_kernel::Preset;

    const FULL: Scale = Scale { cpu: 1024, freq: 1024 };
    const MS: u64 = 1_000_000;

    fn features(switches: &str) -> FeatureSet {
        let preset = Preset::get("v5.18-eas").unwrap();
        preset.switched(&switches.parse().unwrap()).unwrap()
    }

    /// After a half-life of 16 ms, half of the scale; after two, three quarters.
    #[test]
    fn it_follows_with_a_half_life_of_16_ms() {
        let on = features("UTIL_EST_FASTER");
        let after = |periods: u64| util_est_faster(on, periods * 1024 * 1024, FULL);
        assert_eq!(util_est_faster(on, 1023, FULL), 0);
        for (periods, util) in [(16, 512), (32, 768), (48, 896)] {
            // The divider is that of the beginning of a period.
            assert!(after(periods).abs_diff(util) <= 24, "{periods}: {}", after(periods));
        }
        assert!((1023..=1047).contains(&after(2000)));
    }

    #[test]
    fn time_on_a_small_or_slow_cpu_counts_less_if_scaled() {
        let little = Scale { cpu: 256, freq: 512 };
        let scaled = util_est_faster(features("UTIL_EST_FASTER"), 80 * MS, little);
        assert_eq!(scaled, util_est_faster(features("UTIL_EST_FASTER"), 10 * MS, FULL));
        let unscaled = util_est_faster(features("UTIL_EST_FASTER,NO_UTIL_EST_FASTER_SCALED"), 80 * MS, little);
        assert_eq!(unscaled, util_est_faster(features("UTIL_EST_FASTER"), 80 * MS, FULL));
        assert!(unscaled > 2 * scaled);
    }

    #[test]
    fn each_site_has_its_own_switch() {
        const SITES: [FasterSite; 4] = [FasterSite::Freq, FasterSite::Lb, FasterSite::Ou, FasterSite::SlowPath];
        let sites = |switches: &str| SITES.map(|site| site.is_on(features(switches)));
        assert_eq!(sites(""), [false; 4]);
        assert_eq!(sites("UTIL_EST_FASTER"), [true; 4]);
        let freq_only = "UTIL_EST_FASTER,NO_UTIL_EST_FASTER_LB,NO_UTIL_EST_FASTER_OU,NO_UTIL_EST_FASTER_SLOWPATH";
        assert_eq!(sites(freq_only), [true, false, false, false]);
        assert_eq!(sites("UTIL_EST_FASTER,NO_UTIL_EST_FASTER_FREQ"), [false, true, true, true]);
    }
}
