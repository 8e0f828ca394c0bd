//! The ranges of the kernel's fields. A value outside comes from a damaged file, and could make the sums of a decision
//! overflow.

use std::ops::RangeInclusive;

/// `PID_MAX_LIMIT`: no kernel has more tasks, on one CPU or on all.
pub(super) const MAX_TASKS: u32 = 1 << 22;
/// Counts of tasks on a CPU.
pub(super) const TASKS: RangeInclusive<u32> = 0..=MAX_TASKS;
/// Differences between two counts that were read one after the other.
pub(super) const TASKS_DIFFERENCE: RangeInclusive<i32> = -(MAX_TASKS as i32)..=MAX_TASKS as i32;
/// Process ids; 0 is the idle task.
pub(super) const PIDS: RangeInclusive<i64> = 0..=MAX_TASKS as i64;
/// Averages. The largest is a load: the weight 88761 (nice -20) of 2^22 tasks is below 2^39.
pub(super) const AVERAGES: RangeInclusive<u64> = 0..=1 << 40;
/// The capacity of a CPU: never 0, and at most 1024 on today's machines.
pub(super) const CAPACITIES: RangeInclusive<u64> = 1..=1 << 20;
/// `SCHED_NORMAL` to `SCHED_EXT`.
pub(super) const POLICIES: RangeInclusive<u32> = 0..=7;
/// `static_prio` of nice -20 to 19.
pub(super) const STATIC_PRIOS: RangeInclusive<u32> = 100..=139;
/// `NUMA_NO_NODE`, and nodes below the largest `MAX_NUMNODES`.
pub(super) const NODES: RangeInclusive<i64> = -1..=1023;
/// Exit latencies, us: an int in the kernel; -1 for none.
pub(super) const EXIT_LATENCIES: RangeInclusive<i64> = -1..=i32::MAX as i64;
/// `nr_idle_scan`: an int that is computed from two values that are not negative.
pub(super) const SCANS: RangeInclusive<i32> = 0..=i32::MAX;
/// `sd->imbalance_pct`: 110, 117 or 125 in every kernel, but debugfs can change it.
pub(super) const IMBALANCE_PCTS: RangeInclusive<u32> = 100..=1000;

/// `sgc->capacity` of a group of `weight` CPUs: the sum of their capacities.
pub(super) fn group_capacities(weight: u32) -> RangeInclusive<u64> {
    let weight = u64::from(weight);
    CAPACITIES.start() * weight..=CAPACITIES.end() * weight
}
