//! Adding time to the sums.

use super::SCHED_CAPACITY_SHIFT;
use super::avg::SchedAvg;
use super::decay::{LOAD_AVG_MAX, decay_load};

/// Length of a period in µs (of 1024 ns).
const PERIOD: u64 = 1024;

/// What a signal that was 1 throughout contributes, in µs, over a span that crosses `periods` ≥ 1 period boundaries
/// (`__accumulate_pelt_segments()`, 7.3).
///
/// `d1` is the rest of the period the span begins in, `d3` the part of the period it ends in, both in µs.
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

/// Adds `delta` µs to the sums, returns the number of period boundaries crossed (`accumulate_sum()`, 7.3).
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

/// Accounts the time up to `now` (ns of the PELT clock), during which `load`, `runnable` and `running` held. Returns
/// whether a period boundary was crossed, so that the averages are due (`___update_load_sum()`, 7.3).
#[inline]
pub fn ___update_load_sum(now: u64, sa: &mut SchedAvg, load: u64, runnable: u64, running: bool) -> bool {
    let delta = now.wrapping_sub(sa.last_update_time);
    if (delta as i64) < 0 {
        sa.last_update_time = now;
        return false;
    }

    // What is left below 1024 ns stays for the next update.
    let delta = delta >> 10;
    if delta == 0 {
        return false;
    }
    sa.last_update_time = sa.last_update_time.wrapping_add(delta << 10);

    // A current task that is off the queue already still looks running; without load it must not count.
    let (runnable, running) = if load == 0 { (0, false) } else { (runnable, running) };
    accumulate_sum(delta, sa, load, runnable, running) != 0
}
