//! SIS_CACHE: an idle CPU that a task has left for a short sleep is left to it for about that time.
//!
//! ```text
//! dequeue_task_fair(), DEQUEUE_SLEEP:   p.prev_dequeue_time = now
//!     rq is empty and p.sis_rsv_avg:    rq.cache_hot_timeout = max(rq.cache_hot_timeout, now + p.sis_rsv_avg)
//! enqueue_task_fair(), ENQUEUE_WAKEUP:  sleep = now - p.prev_dequeue_time               SleepAvg::wakes
//!     sleep < sysctl_sched_migration_cost: update_avg(&p.sis_rsv_avg, sleep), else p.sis_rsv_avg >>= 1
//!
//! select_idle_cpu():                    cache_hot_cpu(cpu) = sched_clock_cpu(cpu) < rq(cpu).cache_hot_timeout
//!     a core that is idle is taken unless the CPU by which the walk came to it is hot; then the walk goes on, and
//!         comes to its siblings, too
//!     an idle CPU is taken unless it is hot; the first hot one is kept, and taken at the end of the walk
//!     the limit returns -1, and what was kept is lost
//! ```
//!
//! The reservation says nothing about whose it is: the task gets the CPU back because the target, prev,
//! recent_used_cpu and the siblings of prev are probed before the walk, and those probes do not ask.
//!
//! `select_idle_core()` notes the first idle CPU that it comes by, in an idle core, too. So a walk over cores that are
//! all hot ends with the first idle CPU, and clears `has_idle_cores`.
//!
//! "[PATCH 0/2] Introduce SIS_CACHE to choose previous CPU during task wakeup", Chen Yu, 26 September 2023. v2 of
//! November 2023 differs.

use super::about::{About, Recorded, Switch};
use super::{HookContext, HookTask, HookView, Hooks, Plan, PolicyState, SearchContext, SearchPolicy, Verdict};
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use crate::select::SearchView;
use crate::select::decision::Effects;
use crate::select::select_task_rq_fair::Cx;
use wakelab_kernel::Feature;

/// The policy.
#[derive(Debug)]
pub struct SisCache;

/// `rq->cache_hot_timeout`: until when the CPU is left to a sleeper, ns of `sched_clock_cpu()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheHotTimeout(pub u64);

impl PolicyState for CacheHotTimeout {
    fn new(_: &SchedDomains, _: Cpu) -> Self {
        CacheHotTimeout(0)
    }
}

impl SearchPolicy for SisCache {
    const FEATURE: Feature = Feature::SIS_CACHE;

    const ABOUT: About = About {
        switches: &[Switch {
            feature: Feature::SIS_CACHE,
            does: "the scan of the LLC passes over idle CPUs that a task has left for a short sleep, for as long as it \
                   sleeps on average; if it finds nothing else, it takes the first of them",
            recorded: Recorded::Not("how long each CPU is reserved for a short sleeper (cache_hot_timeout)"),
        }],
        tunables: &["migration_cost"],
    };

    type LlcState = ();
    type CpuState = CacheHotTimeout;

    #[inline]
    fn before_scan<V: SearchView>(_: &SearchContext<'_>, _: &V, _: &mut Plan, _: &mut Effects) -> Verdict {
        Verdict::Scan
    }

    fn hooks() -> Hooks {
        Hooks::DEQUEUE
    }

    /// The end of `dequeue_task_fair()`.
    fn on_dequeue(
        cx: &HookContext<'_>,
        view: &impl HookView,
        task: HookTask,
        (): &mut (),
        timeout: &mut CacheHotTimeout,
    ) {
        if task.sleep && task.sis_rsv_avg != 0 && view.nr_running(cx.cpu) == 0 {
            timeout.0 = timeout.0.max(view.sched_clock_cpu(cx.cpu) + task.sis_rsv_avg);
        }
    }
}

/// `cache_hot_cpu()`, asked by the probe that follows `probes` others.
pub(in crate::select) fn cache_hot_cpu<V: SearchView>(cpu: Cpu, cx: Cx<'_, V>, probes: u32) -> bool {
    cx.rules.features.has(Feature::SIS_CACHE)
        && cx.view.policies().is_some_and(|states| {
            let &CacheHotTimeout(timeout) = states.cpu::<SisCache>(cpu);
            timeout != 0 && cx.view.cpu_clock(cpu, probes + 1) < timeout
        })
}

/// The average of a task's sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepAvg {
    /// `prev_dequeue_time`: since when it sleeps, ns; 0 while it does not.
    pub prev_dequeue_time: u64,
    /// `sis_rsv_avg`: for how long it sleeps on average if it sleeps shortly, ns.
    pub sis_rsv_avg: u64,
}

impl SleepAvg {
    /// `enqueue_task_fair()` of a task that wakes up at `now`, ns. A sleep is short below `migration_cost`, ns.
    pub fn wakes(&mut self, now: u64, migration_cost: u64) {
        let since = std::mem::take(&mut self.prev_dequeue_time);
        if since == 0 || now <= since {
            return;
        }
        if now - since < migration_cost {
            self.sis_rsv_avg = super::sis_prop::update_avg(self.sis_rsv_avg, now - since);
        } else {
            self.sis_rsv_avg >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sleeps_are_averaged_and_long_ones_halve_the_average() {
        let mut avg = SleepAvg { prev_dequeue_time: 1000, sis_rsv_avg: 0 };
        avg.wakes(81_000, 500_000);
        assert_eq!(avg, SleepAvg { prev_dequeue_time: 0, sis_rsv_avg: 10_000 });
        // It has not slept.
        avg.wakes(90_000, 500_000);
        assert_eq!(avg.sis_rsv_avg, 10_000);
        avg.prev_dequeue_time = 100_000;
        avg.wakes(600_000, 500_000);
        assert_eq!(avg.sis_rsv_avg, 5_000, "a sleep of 500 us is long");
        avg.prev_dequeue_time = 700_000;
        avg.wakes(700_000 + 499_999, 500_000);
        assert_eq!(avg.sis_rsv_avg, 5_000 + 494_999 / 8);
    }
}
