//! SIS_PARAM: SIS_UTIL with parameters, a family of limits to search in. With none of them set it is SIS_UTIL.
//!
//! What periodic balance computes ([`IdleScanRules`](super::sis_util::IdleScanRules) asks [`SisParamRules`]):
//!
//! ```text
//! update_idle_cpu_scan():
//!     sum  = sum_util + sis_param_runnable % of (sum_runnable - sum_util)
//!     nr   = SIS_UTIL's number of this sum, by sis_util_pct and sis_util_exponent, too
//!     nr   = max(nr, sis_param_floor), then min(nr, sis_param_cap)
//! ```
//!
//! What a search makes of the number, if it is not for an idle core and SIS_UTIL has not ended it:
//!
//! ```text
//! select_idle_cpu(), after nr = nr_idle_scan + 1:
//!     if nr_idle_scan is at most sis_param_short_scan % of the LLC
//!        && rq(target).nr_running == 1
//!        && rq(target).curr and p have run for less than sis_param_short between two sleeps: return target
//!     nr_idle_scan >>= min(rq(target).sis_failed, sis_param_failed), but not below 1
//!     nr_idle_scan = min(nr_idle_scan, p->dur_avg / sis_param_run)
//! after the scan:  rq(target).sis_failed = found ? 0 : sis_failed + 1
//! rq goes idle:    rq->sis_failed = 0
//! ```
//!
//! The first condition is that of SIS_SHORT (v3) and SIS_SHORT_V6 with limits of its own and without wakee flips. The
//! second gives up by halves where searches from this run queue fail. The third lets a search cost no more than a share
//! of what the wakee will run for, if that is known ([`DurAvg`](super::DurAvg)).
//!
//! A kernel has all of this at hand: update_sd_lb_stats() sums up `group_runnable` beside `group_util`, `dur_avg` is
//! that of the postings of SIS_SHORT, and `sis_failed` is a byte of the run queue. None of the reads and writes has a
//! cost here.

use super::about::{About, Recorded, Switch};
use super::sis_eff_busy::found_nothing;
use super::{HookContext, HookView, Hooks, Plan, PolicyState, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use crate::select::SearchView;
use crate::select::decision::{Decision, Effects, Reason};
use wakelab_kernel::{Feature, FeatureSet, Tunables};

/// The policy.
#[derive(Debug)]
pub struct SisParam;

/// Its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SisParamRules {
    /// `sis_param_runnable`: how much `runnable_avg` counts in place of `util_avg`, per cent.
    pub runnable: u64,
    /// `sis_param_floor`: the least number of CPUs.
    pub floor: i32,
    /// `sis_param_cap`: the most.
    pub cap: i32,
    /// `sis_param_failed`: how often the number is halved after failed searches.
    pub failed: u8,
    /// `sis_param_run`: how long the wakee has to run for each CPU that is searched, ns; 0 for no such limit.
    pub run: u64,
    /// `sis_param_short`: below which run time between two sleeps a task is short, ns; 0 if none is.
    pub short: u64,
    /// `sis_param_short_scan`: up to which share of the LLC, per cent, the search gives way to a short task.
    pub short_scan: u32,
}

/// How many failed searches in a row are counted: from then on the limit of a 32-bit number is 1.
const FAILED_MAX: u8 = 31;

impl SisParamRules {
    /// SIS_UTIL as it is.
    pub const SIS_UTIL: SisParamRules =
        SisParamRules { runnable: 0, floor: 0, cap: i32::MAX, failed: 0, run: 0, short: 0, short_scan: 100 };

    /// The parameters that are set; those of SIS_UTIL if SIS_PARAM is off.
    pub fn new(features: FeatureSet, tunables: &Tunables) -> Self {
        let own = Self::SIS_UTIL;
        if !features.has(Feature::SIS_PARAM) {
            return own;
        }
        SisParamRules {
            runnable: tunables.sis_param_runnable.unwrap_or(own.runnable),
            floor: tunables.sis_param_floor.map_or(own.floor, |floor| floor as i32),
            cap: tunables.sis_param_cap.map_or(own.cap, |cap| cap as i32),
            failed: tunables.sis_param_failed.map_or(own.failed, |failed| failed as u8),
            run: tunables.sis_param_run.unwrap_or(own.run),
            short: tunables.sis_param_short.unwrap_or(own.short),
            short_scan: tunables.sis_param_short_scan.map_or(own.short_scan, |scan| scan as u32),
        }
    }

    /// Returns the replacement for the LLC's summed utilisation. `sum_runnable` is called only if it counts.
    pub fn sum(&self, sum_util: u64, sum_runnable: impl FnOnce() -> u64) -> u64 {
        if self.runnable == 0 {
            return sum_util;
        }
        (sum_util * (100 - self.runnable) + sum_runnable() * self.runnable) / 100
    }

    /// `nr_idle_scan` within its bounds.
    pub fn bounded(&self, nr_idle_scan: i32) -> i32 {
        nr_idle_scan.max(self.floor).min(self.cap)
    }

    fn is_short(&self, dur_avg: u64) -> bool {
        dur_avg != 0 && dur_avg < self.short
    }
}

/// `rq->sis_failed`: how many searches in a row have failed around this CPU since it was idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedSearches(u8);

impl FailedSearches {
    /// How many.
    pub fn nr(self) -> u32 {
        u32::from(self.0)
    }
}

impl PolicyState for FailedSearches {
    fn new(_: &SchedDomains, _: Cpu) -> Self {
        FailedSearches(0)
    }
}

impl SearchPolicy for SisParam {
    const FEATURE: Feature = Feature::SIS_PARAM;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_PARAM,
            does: "with any version of SIS_UTIL: its number, adjusted by parameters that change nothing unless they \
                   are set: runnable_avg besides util_avg, bounds, fewer CPUs after failed searches and for a wakee \
                   that runs only briefly, and the target if waker and wakee are short",
            recorded: Recorded::Not("sums of runnable_avg, how long tasks run (dur_avg), and failed searches"),
        }],
        tunables: &[
            "sis_param_runnable",
            "sis_param_floor",
            "sis_param_cap",
            "sis_param_failed",
            "sis_param_run",
            "sis_param_short",
            "sis_param_short_scan",
        ],
    };

    type LlcState = ();
    type CpuState = FailedSearches;

    fn hooks() -> Hooks {
        Hooks::IDLE | Hooks::DECISION
    }

    fn before_scan<V: SearchView>(cx: &SearchContext<'_>, view: &V, plan: &mut Plan, _: &mut Effects) -> Verdict {
        if cx.has_idle_core {
            return Verdict::Scan;
        }
        let (param, wakee) = (&cx.rules.sis_param, &cx.wakeup.wakee);
        let span = cx.sd.span_weight;
        let nr_idle_scan = plan.nr.wrapping_sub(1);
        if i64::from(nr_idle_scan) * 100 <= i64::from(span) * i64::from(param.short_scan)
            && view.target_nr_running(cx.target) == 1
            && param.is_short(wakee.dur_avg)
            && param.is_short(view.curr_dur_avg(cx.target))
        {
            return Verdict::Take(cx.target, Reason::Short);
        }
        let mut limit = nr_idle_scan;
        if param.failed != 0
            && let Some(&FailedSearches(failed)) = view.policies().map(|states| states.cpu::<Self>(cx.target))
            && failed != 0
        {
            limit = (limit.min(span as i32) >> failed.min(param.failed)).max(1);
        }
        if param.run != 0 && wakee.dur_avg != 0 {
            limit = limit.min((wakee.dur_avg / param.run).min(i32::MAX as u64) as i32);
        }
        if limit == nr_idle_scan {
            return Verdict::Scan;
        }
        plan.nr = limit + 1;
        if limit == 0 { Verdict::Overloaded } else { Verdict::Scan }
    }

    fn on_idle(_: &HookContext<'_>, _: &impl HookView, (): &mut (), failed: &mut FailedSearches) {
        *failed = FailedSearches(0);
    }

    fn on_decision(cx: &HookContext<'_>, decision: &Decision, (): &mut (), failed: &mut FailedSearches) {
        if cx.rules.sis_param.failed == 0 {
            return;
        }
        match decision.reason {
            reason if found_nothing(reason) => failed.0 = (failed.0 + 1).min(FAILED_MAX),
            Reason::Scan | Reason::Smt | Reason::Core | Reason::CoreCpu => failed.0 = 0,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::{IdleScanForm, IdleScanRules};
    use wakelab_kernel::Preset;

    const OWN: SisParamRules = SisParamRules::SIS_UTIL;

    fn at(param: SisParamRules, llc_weight: u32, util_pct: u64) -> i32 {
        let form = IdleScanForm::Merged;
        let rules = IdleScanRules { form, pct: None, exponent: 2, small_llc: false, newidle: false, param };
        rules.nr_idle_scan(u64::from(llc_weight) * 1024 * util_pct / 100, llc_weight, 117)
    }

    #[test]
    fn without_a_parameter_it_is_sis_util() {
        let preset = Preset::get("v7.2").unwrap();
        let on = preset.features.with(Feature::SIS_PARAM, true);
        assert_eq!(SisParamRules::new(on, &preset.tunables), OWN);
        let set = Tunables { sis_param_cap: Some(4), sis_param_runnable: Some(50), ..preset.tunables };
        assert_eq!(SisParamRules::new(preset.features, &set), OWN, "the feature is off");
        assert_eq!(SisParamRules::new(on, &set), SisParamRules { cap: 4, runnable: 50, ..OWN });
    }

    /// Against the numbers of the posting: 112, 81, 1 and 0 at 0%, 45%, 85% and 86%.
    #[test]
    fn the_number_stays_within_its_bounds() {
        let numbers = |param| [0, 45, 85, 86].map(|util| at(param, 112, util));
        assert_eq!(numbers(OWN), [112, 81, 1, 0]);
        assert_eq!(numbers(SisParamRules { floor: 4, ..OWN }), [112, 81, 4, 4]);
        assert_eq!(numbers(SisParamRules { cap: 16, ..OWN }), [16, 16, 1, 0]);
        assert_eq!(numbers(SisParamRules { floor: 4, cap: 2, ..OWN }), [2; 4], "the upper bound counts");
    }

    #[test]
    fn runnable_stands_in_by_its_share() {
        assert_eq!(OWN.sum(1000, || unreachable!("nobody asks for it")), 1000);
        let sums = [25, 50, 100].map(|runnable| SisParamRules { runnable, ..OWN }.sum(1000, || 3000));
        assert_eq!(sums, [1500, 2000, 3000]);
    }
}
