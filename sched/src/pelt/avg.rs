//! The averages of an entity or a run queue.

use super::decay::LOAD_AVG_MAX;

/// The smallest value that [`get_pelt_divider`] takes, in µs: LOAD_AVG_MAX · y (`PELT_MIN_DIVIDER`, 7.3).
pub const PELT_MIN_DIVIDER: u32 = LOAD_AVG_MAX - 1024;

/// The PELT state of a task or of a run queue (`struct sched_avg`, `include/linux/sched.h`, 7.3).
///
/// The sums are in µs (of 1024 ns) times the signal's own unit:
///
/// | signal | a task's sum | a run queue's sum |
/// |---|---|---|
/// | load | time on the queue | ... times weight, summed |
/// | runnable | time on the queue · 1024 | ... times the number of runnable tasks |
/// | util | running time · 1024 | the same |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SchedAvg {
    /// Up to where time is accounted, in ns of the run queue's PELT clock; 0 for a task that is attached to no run
    /// queue.
    pub last_update_time: u64,
    /// Sum of load: of a task at most [`LOAD_AVG_MAX`], of a run queue that times its weight.
    pub load_sum: u64,
    /// Sum of runnable time, at most `LOAD_AVG_MAX << 10` per task.
    pub runnable_sum: u64,
    /// Sum of running time, at most `LOAD_AVG_MAX << 10` where nothing was attached.
    pub util_sum: u32,
    /// Time already accounted of the current period, in µs: below 1024.
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
    /// The moving average beside it: `util_est.ewma` in 5.10 and 6.1, always 0 in later kernels.
    pub util_est_ewma: u32,
}

/// What a signal that is always 1 has as its sum at this place in the period, in µs (`get_pelt_divider()`, 7.3).
///
/// The part of the period that is still to come must not count as idle, so the divider grows with `period_contrib`
/// from LOAD_AVG_MAX · y = LOAD_AVG_MAX - 1024.
#[inline]
pub fn get_pelt_divider(sa: &SchedAvg) -> u32 {
    PELT_MIN_DIVIDER.wrapping_add(sa.period_contrib)
}

/// Takes the averages from the sums (`___update_load_avg()`, 7.3).
///
/// `load` is the weight of a task, whose `load_sum` is free of it, and 1 for a run queue.
#[inline]
pub fn ___update_load_avg(sa: &mut SchedAvg, load: u64) {
    let divider = get_pelt_divider(sa);
    sa.load_avg = load.wrapping_mul(sa.load_sum) / u64::from(divider);
    sa.runnable_avg = sa.runnable_sum / u64::from(divider);
    sa.util_avg = u64::from(sa.util_sum / divider);
}
