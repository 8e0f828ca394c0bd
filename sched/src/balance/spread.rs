//! How uneven tasks are spread over two groups.

use super::facts::LbFacts;
use super::forms::{NumaImbalance, SiblingImbalance};
use super::stats::SgLbStats;

/// `NUMA_IMBALANCE_MIN`: a pair of tasks that talk to each other may stay together.
const NUMA_IMBALANCE_MIN: i32 = 2;

/// `adjust_numa_imbalance()` on an imbalance in tasks: a lightly loaded node need not take over a pair of tasks. The
/// kernel's arguments are ints.
pub(super) fn adjust_numa_imbalance(
    facts: &LbFacts<'_>,
    imbalance: i64,
    local: &SgLbStats,
    busiest: &SgLbStats,
) -> i64 {
    let imbalance = imbalance as i32;
    let tolerated = match facts.rules.numa_imbalance {
        NumaImbalance::BusiestPair => busiest.sum_nr_running as i32 <= NUMA_IMBALANCE_MIN,
        NumaImbalance::ImbNumaNr => {
            let dst_running = local.sum_nr_running.wrapping_add(1) as i32;
            dst_running <= facts.imb_numa_nr as i32 && imbalance <= NUMA_IMBALANCE_MIN
        }
    };
    if tolerated { 0 } else { i64::from(imbalance) }
}

/// `sibling_imbalance()`, in 6.1 the difference itself: how many tasks more the busiest group has.
pub(super) fn sibling_imbalance(facts: &LbFacts<'_>, busiest: &SgLbStats, local: &SgLbStats) -> i64 {
    let (theirs, ours) = (i64::from(busiest.sum_nr_running), i64::from(local.sum_nr_running));
    if facts.rules.sibling_imbalance == SiblingImbalance::Tasks {
        return (theirs - ours).max(0);
    }
    if !facts.idles() || theirs == 0 {
        return 0;
    }
    let (their_cores, our_cores) = (i64::from(busiest.cores), i64::from(local.cores));
    if their_cores == our_cores {
        return (theirs - ours).max(0);
    }
    // As many tasks for each core on both sides, rounded.
    let uneven = (our_cores * theirs - their_cores * ours).max(0);
    let cores = our_cores + their_cores;
    let tasks = (2 * uneven + cores) / cores;
    // An empty group takes one of two in any case.
    if tasks <= 1 && ours == 0 && theirs > 1 { 2 } else { tasks }
}
