//! A task's averages joining and leaving a run queue's.

use super::avg::{SchedAvg, get_pelt_divider};
use super::cfs_rq::CfsRqPelt;
use super::rules::SumRule;
use super::sums::{Sum, sub_bound32, sub_plain, sub_resync, update_sa};

/// Adds a task's load to its run queue's (`enqueue_load_avg()`, 7.3; before 7.2 plain additions).
pub fn enqueue_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    let sa = &mut cfs_rq.avg;
    let sum = weight.wrapping_mul(se.load_sum);
    match cfs_rq.rules.sums {
        SumRule::Plain | SumRule::Resync | SumRule::Bound32 => {
            sa.load_avg = sa.load_avg.wrapping_add(se.load_avg);
            sa.load_sum = sa.load_sum.wrapping_add(sum);
        }
        SumRule::Bound => update_sa(&mut sa.load_avg, &mut sa.load_sum, se.load_avg, sum),
    }
}

/// Takes a task's load off its run queue's (`dequeue_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
pub fn dequeue_load_avg(cfs_rq: &mut CfsRqPelt, se: &SchedAvg, weight: u64) {
    let sa = &mut cfs_rq.avg;
    let sum = weight.wrapping_mul(se.load_sum);
    match cfs_rq.rules.sums {
        SumRule::Plain | SumRule::Resync => {
            sa.load_avg = sa.load_avg.sub_positive(se.load_avg);
            sa.load_sum = sa.load_sum.sub_positive(sum);
        }
        SumRule::Bound32 => sub_bound32(&mut sa.load_avg, &mut sa.load_sum, se.load_avg, sum),
        SumRule::Bound => {
            update_sa(&mut sa.load_avg, &mut sa.load_sum, se.load_avg.wrapping_neg(), sum.wrapping_neg());
        }
    }
}

/// Attaches a task that arrives with averages from elsewhere (`attach_entity_load_avg()`, 7.3).
///
/// The task takes over the run queue's place in time, and its sums are recomputed for that place: averages survive a
/// migration, sums are rounded.
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

/// Takes a task's averages off its run queue's (`detach_entity_load_avg()`, 7.3; 5.10 and 6.1 by [`SumRule`]).
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
        SumRule::Resync => {
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

/// Gives a task a new weight and its run queue the load that follows (`reweight_entity()`, 7.3: the PELT part; the
/// queue's own weight and the task's place in it are the run queue's business).
pub fn reweight_entity(cfs_rq: &mut CfsRqPelt, se: &mut SchedAvg, old_weight: u64, new_weight: u64) {
    if cfs_rq.rules.skip_same_weight && old_weight == new_weight {
        return;
    }
    dequeue_load_avg(cfs_rq, se, old_weight);
    se.load_avg = new_weight.wrapping_mul(se.load_sum) / u64::from(get_pelt_divider(se));
    enqueue_load_avg(cfs_rq, se, new_weight);
}
