//! The ranges of the kernel's fields, for every format and table. A value outside comes from a damaged file, and could
//! make the sums of a decision or of statistics overflow. docs/formats.md has them.

use std::ops::RangeInclusive;
pub use wakelab_sched::domain::MAX_CPUS;

/// Times since boot, ns, and counts of jiffies: 146 years. The real-time clock, which an import may have, fits, too.
pub const MAX_TIME: u64 = 1 << 62;
/// The number of the last CPU.
pub const LAST_CPU: u64 = MAX_CPUS as u64 - 1;
/// Lengths of time, ns: 13 days. The sum of a time and a length, and that of many lengths, fits into 64 bits.
pub(crate) const MAX_LENGTH: u64 = 1 << 50;
/// The longest name of a task, bytes. `TASK_COMM_LEN` is 16; the names of kworkers have up to 63 bytes
/// (`WQ_NAME_LEN`), and bytes that are not UTF-8 become three each as a recorder writes them.
pub const MAX_COMM: usize = 63;
/// The longest name of a load or a variant, bytes.
pub(crate) const MAX_LABEL: usize = 1 << 10;
/// The longest text of a `features` file, bytes. Kernels have some 30 features of at most 30 letters.
pub(crate) const MAX_FEATURES: usize = 1 << 14;
/// `nr_idle_scan`, with room to add to it.
pub(crate) const MAX_SCAN: u64 = 1 << 30;
/// Sums of the utilization of an LLC, in which a CPU has 1024; and power, uW.
pub(crate) const MAX_SUM: u64 = 1 << 40;
/// Frequencies, kHz: an unsigned int in the kernel.
pub const MAX_KHZ: u64 = u32::MAX as u64;
/// Numbers of idle states. A CPU has at most `CPUIDLE_STATE_MAX` (10) of them.
pub const MAX_IDLE_STATE: u64 = u8::MAX as u64;
/// Pids of the tables beside decisions, which have the numbers of simulated tasks, too.
pub(crate) const MAX_PID: u64 = i32::MAX as u64;

/// Times, ns or jiffies.
pub(crate) const TIMES: RangeInclusive<u64> = 0..=MAX_TIME;
/// Lengths of time, ns.
pub(crate) const LENGTHS: RangeInclusive<u64> = 0..=MAX_LENGTH;
/// Numbers of rows.
pub(crate) const ROWS: RangeInclusive<u64> = 0..=MAX_LENGTH;
/// A bit for each level of domains, of which no machine has more than this.
pub(crate) const LEVELS: RangeInclusive<u64> = 0..=(1 << 16) - 1;
/// `PID_MAX_LIMIT`: no kernel has more tasks, on one CPU or on all.
pub(crate) const MAX_TASKS: u32 = 1 << 22;
/// Counts of tasks on a CPU.
pub(crate) const TASKS: RangeInclusive<u32> = 0..=MAX_TASKS;
/// Differences between two counts that were read one after the other.
pub(crate) const TASKS_DIFFERENCE: RangeInclusive<i32> = -(MAX_TASKS as i32)..=MAX_TASKS as i32;
/// Process ids; 0 is the idle task.
pub(crate) const PIDS: RangeInclusive<i64> = 0..=MAX_TASKS as i64;
/// Averages. The largest is a load: the weight 88761 (nice -20) of 2^22 tasks is below 2^39.
pub(crate) const AVERAGES: RangeInclusive<u64> = 0..=1 << 40;
/// The capacity of a CPU: never 0, and at most 1024 on today's machines.
pub(crate) const CAPACITIES: RangeInclusive<u64> = 1..=1 << 20;
/// `SCHED_NORMAL` to `SCHED_EXT`.
pub(crate) const POLICIES: RangeInclusive<u32> = 0..=7;
/// `static_prio` of nice -20 to 19.
pub(crate) const STATIC_PRIOS: RangeInclusive<u32> = 100..=139;
/// `NUMA_NO_NODE`, and nodes below the largest `MAX_NUMNODES`.
pub(crate) const NODES: RangeInclusive<i64> = -1..=1023;
/// Exit latencies, us: an int in the kernel; -1 for none.
pub(crate) const EXIT_LATENCIES: RangeInclusive<i64> = -1..=i32::MAX as i64;
/// `nr_idle_scan`: at most one more than the CPUs of the LLC in every kernel; a multiple of that is left for patches.
pub(crate) const SCANS: RangeInclusive<i32> = 0..=MAX_SCAN as i32;
/// `sd->imbalance_pct`: 110, 117 or 125 in every kernel, but debugfs can change it.
pub(crate) const IMBALANCE_PCTS: RangeInclusive<u32> = 100..=1000;

/// `sgc->capacity` of any group; 0 if there is no domain at its level.
pub(crate) const GROUP_CAPACITIES: RangeInclusive<u64> = 0..=*CAPACITIES.end() * MAX_CPUS as u64;

/// `sgc->capacity` of a group of `weight` CPUs: the sum of their capacities.
pub(crate) fn group_capacities(weight: u32) -> RangeInclusive<u64> {
    let weight = u64::from(weight);
    CAPACITIES.start() * weight..=CAPACITIES.end() * weight
}

/// The most values of a list column in a row group, of which `RecordingWriter` begins a new one before.
pub(crate) const MOST_LIST_VALUES: u64 = 1 << 27;
