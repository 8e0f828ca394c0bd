//! Wake-ups with what statistics read of them, of recordings and simulated runs.

use super::run::recorded_llcs;
use super::source::{Tables, WAKEUPS};
use crate::error::ReadError;
use crate::limits::{LAST_CPU, MAX_COMM, MAX_PID, MAX_TIME};
use crate::table::reader::{Columns, Segments};
use std::path::Path;
use std::sync::Arc;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Reason, SearchCount, WakeFlags};

/// A wake-up, with what statistics read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When the decision began, ns.
    pub t_ns: u64,
    /// When the decision was made, ns; `t_ns` if that is not known.
    pub decided_ns: u64,
    /// The waking CPU.
    pub waker_cpu: Cpu,
    /// The task that was running there; 0 is the idle task.
    pub waker_pid: i64,
    /// The name of that task; empty if it is not known.
    pub waker_comm: Arc<str>,
    /// The wakee.
    pub wakee_pid: i64,
    /// The name of the wakee; empty if it is not known.
    pub wakee_comm: Arc<str>,
    /// Where the wakee ran last; `None` if it is not known.
    pub prev_cpu: Option<Cpu>,
    /// The CPU that it goes to.
    pub dest_cpu: Cpu,
    /// Whether there was a decision. There is none if the task was still queued, or may use one CPU only. `None` if it
    /// is not known, as of an import.
    pub chose: Option<bool>,
    /// Why the CPU was chosen; `None` if it is not known.
    pub reason: Option<Reason>,
    /// The cost of the search; `None` if it is not known.
    pub count: Option<SearchCount>,
    /// Whether the wakee is background noise of a simulated run.
    pub background: bool,
    /// Whether it is an exec, whose task is running and does not wait.
    pub exec: bool,
}

/// A stream of the wake-ups of Parquet files.
pub struct Wakes {
    rows: Segments,
    read: fn(&Columns) -> Result<Wake, ReadError>,
    llcs: Option<Arc<Vec<u32>>>,
}

const SIMULATED: &[&str] = &[
    "t_ns",
    "decided_ns",
    "waker_cpu",
    "waker_pid",
    "wakee_pid",
    "prev_cpu",
    "dest_cpu",
    "chosen_cpu",
    "reason",
    "sis_search",
    "sis_domain_search",
    "sis_scanned",
    "sis_failed",
    "background",
    "wake_flags",
];
const RECORDED: &[&str] = &[
    "t_ns",
    "waker_cpu",
    "waker_pid",
    "wakee_pid",
    "wakee_comm",
    "prev_cpu",
    "chosen_cpu",
    "waker_comm",
    "wake_flags",
];
const WAKINGS: &[&str] =
    &["t_ns", "waker_cpu", "waker_pid", "wakee_pid", "wakee_comm", "prev_cpu", "dest_cpu", "waker_comm"];

impl Wakes {
    /// Reads the wake-ups of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Wakes { rows: Segments::new(vec![folder.join(WAKEUPS)], "wakeups", SIMULATED), read: simulated, llcs: None }
    }

    /// Reads the wake-ups of a recording: its decisions, or, if there are none, the imported wake-ups.
    pub fn recorded(tables: &Tables) -> Self {
        if tables.decisions.is_empty() {
            Wakes { rows: Segments::new(tables.wakings.clone(), "wakings", WAKINGS), read: waking, llcs: None }
        } else {
            Wakes { rows: Segments::new(tables.decisions.clone(), "decisions", RECORDED), read: recorded, llcs: None }
        }
    }

    /// Reads the wake-ups of a recording that chose no CPU. There are none in imports, whose wake-ups are all in one
    /// table, and in recordings of decisions only.
    pub fn undecided(tables: &Tables) -> Self {
        let files = tables.undecided().to_vec();
        Wakes { rows: Segments::new(files, "wakings", WAKINGS), read: undecided, llcs: None }
    }

    /// The next wake-up; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_wake(&mut self) -> Result<Option<Wake>, ReadError> {
        let llcs = &mut self.llcs;
        self.rows.advance(|file| *llcs = recorded_llcs(file).map(Arc::new))?.map(self.read).transpose()
    }

    /// The share that has been read, 0 to 1. Every file counts the same.
    pub fn progress(&self) -> f64 {
        self.rows.progress()
    }

    /// By CPU: the number of its LLC, from the file of the last wake-up, because the machine may change within a
    /// recording. `None` if that file does not have it.
    pub fn llcs(&self) -> Option<&Arc<Vec<u32>>> {
        self.llcs.as_ref()
    }
}

pub(super) fn cpu(row: &Columns, column: usize) -> Result<Cpu, ReadError> {
    row.within(column, LAST_CPU).map(|cpu| cpu as Cpu)
}

pub(super) fn cpu_or(row: &Columns, column: usize) -> Result<Option<Cpu>, ReadError> {
    Ok(row.within_or_null(column, LAST_CPU)?.map(|cpu| cpu as Cpu))
}

pub(super) fn time(row: &Columns, column: usize) -> Result<u64, ReadError> {
    row.within(column, MAX_TIME)
}

pub(super) fn pid(row: &Columns, column: usize) -> Result<i64, ReadError> {
    row.within(column, MAX_PID).map(|pid| pid as i64)
}

fn exec(row: &Columns, column: usize) -> bool {
    row.long(column).is_some_and(|flags| flags & i64::from(WakeFlags::EXEC.bits()) != 0)
}

fn simulated(row: &Columns) -> Result<Wake, ReadError> {
    let chose = row.long(7).is_some();
    let count = |column| row.within(column, u64::from(u32::MAX)).map(|n| n as u32);
    Ok(Wake {
        t_ns: time(row, 0)?,
        decided_ns: time(row, 1)?,
        waker_cpu: cpu(row, 2)?,
        waker_pid: row.within_or_null(3, MAX_PID)?.unwrap_or(0) as i64,
        waker_comm: Arc::default(),
        wakee_pid: pid(row, 4)?,
        wakee_comm: Arc::default(),
        prev_cpu: cpu_or(row, 5)?,
        dest_cpu: cpu(row, 6)?,
        chose: Some(chose),
        reason: row.text(8).and_then(Reason::from_name),
        count: chose
            .then(|| {
                Ok(SearchCount {
                    search: count(9)?,
                    domain_search: count(10)?,
                    scanned: count(11)?,
                    failed: count(12)?,
                })
            })
            .transpose()?,
        background: row.long(13) == Some(1),
        exec: exec(row, 14),
    })
}

fn recorded(row: &Columns) -> Result<Wake, ReadError> {
    recorded_wake(row, Some(8))
}

fn recorded_wake(row: &Columns, flags: Option<usize>) -> Result<Wake, ReadError> {
    let t_ns = time(row, 0)?;
    Ok(Wake {
        t_ns,
        decided_ns: t_ns,
        waker_cpu: cpu(row, 1)?,
        waker_pid: pid(row, 2)?,
        waker_comm: row.short_text(7, MAX_COMM)?.into(),
        wakee_pid: pid(row, 3)?,
        wakee_comm: row.short_text(4, MAX_COMM)?.into(),
        prev_cpu: cpu_or(row, 5)?,
        dest_cpu: cpu(row, 6)?,
        chose: Some(true),
        reason: None,
        count: None,
        background: false,
        exec: flags.is_some_and(|column| exec(row, column)),
    })
}

fn waking(row: &Columns) -> Result<Wake, ReadError> {
    // The columns have the same indexes as those of decisions.
    Ok(Wake { chose: None, ..recorded_wake(row, None)? })
}

fn undecided(row: &Columns) -> Result<Wake, ReadError> {
    Ok(Wake { chose: Some(false), ..recorded_wake(row, None)? })
}
