//! [`SearchStats`]: the counters of `select_idle_sibling()`, and the rates that follow from them, as the kernel patch
//! defines them that introduced the counters:
//!
//! ```text
//! se_eff%       = 100 (search - failed) / scanned
//! dom_eff%      = 100 (domain_search - failed) / (scanned - (search - domain_search))
//! fast_rate%    = 100 (search - domain_search) / search
//! success_rate% = 100 (search - failed) / search
//! ```

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::AddAssign;
use wakelab_sched::select::SearchCount;

/// The search statistics of all wake-ups, as the counters of the kernel patch that introduced them count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchStats {
    /// Calls of `select_idle_sibling()`.
    pub sis_search: u64,
    /// The calls that went past the fast path.
    pub sis_domain_search: u64,
    /// The run queues probed; the fast path counts as 1, however many it probes.
    pub sis_scanned: u64,
    /// The searches that reached the final `return target`.
    pub sis_failed: u64,
}

/// Returns 100 `part` / `whole`, and `None` if `whole` is 0.
fn pct(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| 100.0 * part as f64 / whole as f64)
}

impl SearchStats {
    /// `se_eff%`: idle CPUs found per run queue probed, 100 (search − failed) / scanned. `None` without searches.
    pub fn se_eff_pct(&self) -> Option<f64> {
        pct(self.sis_search - self.sis_failed, self.sis_scanned)
    }

    /// `dom_eff%`: idle CPUs found per run queue probed past the fast path, 100 (domain_search − failed) / (scanned −
    /// (search − domain_search)). `None` if no domain search probed a run queue.
    pub fn dom_eff_pct(&self) -> Option<f64> {
        // Every search adds 1 to `scanned`, and this subtracts it only for those that ended in the fast path. That is
        // the published definition, and it reproduces the published rows.
        pct(self.sis_domain_search - self.sis_failed, self.sis_scanned - (self.sis_search - self.sis_domain_search))
    }

    /// `fast_rate%`: searches that ended in the fast path, 100 (search − domain_search) / search. `None` without
    /// searches.
    pub fn fast_rate_pct(&self) -> Option<f64> {
        pct(self.sis_search - self.sis_domain_search, self.sis_search)
    }

    /// `success_rate%`: searches that found a CPU, 100 (search − failed) / search. `None` without searches.
    pub fn success_rate_pct(&self) -> Option<f64> {
        pct(self.sis_search - self.sis_failed, self.sis_search)
    }

    /// scanned / domain_search, as it was published. It counts the fast path's probes, too: where most searches end
    /// there, it says nothing of a scan. `None` without domain searches.
    pub fn scanned_per_domain_search(&self) -> Option<f64> {
        pct(self.sis_scanned, self.sis_domain_search).map(|pct| pct / 100.0)
    }

    /// Run queues probed past the fast path per domain search, (scanned − (search − domain_search)) / domain_search:
    /// the inverse of `dom_eff%` if no search fails. `None` without domain searches.
    pub fn looks_per_domain_search(&self) -> Option<f64> {
        let fast = self.sis_search - self.sis_domain_search;
        pct(self.sis_scanned - fast, self.sis_domain_search).map(|pct| pct / 100.0)
    }

    /// Adds the counts of one decision.
    #[inline]
    pub fn add(&mut self, count: &SearchCount) {
        self.sis_search += u64::from(count.search);
        self.sis_domain_search += u64::from(count.domain_search);
        self.sis_scanned += u64::from(count.scanned);
        self.sis_failed += u64::from(count.failed);
    }
}

impl AddAssign for SearchStats {
    fn add_assign(&mut self, other: Self) {
        self.sis_search += other.sis_search;
        self.sis_domain_search += other.sis_domain_search;
        self.sis_scanned += other.sis_scanned;
        self.sis_failed += other.sis_failed;
    }
}

impl Sum for SearchStats {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(SearchStats::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}
