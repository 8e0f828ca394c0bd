//! `attach_entity_load_avg()` and `detach_entity_load_avg()`: a task's averages join and leave those of a run queue;
//! and the averages of a new task (`kernel/sched/fair.c`).
//!
//! ```text
//! attach:  cfs_rq->avg.X_avg += se->avg.X_avg,  cfs_rq->avg.X_sum += se->avg.X_sum      for X = util, runnable, load
//! detach:  both are subtracted, and the sum is adjusted to what is left of the average  by SumRule
//! ```
//!
//! `avg` and `sum` are rounded separately, so subtracting from both can leave a sum that is too small for its average.
//! The kernel versions differ in how they prevent that ([`SumRule`]).

use super::SCHED_CAPACITY_SHIFT;
use super::accumulate_sum::{PELT_MIN_DIVIDER, SchedAvg, get_pelt_divider};
use super::update_load_avg::CfsRqPelt;
use super::{InitWeight, SumRule};

/// Attaches a task that arrives with averages from another run queue (`attach_entity_load_avg()`, 7.3).
///
/// The task takes over the run queue's position in time, and its sums are recomputed for that position: averages
/// survive a migration, sums are rounded.
pub fn attach_entity_load_avg(cfs_rq: &mut CfsRqPelt, se: &mut SchedAvg, weight: u64) {
    let divider = get_pelt_divider(&cfs_rq.avg);
    se.last_update_time = cfs_rq.avg.last_update_time;
    se.period_contrib = cfs_rq.avg.period_contrib;

    se.util_sum = se.util_avg.wrapping_mul(u64::from(divider)) as u32;
    se.runnable_sum = se.runnable_avg.wrapping_mul(u64::from(divider));
    // load_avg = weight · load_sum / divider, solved for a load_sum of at least 1 (in 5.3 it may be 0)
    let load_sum = se.load_avg.wrapping_mul(u64::from(divider));
    se.load_sum = match cfs_rq.rules.sums {
        SumRule::Plain => load_sum / weight,
        _ if weight < load_sum => load_sum / weight,
        _ => 1,
    };

    enqueue_load_avg(cfs_rq, se, weight);
    let sa = &mut cfs_rq.avg;
    sa.util_avg = sa.util_avg.wrapping_add(se.util_avg);
    sa.util_sum = sa.util_sum.wrapping_add(se.util_sum);
    sa.runnable_avg = sa.runnable_avg.wrapping_add(se.runnable_avg);
    sa.runnable_sum = sa.runnable_sum.wrapping_add(se.runnable_sum);
}

/// Detaches a task's averages from its run queue (`detach_entity_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
///
/// Both must have been updated to the same time.
pub fn detach_entity_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    dequeue_load_avg(cfs_rq, se, weight);
    let divider = get_pelt_divider(&cfs_rq.avg);
    let sa = &mut cfs_rq.avg;
    let util_sum = u64::from(se.util_sum);
    match cfs_rq.rules.sums {
        SumRule::Plain => {
            sub_plain(&mut sa.util_avg, &mut sa.util_sum, se.util_avg, util_sum);
            sub_plain(&mut sa.runnable_avg, &mut sa.runnable_sum, se.runnable_avg, se.runnable_sum);
        }
        SumRule::Resync | SumRule::ResyncLoad => {
            sub_resync(&mut sa.util_avg, &mut sa.util_sum, se.util_avg, divider);
            sub_resync(&mut sa.runnable_avg, &mut sa.runnable_sum, se.runnable_avg, divider);
        }
        SumRule::Bound32 => {
            sub_bound32(&mut sa.util_avg, &mut sa.util_sum, se.util_avg, util_sum);
            sub_bound32(&mut sa.runnable_avg, &mut sa.runnable_sum, se.runnable_avg, se.runnable_sum);
        }
        SumRule::Bound => {
            let minus = u64::wrapping_neg;
            update_sa(&mut sa.util_avg, &mut sa.util_sum, minus(se.util_avg), minus(util_sum));
            update_sa(&mut sa.runnable_avg, &mut sa.runnable_sum, minus(se.runnable_avg), minus(se.runnable_sum));
        }
    }
}

/// Adds a task's load to its run queue's (`enqueue_load_avg()`, 7.3; before 7.2 plain additions).
pub fn enqueue_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    let sa = &mut cfs_rq.avg;
    let sum = weight.wrapping_mul(se.load_sum);
    match cfs_rq.rules.sums {
        SumRule::Plain | SumRule::Resync | SumRule::ResyncLoad | SumRule::Bound32 => {
            sa.load_avg = sa.load_avg.wrapping_add(se.load_avg);
            sa.load_sum = sa.load_sum.wrapping_add(sum);
        }
        SumRule::Bound => update_sa(&mut sa.load_avg, &mut sa.load_sum, se.load_avg, sum),
    }
}

/// Subtracts a task's load from its run queue's (`dequeue_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
pub fn dequeue_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    let sa = &mut cfs_rq.avg;
    let sum = weight.wrapping_mul(se.load_sum);
    match cfs_rq.rules.sums {
        SumRule::Plain | SumRule::Resync => {
            sa.load_avg = sa.load_avg.sub_positive(se.load_avg);
            sa.load_sum = sa.load_sum.sub_positive(sum);
        }
        SumRule::ResyncLoad => {
            sub_resync(&mut sa.load_avg, &mut sa.load_sum, se.load_avg, get_pelt_divider(se));
        }
        SumRule::Bound32 => sub_bound32(&mut sa.load_avg, &mut sa.load_sum, se.load_avg, sum),
        SumRule::Bound => {
            update_sa(&mut sa.load_avg, &mut sa.load_sum, se.load_avg.wrapping_neg(), sum.wrapping_neg());
        }
    }
}

/// Gives a task a new weight, and its run queue the load that follows from it (the PELT part of `reweight_entity()`,
/// 7.3; [`runqueue`](crate::runqueue) changes the queue's own weight and the task's position).
pub fn reweight_entity(cfs_rq: &mut CfsRqPelt, se: &mut SchedAvg, old_weight: u64, new_weight: u64) {
    if cfs_rq.rules.skip_same_weight && old_weight == new_weight {
        return;
    }
    retake_load_avg(cfs_rq, se, old_weight, new_weight);
}

/// Takes an entity's load anew by its weight. Of groups, whose weights are scaled down here, it may be the same.
pub fn retake_load_avg(cfs_rq: &mut CfsRqPelt, se: &mut SchedAvg, old_weight: u64, new_weight: u64) {
    dequeue_load_avg(cfs_rq, se, old_weight);
    se.load_avg = new_weight.wrapping_mul(se.load_sum) / u64::from(get_pelt_divider(se));
    enqueue_load_avg(cfs_rq, se, new_weight);
}

/// A new task's averages before it is placed (`init_entity_runnable_average()`, 7.3): a full load, so the task counts
/// as heavy until its behaviour is known.
pub fn init_entity_runnable_average(weight: u64) -> SchedAvg {
    SchedAvg { load_avg: weight, ..SchedAvg::default() }
}

/// Sets a new fair task's first utilisation, once its CPU is chosen (`post_init_entity_util_avg()`, 7.3):
///
/// ```text
/// util_avg = cfs_rq->util_avg / (cfs_rq->load_avg + 1) * weight,   at most (cpu_scale - cfs_rq->util_avg) / 2
/// ```
///
/// If the run queue has no utilisation, it is that upper bound. `cpu_scale` is the CPU's capacity, at most 1024. Of a
/// task of another class the kernel only sets `last_update_time`; the caller does that instead of calling this.
pub fn post_init_entity_util_avg(se: &mut SchedAvg, weight: u64, cfs_rq: &CfsRqPelt, cpu_scale: u64) {
    let rq = &cfs_rq.avg;
    let cap = cpu_scale.wrapping_sub(rq.util_avg) as i64 / 2;
    if cap > 0 {
        let cap = cap as u64;
        se.util_avg = if rq.util_avg != 0 {
            let weight = match cfs_rq.rules.init_weight {
                InitWeight::ScaledUp => weight << SCHED_CAPACITY_SHIFT,
                InitWeight::SeWeight => weight,
            };
            (rq.util_avg.wrapping_mul(weight) / (rq.load_avg + 1)).min(cap)
        } else {
            cap
        };
    }
    se.runnable_avg = se.util_avg;
}

/// The type of a sum: `util_sum` is a `u32`, the other sums are `u64`. The kernel's macros compute in the sum's own
/// type.
pub(super) trait Sum: Copy + Ord {
    /// The low bits of a 64-bit value, as a C assignment takes them.
    fn truncate(value: u64) -> Self;
    /// The low 32 bits.
    fn low32(self) -> u32;
    /// The difference, or 0 if it is negative (`sub_positive()`, 6.1).
    fn sub_positive(self, val: Self) -> Self;
    /// Adds a value taken as **signed**; 0 if the sum falls below 0 (`add_positive()`, 7.3).
    fn add_positive(self, val: Self) -> Self;
}

macro_rules! sum {
    ($unsigned:ty, $signed:ty) => {
        impl Sum for $unsigned {
            fn truncate(value: u64) -> Self {
                value as $unsigned
            }
            fn low32(self) -> u32 {
                self as u32
            }
            fn sub_positive(self, val: Self) -> Self {
                self.saturating_sub(val)
            }
            fn add_positive(self, val: Self) -> Self {
                let res = self.wrapping_add(val);
                if (val as $signed) < 0 && res > self { 0 } else { res }
            }
        }
    };
}
sum!(u32, i32);
sum!(u64, i64);

/// The least sum that can give this average: PELT_MIN_DIVIDER is the smallest divider.
fn lower_bound(avg: u64) -> u64 {
    avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER))
}

/// Subtracts from both (`detach_entity_load_avg()`, 5.3).
pub(super) fn sub_plain<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.sub_positive(d_avg);
    *sum = sum.sub_positive(S::truncate(d_sum));
}

/// Subtracts from both and raises the sum to its lower bound, compared as 32 bits (`update_cfs_rq_load_avg()`, 6.1).
pub(super) fn sub_bound32<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.sub_positive(d_avg);
    let left = sum.sub_positive(S::truncate(d_sum)).low32();
    *sum = S::truncate(u64::from(left.max(lower_bound(*avg) as u32)));
}

/// Adds (a negative value in two's complement) to both and raises the sum to its lower bound (`__update_sa()`, 7.3).
pub(super) fn update_sa<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.add_positive(d_avg);
    *sum = sum.add_positive(S::truncate(d_sum)).max(S::truncate(lower_bound(*avg)));
}

/// Subtracts from the average and recomputes the sum (`detach_entity_load_avg()`, 5.10).
pub(super) fn sub_resync<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, divider: u32) {
    *avg = avg.sub_positive(d_avg);
    *sum = S::truncate(avg.wrapping_mul(u64::from(divider)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound32_loses_the_upper_half_of_a_large_load_sum() {
        // Two nice -20 tasks: 2 · 88761 · 47742 is above 2^32.
        let (mut avg, mut sum) = (2 * 88761u64, 2 * 88761 * 47742u64);
        let whole = sum;
        sub_bound32(&mut avg, &mut sum, 0, 0);
        assert_eq!(sum, u64::from((whole as u32).max(lower_bound(avg) as u32)));
        assert!(sum < whole);
    }

    #[test]
    fn a_plain_sum_may_fall_below_what_its_average_needs() {
        let (mut avg, mut sum) = (10u64, 10 * PELT_MIN_DIVIDER);
        sub_plain(&mut avg, &mut sum, 4, u64::from(8 * PELT_MIN_DIVIDER));
        assert_eq!((avg, sum), (6, 2 * PELT_MIN_DIVIDER));
        sub_plain(&mut avg, &mut sum, 7, u64::from(7 * PELT_MIN_DIVIDER));
        assert_eq!((avg, sum), (0, 0));
    }

    #[test]
    fn a_sum_stays_at_what_its_average_needs() {
        let (mut avg, mut sum) = (10u64, 10 * PELT_MIN_DIVIDER);
        update_sa(&mut avg, &mut sum, 4u64.wrapping_neg(), u64::from(8 * PELT_MIN_DIVIDER).wrapping_neg());
        assert_eq!((avg, sum), (6, 6 * PELT_MIN_DIVIDER));
        update_sa(&mut avg, &mut sum, 7u64.wrapping_neg(), u64::from(7 * PELT_MIN_DIVIDER).wrapping_neg());
        assert_eq!((avg, sum), (0, 0));
    }
}
