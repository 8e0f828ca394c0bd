//! SIS_UTIL: search in proportion to how much of the LLC is unused.
//!
//! Both formulas are here. Periodic balance of the LLC writes `nr_idle_scan` (`crates/sim/src/load_balance.rs` stores
//! it), from the utilisation of all CPUs of the LLC ([`update_idle_cpu_scan`], in its posted forms and with tunables
//! [`IdleScanRules::nr_idle_scan`]). The search reads it ([`SisUtil`]): it scans that many CPUs. At 0 (from about 85%
//! utilisation) it ends before it begins, and with it the scan for an idle core: `has_idle_cores` then stays as it is.
//! The number is as old as the last periodic balance, tens of milliseconds, so that a burst meets yesterday's number.
//!
//! As merged for 6.0 (70fb5ccf2ebb). Its earlier versions (`SIS_UTIL_V1` to `_V3`) differ in the number alone; the
//! search reads it as it does in the merged form.

use super::about::{About, Recorded, Switch};
use super::sis_param::SisParamRules;
use super::{Plan, SearchContext, SearchPolicy, Verdict};
use crate::select::decision::Effects;
use crate::select::{Rules, SearchView};
use wakelab_kernel::{Feature, FeatureSet, Tunables};

const SCHED_CAPACITY_SCALE: u64 = 1024;

/// The input that the earlier versions read, which no recording holds.
const LLC_UTIL: &str = "an nr_idle_scan that is computed from the LLC's utilisation in its own way";

/// The policy.
#[derive(Debug)]
pub struct SisUtil;

impl SearchPolicy for SisUtil {
    const FEATURE: Feature = Feature::SIS_UTIL;

    const ABOUT: About = About {
        switches: &[
            Switch {
                feature: Feature::SIS_UTIL,
                does: "scans nr_idle_scan CPUs, which periodic balance of the LLC computes from its utilisation; at 0 \
                    there is no scan",
                recorded: Recorded::Yes,
            },
            Switch {
                feature: Feature::SIS_EFF_IDLE_CORE,
                does: "with any version of SIS_UTIL: a search for an idle core is made at 0, too",
                recorded: Recorded::Yes,
            },
            Switch {
                feature: Feature::SIS_EFF_CORE_LIMIT,
                does: "with any version of SIS_UTIL: a search for an idle core at 0 comes to two CPUs and looks at \
                    their cores. A limit ends the scan as its end does: `has_idle_cores` is cleared, and an idle CPU \
                    that was passed is taken",
                recorded: Recorded::Yes,
            },
            Switch {
                feature: Feature::SIS_UTIL_V1,
                does: "no limit up to 85% utilisation, no search above",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_V2,
                does: "falls in a line to 4 CPUs at 50%, so that the scan for an idle core is never stopped",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_V3,
                does: "100 − x²/72 per cent of the LLC at x per cent utilisation",
                recorded: Recorded::Not(LLC_UTIL),
            },
            Switch {
                feature: Feature::SIS_UTIL_SMALL_LLC,
                does: "with any of these: an LLC of up to 16 CPUs gets 32 / llc_weight times the number",
                recorded: Recorded::NotRead,
            },
            Switch {
                feature: Feature::SIS_UTIL_NEWIDLE,
                does: "with any of these: newly idle balance updates the number, too, which is then as fresh as the \
                    last CPU that went idle; the writes to a shared line have no cost here",
                recorded: Recorded::NotRead,
            },
        ],
        tunables: &["sis_util_pct", "sis_util_exponent"],
    };

    type LlcState = ();
    type CpuState = ();

    #[inline]
    fn is_on(rules: &Rules<'_>) -> bool {
        IdleScanForm::of(rules.features).is_some()
    }

    #[inline]
    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        let features = cx.rules.features;
        if cx.has_idle_core && features.has(Feature::SIS_EFF_IDLE_CORE) {
            return Verdict::Scan;
        }
        // One more than the number, because the scan counts down before it probes.
        plan.nr = view.nr_idle_scan(cx.target).wrapping_add(1);
        if cx.has_idle_core && features.has(Feature::SIS_EFF_CORE_LIMIT) {
            plan.nr = if plan.nr > 1 { i32::MAX } else { 3 };
        }
        if plan.nr == 1 { Verdict::Overloaded } else { Verdict::Scan }
    }
}

/// A version of SIS_UTIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleScanForm {
    /// The first posting: all CPUs up to 85% utilisation, none above.
    V1,
    /// The second posting: fewer CPUs in proportion to the utilisation, 4 from 50% on.
    V2,
    /// The third posting: `100 - x² / 72` per cent of the CPUs at `x` per cent utilisation.
    V3,
    /// The merged form (v4).
    Merged,
}

impl IdleScanForm {
    /// The version that is on; an earlier version replaces the merged one. `None` if SIS_UTIL is off.
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
    /// Replaces the domain's `imbalance_pct`: 10000 divided by the utilisation, in per cent, from which on the number
    /// is 0.
    pub pct: Option<u32>,
    /// The power of the utilisation by which the number falls; 2 in the merged form.
    pub exponent: u32,
    /// LLCs of up to 16 CPUs get `32 / llc_weight` times the number.
    pub small_llc: bool,
    /// Newly idle balance updates the number, too.
    pub newidle: bool,
    /// SIS_PARAM: bounds of the number, and what stands in for the utilisation.
    pub param: SisParamRules,
}

impl IdleScanRules {
    /// The rules that `features` and `tunables` set; `None` without any version of SIS_UTIL.
    pub fn new(features: FeatureSet, tunables: &Tunables) -> Option<Self> {
        Some(IdleScanRules {
            form: IdleScanForm::of(features)?,
            pct: tunables.sis_util_pct.map(|pct| pct as u32),
            exponent: tunables.sis_util_exponent.map_or(2, |exponent| exponent as u32),
            small_llc: features.has(Feature::SIS_UTIL_SMALL_LLC),
            newidle: features.has(Feature::SIS_UTIL_NEWIDLE),
            param: SisParamRules::new(features, tunables),
        })
    }

    /// `nr_idle_scan`, from the summed utilisation of an LLC of `llc_weight` CPUs and its domain's `imbalance_pct`;
    /// [`update_idle_cpu_scan`] in the merged form.
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
            IdleScanForm::Merged => with_exponent(sum_util, llc_weight, pct, self.exponent),
        };
        let nr = if self.small_llc && llc_weight <= 16 { nr.saturating_mul(32) / llc_weight as i32 } else { nr };
        self.param.bounded(nr)
    }
}

/// `update_idle_cpu_scan()`: how many CPUs of an LLC a search scans, from the LLC's summed utilisation.
///
/// Load balance calls it with SIS_UTIL on, in a pass that is not newly idle, on the domain that spans the LLC (6.1
/// compares the domain's weight with `sd_llc_size`). `sum_util` is the sum of the CPUs' utilisation, `llc_weight` the
/// number of CPUs, `imbalance_pct` that of the domain.
///
/// With `x = sum_util / (llc_weight × 1024)`, the share of CPUs to scan is `y = 1 - p x²`, where `p = (pct/100)²` makes
/// it 0 at `x = 100/pct`, the utilisation (85% for 117) at which load balance calls a group overloaded. In
/// integers, with the patch's numbers:
///
/// ```text
/// x' = sum_util / llc_weight                                  (3)
/// y  = 1024 - min(x'² pct² / (10000 × 1024), 1024)            (4)
/// nr_scan = llc_weight × y / 1024                             (2)
/// ```
///
/// Source: "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg", v4, merged as 70fb5ccf2ebb.
pub fn update_idle_cpu_scan(sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
    // equation (3)
    let x = sum_util / u64::from(llc_weight);
    // equation (4); the kernel's product wraps at 64 bits and is compared as a signed long
    let pct = u64::from(imbalance_pct);
    let used = x.wrapping_mul(x).wrapping_mul(pct).wrapping_mul(pct) / (10000 * SCHED_CAPACITY_SCALE);
    let y = SCHED_CAPACITY_SCALE.wrapping_sub((used as i64).min(SCHED_CAPACITY_SCALE as i64) as u64);
    // equation (2)
    (y.wrapping_mul(u64::from(llc_weight)) / SCHED_CAPACITY_SCALE) as i32
}

/// The merged form with the power `exponent`: `llc_weight × (1 - (p x)^e)` with `p = pct / 100`.
fn with_exponent(sum_util: u64, llc_weight: u32, pct: u32, exponent: u32) -> i32 {
    // p x in 1024ths; above 1 the search has ended
    let px = (sum_util * u64::from(pct) / (100 * u64::from(llc_weight))).min(SCHED_CAPACITY_SCALE);
    let used = (0..exponent).fold(SCHED_CAPACITY_SCALE, |used, _| used * px / SCHED_CAPACITY_SCALE);
    (u64::from(llc_weight) * (SCHED_CAPACITY_SCALE - used) / SCHED_CAPACITY_SCALE) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(form: IdleScanForm) -> IdleScanRules {
        IdleScanRules { form, pct: None, exponent: 2, small_llc: false, newidle: false, param: SisParamRules::SIS_UTIL }
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
            assert!((with_exponent(sum_util, 112, 117, 2) - merged).abs() <= 1, "{util}%");
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

    /// The table of the SIS_UTIL posting (v4): utilisation in per cent of the LLC against CPUs to scan.
    #[test]
    fn published_nr_idle_scan_for_112_cpus() {
        let table = include_str!("../../../../../data/published/sis_util-nr_idle_scan.csv");
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("llc_weight,sum_util_pct,nr_scan"));
        let mut rows = 0;
        for line in lines {
            let numbers: Vec<u32> = line.split(',').map(|number| number.parse().expect("a number")).collect();
            let [llc_weight, util, nr_scan] = numbers[..] else { panic!("three columns: {line}") };
            let sum_util = u64::from(llc_weight) * 1024 * u64::from(util) / 100;
            assert_eq!(update_idle_cpu_scan(sum_util, llc_weight, 117), nr_scan as i32, "{line}");
            rows += 1;
        }
        assert!(rows > 5);
    }
}
