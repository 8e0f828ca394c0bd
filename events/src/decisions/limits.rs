//! What the kernel's fields can hold. A value outside of it comes from a damaged file, and the sums that a decision
//! makes of such values would no longer fit their types.

use std::ops::RangeInclusive;

/// `PID_MAX_LIMIT`: no kernel has more tasks, on one CPU or on all.
pub(super) const MAX_TASKS: u32 = 1 << 22;
/// Counts of tasks on a CPU.
pub(super) const TASKS: RangeInclusive<u32> = 0..=MAX_TASKS;
/// Differences of two counts that were read one after the other.
pub(super) const TASKS_DIFFERENCE: RangeInclusive<i32> = -(MAX_TASKS as i32)..=MAX_TASKS as i32;
/// Process ids; 0 is the idle task.
pub(super) const PIDS: RangeInclusive<i64> = 0..=MAX_TASKS as i64;
/// Averages. The largest is a load: 88761 (nice -20) for each of 2^22 tasks is below 2^39.
pub(super) const AVERAGES: RangeInclusive<u64> = 0..=1 << 40;
/// Capacity of one CPU: never 0, and 1024 on today's machines.
pub(super) const CAPACITIES: RangeInclusive<u64> = 1..=1 << 20;
/// `SCHED_NORMAL` to `SCHED_EXT`.
pub(super) const POLICIES: RangeInclusive<u32> = 0..=7;
/// Nice -20 to 19.
pub(super) const STATIC_PRIOS: RangeInclusive<u32> = 100..=139;
/// `NUMA_NO_NODE`, and nodes below the largest `MAX_NUMNODES`.
pub(super) const NODES: RangeInclusive<i64> = -1..=1023;
/// -1 for none, or microseconds; an int in the kernel.
pub(super) const EXIT_LATENCIES: RangeInclusive<i64> = -1..=i32::MAX as i64;
/// `nr_idle_scan`: an int that is computed from two that are not negative.
pub(super) const SCANS: RangeInclusive<i32> = 0..=i32::MAX;
/// `sd->imbalance_pct`: 110, 117 or 125 in every kernel. It can be written through debugfs.
pub(super) const IMBALANCE_PCTS: RangeInclusive<u32> = 100..=1000;

/// `sgc->capacity` of a group of so many CPUs: the sum of theirs.
pub(super) fn group_capacities(weight: u32) -> RangeInclusive<u64> {
    let weight = u64::from(weight);
    CAPACITIES.start() * weight..=CAPACITIES.end() * weight
}
