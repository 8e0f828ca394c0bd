//! `accumulate_sum()`: adds time to the sums of `struct sched_avg`, and takes the averages from them
//! (`kernel/sched/pelt.c`).
//!
//! ```text
//! ___update_load_sum():  delta = (now - last_update_time) in units of 1024 ns
//! accumulate_sum():      sum = sum y^p + __accumulate_pelt_segments()
//!
//!           d1          d2           d3
//!           ^           ^            ^
//!         |<->|<----------------->|<--->|
//! ... |---x---|------| ... |------|-----x (now)
//!
//!                           p-1
//!     segments = d1 y^p + 1024 Σ y^n + d3 y^0
//!                           n=1
//!
//! ___update_load_avg():  avg = sum / (LOAD_AVG_MAX - 1024 + period_contrib)
//! ```
//!
//! `__update_load_avg_blocked_se()`, `__update_load_avg_se()` and `__update_load_avg_cfs_rq()` do both for a sleeping
//! task, a queued task and a run queue.

use super::SCHED_CAPACITY_SHIFT;
use super::decay_load::{LOAD_AVG_MAX, decay_load};
use super::update_load_avg::CfsRqState;
use super::util_est::cfs_se_util_change;

/// Length of a period in µs (of 1024 ns).
const PERIOD: u64 = 1024;

/// The smallest value that [`get_pelt_divider`] returns, in µs: LOAD_AVG_MAX · y (`PELT_MIN_DIVIDER`, 7.3).
pub const PELT_MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;

/// The PELT state of a task or of a run queue (`struct sched_avg`, `include/linux/sched.h`, 7.3).
///
/// The sums are in µs (of 1024 ns) times the signal's own unit:
///
/// | signal | a task's sum | a run queue's sum |
/// |---|---|---|
/// | load | time on the queue | time on the queue · weight, over all tasks |
/// | runnable | time on the queue · 1024 | time · number of runnable tasks · 1024 |
/// | util | running time · 1024 | running time · 1024 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SchedAvg {
    /// The time up to which the sums are accumulated, in ns of the run queue's PELT clock; 0 for a task that is
    /// attached to no run queue.
    pub last_update_time: u64,
    /// Sum of load: of a task at most [`LOAD_AVG_MAX`], of a run queue that times its weight.
    pub load_sum: u64,
    /// Sum of runnable time, at most `LOAD_AVG_MAX << 10` per task.
    pub runnable_sum: u64,
    /// Sum of running time, at most `LOAD_AVG_MAX << 10` if nothing was attached.
    pub util_sum: u32,
    /// The part of the current period that is accumulated, in µs: below 1024.
    pub period_contrib: u32,
    /// Average load in units of weight (nice 0 is 1024).
    pub load_avg: u64,
    /// Average number of runnable tasks · 1024.
    pub runnable_avg: u64,
    /// Average share of running time · 1024, invariant of capacity and frequency.
    pub util_avg: u64,
    /// A task's estimated utilisation with [`UTIL_AVG_UNCHANGED`](super::util_est::UTIL_AVG_UNCHANGED), or the sum
    /// over a run queue's tasks. `util_est` in 6.12 and later, `util_est.enqueued` in 5.10 and 6.1.
    pub util_est: u32,
    /// The moving average of the estimate: `util_est.ewma` in 5.10 and 6.1, always 0 in later kernels.
    pub util_est_ewma: u32,
}

/// The state of a task since its last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityState {
    /// Its weight, nice 0 being 1024 (`se_weight()`); at least 1.
    pub weight: u64,
    /// It is on the run queue, even if it runs or its dequeue is delayed (`se->on_rq`).
    pub on_rq: bool,
    /// Its dequeue is delayed (`se->sched_delayed`, EEVDF since 6.12): it is on the queue, but not runnable.
    pub sched_delayed: bool,
    /// It is the run queue's current task (`cfs_rq->curr == se`, in 7.3 `cfs_rq->h_curr == se`).
    pub curr: bool,
}

impl EntityState {
    /// Whether the task is runnable, 0 or 1 (`se_runnable()` of a task, 7.3).
    fn se_runnable(&self) -> u64 {
        u64::from(self.on_rq && !self.sched_delayed)
    }
}

/// The contribution, in µs, of a signal that was 1 throughout a span that crosses `periods` ≥ 1 period boundaries
/// (`__accumulate_pelt_segments()`, 7.3).
///
/// `d1` is the rest of the period in which the span begins, `d3` the part of the period in which it ends, both in µs.
#[inline]
pub fn __accumulate_pelt_segments(periods: u64, d1: u32, d3: u32) -> u32 {
    let c1 = decay_load(u64::from(d1), periods) as u32;
    // The whole periods between: with p = periods,
    //   1024 (y + ... + y^(p-1)) = 1024 (1 + y + ...) - 1024 (y^p + y^(p+1) + ...) - 1024
    //                            = LOAD_AVG_MAX - LOAD_AVG_MAX y^p - 1024
    let tail = decay_load(u64::from(LOAD_AVG_MAX), periods) as u32;
    let c2 = LOAD_AVG_MAX.wrapping_sub(tail).wrapping_sub(PERIOD as u32);
    c1.wrapping_add(c2).wrapping_add(d3)
}

/// Adds `delta` µs to the sums, and returns the number of period boundaries crossed (`accumulate_sum()`, 7.3).
///
/// `load` is a weight (1 for a task), `runnable` a number of tasks. If `load` is 0 the other two must be.
#[inline]
pub fn accumulate_sum(mut delta: u64, sa: &mut SchedAvg, load: u64, runnable: u64, running: bool) -> u64 {
    let mut contrib = delta as u32;

    delta = delta.wrapping_add(u64::from(sa.period_contrib));
    let periods = delta / PERIOD;
    if periods != 0 {
        sa.load_sum = decay_load(sa.load_sum, periods);
        sa.runnable_sum = decay_load(sa.runnable_sum, periods);
        sa.util_sum = decay_load(u64::from(sa.util_sum), periods) as u32;

        delta %= PERIOD;
        if load != 0 {
            let d1 = (PERIOD as u32).wrapping_sub(sa.period_contrib);
            contrib = __accumulate_pelt_segments(periods, d1, delta as u32);
        }
    }
    sa.period_contrib = delta as u32;

    let contribution = u64::from(contrib);
    if load != 0 {
        sa.load_sum = sa.load_sum.wrapping_add(load.wrapping_mul(contribution));
    }
    if runnable != 0 {
        sa.runnable_sum = sa.runnable_sum.wrapping_add(runnable.wrapping_mul(contribution) << SCHED_CAPACITY_SHIFT);
    }
    if running {
        sa.util_sum = sa.util_sum.wrapping_add(contrib << SCHED_CAPACITY_SHIFT);
    }
    periods
}

/// Accumulates the time up to `now` (ns of the PELT clock), during which `load`, `runnable` and `running` held. Returns
/// whether a period boundary was crossed, so that the averages are due (`___update_load_sum()`, 7.3).
#[inline]
pub fn ___update_load_sum(now: u64, sa: &mut SchedAvg, load: u64, runnable: u64, running: bool) -> bool {
    let delta = now.wrapping_sub(sa.last_update_time);
    if (delta as i64) < 0 {
        sa.last_update_time = now;
        return false;
    }

    // A rest below 1024 ns is left for the next update.
    let delta = delta >> 10;
    if delta == 0 {
        return false;
    }
    sa.last_update_time = sa.last_update_time.wrapping_add(delta << 10);

    // "running is a subset of runnable (weight) so running can't be set if runnable is clear": cfs_rq->curr may still
    // name a task that has already been dequeued.
    let (runnable, running) = if load == 0 { (0, false) } else { (runnable, running) };
    accumulate_sum(delta, sa, load, runnable, running) != 0
}

/// The sum that a signal which is always 1 has at this point of the period, in µs (`get_pelt_divider()`, 7.3).
///
/// The rest of the period must not count as idle, so the divider grows with `period_contrib` from
/// LOAD_AVG_MAX · y = LOAD_AVG_MAX - 1024.
#[inline]
pub fn get_pelt_divider(sa: &SchedAvg) -> u32 {
    PELT_MIN_DIVIDER.wrapping_add(sa.period_contrib)
}

/// Takes the averages from the sums (`___update_load_avg()`, 7.3).
///
/// `load` is the weight of a task, whose `load_sum` does not contain it, and 1 for a run queue.
#[inline]
pub fn ___update_load_avg(sa: &mut SchedAvg, load: u64) {
    let divider = get_pelt_divider(sa);
    sa.load_avg = load.wrapping_mul(sa.load_sum) / u64::from(divider);
    sa.runnable_avg = sa.runnable_sum / u64::from(divider);
    sa.util_avg = u64::from(sa.util_sum / divider);
}

/// Ages a task that sleeps, up to `now` in ns of its run queue's PELT clock. Returns whether the averages were taken
/// (`__update_load_avg_blocked_se()`, 7.3).
#[inline]
pub fn __update_load_avg_blocked_se(now: u64, se: &mut SchedAvg, weight: u64) -> bool {
    let crossed = ___update_load_sum(now, se, 0, 0, false);
    if crossed {
        ___update_load_avg(se, weight);
    }
    crossed
}

/// Ages a task on its run queue, up to `now` in ns of that run queue's PELT clock. Returns whether the averages were
/// taken; if so `util_est` may be updated at the next dequeue (`__update_load_avg_se()`, 7.3).
#[inline(always)]
pub fn __update_load_avg_se(now: u64, se: &mut SchedAvg, entity: &EntityState) -> bool {
    let crossed = ___update_load_sum(now, se, u64::from(entity.on_rq), entity.se_runnable(), entity.curr);
    if crossed {
        ___update_load_avg(se, entity.weight);
        cfs_se_util_change(se);
    }
    crossed
}

/// Ages a run queue up to `now`, in ns of its PELT clock. Returns whether the averages were taken
/// (`__update_load_avg_cfs_rq()`, 7.3).
#[inline(always)]
pub fn __update_load_avg_cfs_rq(now: u64, avg: &mut SchedAvg, state: &CfsRqState) -> bool {
    let crossed = ___update_load_sum(now, avg, state.weight, u64::from(state.h_nr_runnable), state.curr);
    if crossed {
        ___update_load_avg(avg, 1);
    }
    crossed
}
