//! How many CPUs of an LLC a search may look at: `nr_idle_scan`, by version of SIS_UTIL.

use super::hints::update_idle_cpu_scan;
use wakelab_kernel::{Feature, FeatureSet, Tunables};

const SCHED_CAPACITY_SCALE: u64 = 1024;

/// Which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleScanForm {
    /// All CPUs up to 85% utilisation, none above.
    V1,
    /// Fewer in proportion to the utilisation, 4 from 50% on.
    V2,
    /// `100 - x² / 72` per cent of them at `x` per cent utilisation.
    V3,
    /// As merged.
    Merged,
}

impl IdleScanForm {
    /// The one that is on: an earlier version in place of the merged one.
    #[inline]
    pub fn of(features: FeatureSet) -> Option<Self> {
        [
            (Feature::SIS_UTIL_V1, IdleScanForm::V1),
            (Feature::SIS_UTIL_V2, IdleScanForm::V2),
            (Feature::SIS_UTIL_V3, IdleScanForm::V3),
            (Feature::SIS_UTIL, IdleScanForm::Merged),
        ]
        .into_iter()
        .find(|&(feature, _)| features.has(feature))
        .map(|(_, form)| form)
    }
}

/// How load balancing computes `nr_idle_scan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleScanRules {
    /// The version.
    pub form: IdleScanForm,
    /// In place of the domain's `imbalance_pct`: 10000 over the utilisation, in per cent, from which on the number is 0.
    pub pct: Option<u32>,
    /// The power of the utilisation by which the number falls; 2 as merged.
    pub exponent: u32,
    /// LLCs of up to 16 CPUs get `32 / llc_weight` times the number.
    pub small_llc: bool,
    /// Newly-idle passes update it, too.
    pub newidle: bool,
}

impl IdleScanRules {
    /// What is on; `None` without any version of SIS_UTIL.
    pub fn new(features: FeatureSet, tunables: &Tunables) -> Option<Self> {
        Some(IdleScanRules {
            form: IdleScanForm::of(features)?,
            pct: tunables.sis_util_pct.map(|pct| pct as u32),
            exponent: tunables.sis_util_exponent.map_or(2, |exponent| exponent as u32),
            small_llc: features.has(Feature::SIS_UTIL_SMALL_LLC),
            newidle: features.has(Feature::SIS_UTIL_NEWIDLE),
        })
    }

    /// The number, from the summed utilisation of an LLC of `llc_weight` CPUs and its domain's `imbalance_pct`. See
    /// [`update_idle_cpu_scan`] for the merged form.
    pub fn nr_idle_scan(&self, sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
        let pct = self.pct.unwrap_or(imbalance_pct);
        let weight = u64::from(llc_weight);
        let full = weight * SCHED_CAPACITY_SCALE;
        let nr = match self.form {
            IdleScanForm::V1 => i32::from(sum_util * u64::from(pct) < full * 100) * llc_weight as i32,
            // nr = llc_weight × (1 - 2 x), at least 4
            IdleScanForm::V2 => (weight.saturating_sub(2 * sum_util / SCHED_CAPACITY_SCALE).max(4)) as i32,
            IdleScanForm::V3 => {
                let x = sum_util * 100 / full;
                (weight * 100u64.saturating_sub(x * x / 72) / 100) as i32
            }
            IdleScanForm::Merged if self.exponent == 2 => update_idle_cpu_scan(sum_util, llc_weight, pct),
            IdleScanForm::Merged => power(sum_util, llc_weight, pct, self.exponent),
        };
        if self.small_llc && llc_weight <= 16 { nr.saturating_mul(32) / llc_weight as i32 } else { nr }
    }
}

/// The merged form with another power: `llc_weight × (1 - (p x)^e)` with `p = pct / 100`.
fn power(sum_util: u64, llc_weight: u32, pct: u32, exponent: u32) -> i32 {
    // p x in 1024ths; above 1 the search has ended
    let px = (sum_util * u64::from(pct) / (100 * u64::from(llc_weight))).min(SCHED_CAPACITY_SCALE);
    let used = (0..exponent).fold(SCHED_CAPACITY_SCALE, |used, _| used * px / SCHED_CAPACITY_SCALE);
    (u64::from(llc_weight) * (SCHED_CAPACITY_SCALE - used) / SCHED_CAPACITY_SCALE) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(form: IdleScanForm) -> IdleScanRules {
        IdleScanRules { form, pct: None, exponent: 2, small_llc: false, newidle: false }
    }

    fn at(rules: &IdleScanRules, llc_weight: u32, util_pct: u64) -> i32 {
        rules.nr_idle_scan(u64::from(llc_weight) * 1024 * util_pct / 100, llc_weight, 117)
    }

    #[test]
    fn v1_stops_at_85_per_cent_and_has_no_limit_before() {
        let numbers = [0, 50, 84, 86, 100].map(|util| at(&rules(IdleScanForm::V1), 112, util));
        assert_eq!(numbers, [112, 112, 112, 0, 0]);
    }

    #[test]
    fn v2_falls_in_a_line_to_four_at_half() {
        let numbers = [0, 25, 45, 50, 90].map(|util| at(&rules(IdleScanForm::V2), 112, util));
        assert_eq!(numbers, [112, 56, 12, 4, 4]);
    }

    #[test]
    fn v3_and_the_merged_form_differ_by_two_at_most() {
        for util in 0..=100 {
            let (v3, merged) = (at(&rules(IdleScanForm::V3), 112, util), at(&rules(IdleScanForm::Merged), 112, util));
            assert!((v3 - merged).abs() <= 2, "{util}%: {v3}, {merged}");
        }
    }

    #[test]
    fn the_power_of_two_is_the_merged_form_but_for_rounding() {
        for util in 0..=100 {
            let merged = at(&rules(IdleScanForm::Merged), 112, util);
            let sum_util = 112 * 1024 * util / 100;
            assert!((power(sum_util, 112, 117, 2) - merged).abs() <= 1, "{util}%");
        }
        // A higher power searches more in the middle and ends at the same utilisation.
        let cubed = IdleScanRules { exponent: 3, ..rules(IdleScanForm::Merged) };
        assert!(at(&cubed, 112, 50) > at(&rules(IdleScanForm::Merged), 112, 50));
        assert_eq!(at(&cubed, 112, 86), 0);
        let half = IdleScanRules { pct: Some(200), ..rules(IdleScanForm::Merged) };
        assert_eq!((at(&half, 112, 49) > 0, at(&half, 112, 50)), (true, 0));
    }

    #[test]
    fn small_llcs_get_more() {
        let small = IdleScanRules { small_llc: true, ..rules(IdleScanForm::Merged) };
        assert_eq!(at(&small, 16, 0), 32);
        assert_eq!(at(&small, 32, 0), 32);
        assert_eq!(at(&small, 16, 50), 2 * at(&rules(IdleScanForm::Merged), 16, 50));
    }
}
