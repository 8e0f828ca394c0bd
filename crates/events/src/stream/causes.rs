//! The causes for which tasks run, in recordings and simulated runs: wake-ups with their context, the beginnings and
//! ends of tasks, and transactions.

use super::source::{Tables, WAKEUPS};
use super::wakeups::{cpu, cpu_or, pid, time};
use crate::error::ReadError;
use crate::limits::{MAX_COMM, MAX_LABEL, MAX_PID};
use crate::table::reader::{Columns, Segments, if_present};
use std::path::Path;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::WakeFlags;

/// How a task is scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskAttributes {
    /// The nice value, -20 to 19; 0 if it is not known.
    pub nice: i8,
    /// `SCHED_*`; 0, normal, if it is not known.
    pub policy: u8,
    /// The CPUs that it may use, ascending; `None` if they are not known.
    pub affinity: Option<Vec<Cpu>>,
    /// Whether it is a kernel thread (`PF_KTHREAD`), as far as that is known.
    pub kernel_thread: bool,
}

/// The context in which a wake-up was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeContext {
    /// By the task that ran.
    Task,
    /// In an interrupt of a device or of a timer (`in_hardirq()`).
    Hardirq,
    /// In a softirq, or in an interrupt of a source that does not tell the two apart.
    Interrupt,
    /// The source does not have it.
    Unknown,
}

/// A wake-up, fork or exec with its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeCause {
    /// When it began, ns.
    pub t_ns: u64,
    /// When the CPU was chosen, ns; `t_ns` if that is not known.
    pub decided_ns: u64,
    /// The waking CPU.
    pub waker_cpu: Cpu,
    /// The task that ran there; `None` for the idle task, and for the shell that starts a simulated workload.
    pub waker_pid: Option<i64>,
    /// The name of that task; empty if it is not known.
    pub waker_comm: String,
    /// The wakee.
    pub wakee_pid: i64,
    /// The name of the wakee; empty if it is not known.
    pub wakee_comm: String,
    /// The CPU that it goes to.
    pub dest_cpu: Cpu,
    /// Where it ran last; `None` if that is not known, as of new tasks in other recorders' traces.
    pub prev_cpu: Option<Cpu>,
    /// `WF_*`; `None` if they are not known.
    pub flags: Option<WakeFlags>,
    /// The context.
    pub context: WakeContext,
    /// Whether the target CPU enqueues it, not the waker (`ttwu_queue_wakelist()`); `None` if that is not known.
    pub by_wakelist: Option<bool>,
    /// How the wakee is scheduled; `None` if it is not known.
    pub wakee: Option<TaskAttributes>,
}

impl WakeCause {
    /// Whether the wakee is a new task, as far as the wake-up has it.
    pub fn is_fork(&self) -> bool {
        self.flags.is_some_and(|flags| flags.contains(WakeFlags::FORK))
    }

    /// Whether it is an exec, whose task is running and does not wait.
    pub fn is_exec(&self) -> bool {
        self.flags.is_some_and(|flags| flags.contains(WakeFlags::EXEC))
    }

    /// Whether it has the sync hint.
    pub fn is_sync(&self) -> bool {
        self.flags.is_some_and(|flags| flags.contains(WakeFlags::SYNC))
    }
}

/// A stream of wake-ups with their contexts.
pub struct WakeCauses {
    rows: Segments,
    read: fn(&Columns) -> Result<WakeCause, ReadError>,
}

const SIMULATED: &[&str] = &[
    "t_ns",
    "decided_ns",
    "waker_cpu",
    "waker_pid",
    "wakee_pid",
    "dest_cpu",
    "prev_cpu",
    "wake_flags",
    "waker_in_task",
    "queued",
];
const RECORDED: &[&str] = &[
    "t_ns",
    "waker_cpu",
    "waker_pid",
    "wakee_pid",
    "wakee_comm",
    "chosen_cpu",
    "prev_cpu",
    "wake_flags",
    "in_task",
    "preempt_count",
    "wakee_static_prio",
    "wakee_policy",
    "affinity",
    "wakee_flags",
    "waker_comm",
];
const WAKINGS: &[&str] = &[
    "t_ns",
    "waker_cpu",
    "waker_pid",
    "wakee_pid",
    "wakee_comm",
    "dest_cpu",
    "prev_cpu",
    "waker_comm",
    "preempt_count",
    "wakee_static_prio",
    "wakee_policy",
    "wakee_flags",
    "wakee_nr_cpus_allowed",
];

/// `HARDIRQ_MASK` and `NMI_MASK` of `preempt_count()`, up to 7.2.
const HARDIRQS: i64 = 0x00ff_0000;
/// `SOFTIRQ_OFFSET` of `preempt_count()`: a softirq is being served.
const SOFTIRQ: i64 = 0x100;
/// `PF_KTHREAD`.
const PF_KTHREAD: i64 = 0x0020_0000;
/// The highest `SCHED_*`: SCHED_EXT.
const MAX_POLICY: u64 = 7;

impl WakeCauses {
    /// Reads the wake-ups of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        WakeCauses { rows: Segments::new(vec![folder.join(WAKEUPS)], "wakeups", SIMULATED), read: simulated }
    }

    /// Reads the wake-ups of a recording: its decisions, or, if there are none, the imported wake-ups.
    pub fn recorded(tables: &Tables) -> Self {
        if tables.decisions.is_empty() {
            WakeCauses { rows: Segments::new(tables.wakings.clone(), "wakings", WAKINGS), read: waking }
        } else {
            WakeCauses { rows: Segments::new(tables.decisions.clone(), "decisions", RECORDED), read: recorded }
        }
    }

    /// Reads the wake-ups of a recording that chose no CPU. There are none in imports, whose wake-ups are all in one
    /// table, and in recordings of decisions only.
    pub fn undecided(tables: &Tables) -> Self {
        WakeCauses { rows: Segments::new(tables.undecided().to_vec(), "wakings", WAKINGS), read: waking }
    }

    /// The next wake-up; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_wake(&mut self) -> Result<Option<WakeCause>, ReadError> {
        self.rows.advance(|_| {})?.map(self.read).transpose()
    }

    /// The share that has been read, 0 to 1. Every file counts the same.
    pub fn progress(&self) -> f64 {
        self.rows.progress()
    }
}

fn flags(row: &Columns, column: usize) -> Option<WakeFlags> {
    row.long(column).map(|bits| WakeFlags::from_bits_truncate(bits as u32))
}

fn simulated(row: &Columns) -> Result<WakeCause, ReadError> {
    let context = match row.long(8) {
        Some(0) => WakeContext::Interrupt,
        Some(_) => WakeContext::Task,
        None => WakeContext::Unknown,
    };
    Ok(WakeCause {
        t_ns: time(row, 0)?,
        decided_ns: time(row, 1)?,
        waker_cpu: cpu(row, 2)?,
        waker_pid: row.within_or_null(3, MAX_PID)?.map(|pid| pid as i64),
        waker_comm: String::new(),
        wakee_pid: pid(row, 4)?,
        wakee_comm: String::new(),
        dest_cpu: cpu(row, 5)?,
        prev_cpu: cpu_or(row, 6)?,
        flags: flags(row, 7),
        context,
        by_wakelist: row.text(9).map(|queued| matches!(queued, "wakelist" | "on-cpu")),
        wakee: None,
    })
}

fn recorded(row: &Columns) -> Result<WakeCause, ReadError> {
    let context = match (row.long(8), row.long(9)) {
        (Some(1), _) => WakeContext::Task,
        (Some(_), Some(count)) if count & HARDIRQS != 0 => WakeContext::Hardirq,
        (Some(_), _) => WakeContext::Interrupt,
        (None, _) => WakeContext::Unknown,
    };
    let t_ns = time(row, 0)?;
    Ok(WakeCause {
        t_ns,
        decided_ns: t_ns,
        waker_cpu: cpu(row, 1)?,
        waker_pid: Some(pid(row, 2)?).filter(|&pid| pid != 0),
        waker_comm: row.short_text(14, MAX_COMM)?.to_owned(),
        wakee_pid: pid(row, 3)?,
        wakee_comm: row.short_text(4, MAX_COMM)?.to_owned(),
        dest_cpu: cpu(row, 5)?,
        prev_cpu: cpu_or(row, 6)?,
        flags: flags(row, 7),
        context,
        by_wakelist: None,
        wakee: Some(TaskAttributes {
            nice: nice(row, 10)?,
            policy: row.within_or_null(11, MAX_POLICY)?.unwrap_or(0) as u8,
            affinity: row.cpus(12),
            kernel_thread: row.long(13).is_some_and(|flags| flags & PF_KTHREAD != 0),
        }),
    })
}

/// The nice value of a `static_prio`; 0 if it is not known, or that of another class.
fn nice(row: &Columns, column: usize) -> Result<i8, ReadError> {
    let prio = row.within_or_null(column, 139)?.unwrap_or(120);
    Ok(if prio >= 100 { (prio as i64 - 120) as i8 } else { 0 })
}

fn waking(row: &Columns) -> Result<WakeCause, ReadError> {
    let t_ns = time(row, 0)?;
    let context = match row.long(8) {
        None => WakeContext::Unknown,
        Some(count) if count & HARDIRQS != 0 => WakeContext::Hardirq,
        Some(count) if count & SOFTIRQ != 0 => WakeContext::Interrupt,
        Some(_) => WakeContext::Task,
    };
    let dest_cpu = cpu(row, 5)?;
    // A task that may use several CPUs has its affinity in its decisions.
    let wakee = match row.long(12) {
        Some(1) => Some(TaskAttributes {
            nice: nice(row, 9)?,
            policy: row.within_or_null(10, MAX_POLICY)?.unwrap_or(0) as u8,
            affinity: Some(vec![dest_cpu]),
            kernel_thread: row.long(11).is_some_and(|flags| flags & PF_KTHREAD != 0),
        }),
        _ => None,
    };
    Ok(WakeCause {
        t_ns,
        decided_ns: t_ns,
        waker_cpu: cpu(row, 1)?,
        waker_pid: Some(pid(row, 2)?).filter(|&pid| pid != 0),
        waker_comm: row.short_text(7, MAX_COMM)?.to_owned(),
        wakee_pid: pid(row, 3)?,
        wakee_comm: row.short_text(4, MAX_COMM)?.to_owned(),
        dest_cpu,
        prev_cpu: cpu_or(row, 6)?,
        flags: None,
        context,
        by_wakelist: None,
        wakee,
    })
}

/// A task of a simulated run that begins or exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLife {
    /// When, ns.
    pub t_ns: u64,
    /// The task.
    pub pid: i64,
    /// What begins; `None` if the task exits.
    pub begins: Option<TaskBegins>,
}

/// A task of a simulated run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskBegins {
    /// The task that forked it; `None` for those that the shell of the workload forks.
    pub parent_pid: Option<i64>,
    /// Its name.
    pub comm: String,
    /// Whether it is background noise.
    pub background: bool,
    /// How it is scheduled.
    pub attributes: TaskAttributes,
}

/// A stream of the beginnings and ends of tasks of a simulated run.
pub struct TaskLives(Segments);

impl TaskLives {
    /// Reads the folder of a run.
    pub fn simulated(folder: &Path) -> Self {
        let columns = &["t_ns", "pid", "what", "parent_pid", "comm", "background", "nice", "policy", "affinity"];
        TaskLives(Segments::new(if_present(folder, "tasks.parquet"), "tasks", columns))
    }

    /// The next beginning or end; `None` at the end of the table.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has a value out of range.
    pub fn next_life(&mut self) -> Result<Option<TaskLife>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let begins = match row.text(2) {
            Some("begins") => Some(TaskBegins {
                parent_pid: row.within_or_null(3, MAX_PID)?.map(|pid| pid as i64),
                comm: row.short_text(4, MAX_LABEL)?.to_owned(),
                background: row.long(5) == Some(1),
                attributes: TaskAttributes {
                    nice: row.difference(6, 20)?.clamp(-20, 19) as i8,
                    policy: row.within_or_null(7, MAX_POLICY)?.unwrap_or(0) as u8,
                    affinity: row.cpus(8),
                    kernel_thread: false,
                },
            }),
            _ => None,
        };
        Ok(Some(TaskLife { t_ns: time(row, 0)?, pid: pid(row, 1)?, begins }))
    }
}

/// Something that happened to a task of a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMoment {
    /// When, ns.
    pub t_ns: u64,
    /// The task.
    pub pid: i64,
}

/// A stream of moments of tasks of a simulated run.
pub struct TaskMoments(Segments);

impl TaskMoments {
    /// Reads when tasks completed transactions.
    pub fn transactions(folder: &Path) -> Self {
        TaskMoments::of(folder, "transactions")
    }

    /// Reads when all CPUs see tasks on their run queues.
    pub fn enqueues(folder: &Path) -> Self {
        TaskMoments::of(folder, "enqueues")
    }

    fn of(folder: &Path, table: &'static str) -> Self {
        TaskMoments(Segments::new(if_present(folder, &format!("{table}.parquet")), table, &["t_ns", "pid"]))
    }

    /// The next moment; `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has a value out of range.
    pub fn next_moment(&mut self) -> Result<Option<TaskMoment>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        Ok(Some(TaskMoment { t_ns: time(row, 0)?, pid: pid(row, 1)? }))
    }
}
