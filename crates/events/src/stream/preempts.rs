//! Tasks that joined the queue of a running task: what the fair class read of the queue, and what it did.

use super::described_rows::{DescribedRow, DescribedRows};
use crate::decisions::{RowFeatures, TopoFile};
use crate::error::ReadError;
use crate::limits::{LAST_CPU, MAX_COMM, MAX_PID, MAX_TIME};
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::Policy;

/// A task of a recorded queue. Virtual times are ns that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedTask {
    /// The pid.
    pub pid: i64,
    /// Its policy.
    pub policy: Policy,
    /// -20 to 19.
    pub nice: i8,
    /// `on_rq`: false for a running task that is about to sleep.
    pub on_rq: bool,
    /// `sched_delayed`.
    pub sched_delayed: bool,
    /// `rel_deadline`.
    pub rel_deadline: bool,
    /// `custom_slice`.
    pub custom_slice: bool,
    /// The weight; 1024 is nice 0.
    pub weight: u64,
    /// `vruntime`.
    pub vruntime: u64,
    /// EEVDF: `deadline`.
    pub deadline: u64,
    /// EEVDF: `slice`, ns.
    pub slice: u64,
    /// EEVDF: `vlag`, ns.
    pub vlag: i64,
    /// EEVDF: `vprot`; 0 before 6.18.
    pub vprot: u64,
}

/// A task joined the queue of a running task. Each pair is before and after the function.
#[derive(Clone, Debug)]
pub struct WakeupPreempt {
    /// The number of the row in its file, from 1.
    pub line: u64,
    /// When, ns.
    pub t_ns: u64,
    /// The CPU of the queue.
    pub cpu: Cpu,
    /// Whether the row can be compared exactly.
    pub stable: bool,
    /// The features that were on.
    pub features: Arc<RowFeatures>,
    /// `WF_*`.
    pub wake_flags: u32,
    /// `in_task()` of the waking CPU.
    pub in_task: bool,
    /// The names of the running task and of the one that joined.
    pub comms: [String; 2],
    /// The pid of the task that joined.
    pub wakee_pid: i64,
    /// `rq_clock_task()`, ns.
    pub clock_task: u64,
    /// 1 `TIF_NEED_RESCHED_LAZY`, 2 `TIF_NEED_RESCHED`, 3 both.
    pub resched: (u8, u8),
    /// `sysctl_sched_base_slice`, `_migration_cost` and `_wakeup_granularity`, ns, and `sched_nr_latency`.
    pub tunables: [Option<u64>; 4],
    /// Queued tasks.
    pub nr_queued: (u32, u32),
    /// `zero_vruntime` of EEVDF, `min_vruntime` of CFS.
    pub virtual_time: (u64, u64),
    /// EEVDF: `sum_w_vruntime` and `sum_weight`.
    pub sums: Option<(i64, i64)>,
    /// EEVDF: `sum_shift`, 0 to 10.
    pub sum_shift: u32,
    /// The pid of the next buddy; 0 for none.
    pub next_pid: (i64, i64),
    /// CFS: that of the last buddy.
    pub last_pid: (i64, i64),
    /// `exec_start` of the running task, ns.
    pub exec_start: u64,
    /// The running task after the function: `vruntime`, `deadline`, `slice`, and `vprot` (before 6.18 `vlag`).
    pub curr_after: [u64; 4],
    /// The running task, then those that wait, in the order of the tree.
    pub tasks: Vec<QueuedTask>,
}

/// A stream of wake-up preemptions of a recording.
pub struct WakeupPreempts {
    rows: DescribedRows,
}

const COLUMNS: &[&str] = &[
    "t_ns",
    "cpu",
    "stable",
    "features",
    "wake_flags",
    "in_task",
    "curr_comm",
    "wakee_comm",
    "wakee_pid",
    "clock_task",
    "resched",
    "resched_after",
    "base_slice",
    "migration_cost",
    "wakeup_granularity",
    "nr_latency",
    "nr_queued",
    "nr_queued_after",
    "virtual_time",
    "virtual_time_after",
    "sum_w_vruntime",
    "sum_weight",
    "sum_shift",
    "next_pid",
    "next_pid_after",
    "last_pid",
    "last_pid_after",
    "curr_exec_start",
    "curr_vruntime_after",
    "curr_deadline_after",
    "curr_slice_after",
    "curr_protection_after",
    "task_pid",
    "task_policy",
    "task_static_prio",
    "task_flags",
    "task_weight",
    "task_vruntime",
    "task_deadline",
    "task_slice",
    "task_vlag",
    "task_vprot",
];
/// The column of the features.
const FEATURES: usize = 3;
/// The first column of those by task.
const TASK_COLUMNS: usize = 32;
/// The most tasks of a queue: a recorder takes the running one and 63 that wait.
const MOST_TASKS: usize = 64;
/// Weights: nice -20 has 88761.
const MAX_WEIGHT: i64 = 88761;
/// `sum_shift` takes bits of ten at most.
const MAX_SHIFT: u64 = 10;

impl WakeupPreempts {
    /// Reads these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        WakeupPreempts { rows: DescribedRows::new(files, "preempts", COLUMNS, FEATURES) }
    }

    /// The share that has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.rows.progress()
    }

    /// The next row, with the machine and kernel of its file; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, describes no machine, or has a value out of range.
    pub fn next_preempt(&mut self) -> Result<Option<(WakeupPreempt, Arc<TopoFile>)>, ReadError> {
        let Some(DescribedRow { row, topo, features }) = self.rows.advance()? else { return Ok(None) };
        let wraps = |column| row.long(column).unwrap_or(0) as u64;
        let pid = |column| row.within(column, MAX_PID).map(|pid| pid as i64);
        let pids = |column| Ok((pid(column)?, pid(column + 1)?));
        let count = |column| row.within(column, MAX_PID).map(|count| count as u32);
        let tunable = |column| row.within_or_null(column, u32::MAX.into());
        let tasks = tasks_of(&|column| row.numbers(column))
            .map_err(|(column, what)| row.error(column, format!("expected {what}")))?;
        let preempt = WakeupPreempt {
            line: row.row(),
            t_ns: row.within(0, MAX_TIME)?,
            cpu: row.within(1, LAST_CPU)? as Cpu,
            stable: row.long(2) == Some(1),
            features: Arc::clone(features),
            wake_flags: row.within(4, u32::MAX.into())? as u32,
            in_task: row.long(5) == Some(1),
            comms: [row.short_text(6, MAX_COMM)?.to_owned(), row.short_text(7, MAX_COMM)?.to_owned()],
            wakee_pid: pid(8)?,
            clock_task: row.within(9, MAX_TIME)?,
            resched: (row.within(10, 3)? as u8, row.within(11, 3)? as u8),
            tunables: [tunable(12)?, tunable(13)?, tunable(14)?, tunable(15)?],
            nr_queued: (count(16)?, count(17)?),
            virtual_time: (wraps(18), wraps(19)),
            sums: row.long(20).zip(row.long(21)),
            sum_shift: row.within(22, MAX_SHIFT)? as u32,
            next_pid: pids(23)?,
            last_pid: pids(25)?,
            exec_start: row.within(27, MAX_TIME)?,
            curr_after: [wraps(28), wraps(29), wraps(30), wraps(31)],
            tasks,
        };
        Ok(Some((preempt, Arc::clone(topo))))
    }
}

/// The tasks of a row. The error has the column and what was expected there.
fn tasks_of(numbers: &dyn Fn(usize) -> Option<Vec<i64>>) -> Result<Vec<QueuedTask>, (usize, &'static str)> {
    let mut columns: [Vec<i64>; 10] = Default::default();
    for (at, list) in columns.iter_mut().enumerate() {
        *list = numbers(TASK_COLUMNS + at).ok_or((TASK_COLUMNS + at, "a list of numbers"))?;
    }
    let most = columns[0].len();
    if !(1..=MOST_TASKS).contains(&most) {
        return Err((TASK_COLUMNS, "1 to 64 tasks"));
    }
    if let Some(at) = columns.iter().position(|list| list.len() != most) {
        return Err((TASK_COLUMNS + at, "as many values as tasks"));
    }
    (0..most).map(|at| task_of(&columns.each_ref().map(|list| list[at]))).collect()
}

fn task_of(values: &[i64; 10]) -> Result<QueuedTask, (usize, &'static str)> {
    let [pid, policy, static_prio, flags, weight, vruntime, deadline, slice, vlag, vprot] = *values;
    let policy = match policy {
        0 => Policy::Normal,
        3 => Policy::Batch,
        5 => Policy::Idle,
        _ => return Err((TASK_COLUMNS + 1, "0, 3 or 5, the policies of the fair class")),
    };
    if !(100..=139).contains(&static_prio) {
        return Err((TASK_COLUMNS + 2, "a number from 100 to 139"));
    }
    if !(1..=MAX_WEIGHT).contains(&weight) {
        return Err((TASK_COLUMNS + 4, "a weight from 1 to 88761"));
    }
    let flag = |bit: u32| flags >> bit & 1 != 0;
    Ok(QueuedTask {
        pid,
        policy,
        nice: (static_prio - 120) as i8,
        on_rq: flag(0),
        sched_delayed: flag(1),
        rel_deadline: flag(2),
        custom_slice: flag(3),
        weight: weight as u64,
        vruntime: vruntime as u64,
        deadline: deadline as u64,
        slice: slice as u64,
        vlag,
        vprot: vprot as u64,
    })
}
