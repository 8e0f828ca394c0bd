//! Wake-ups with what statistics read of them, of recordings and simulated runs.

use super::run::recorded_llcs;
use super::source::{Tables, WAKEUPS};
use crate::error::ReadError;
use crate::table::reader::{Columns, Segments};
use std::path::Path;
use std::sync::Arc;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Reason, SearchCount, WakeFlags};

/// The highest CPU number that a file may name.
const LAST_CPU: u64 = wakelab_sched::domain::MAX_CPUS as u64 - 1;

/// A wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When the choice of a CPU began, ns.
    pub t_ns: u64,
    /// When it was made, ns; `t_ns` where that is not known.
    pub decided_ns: u64,
    /// The waking CPU.
    pub waker_cpu: Cpu,
    /// Who ran there; 0 is the idle task.
    pub waker_pid: i64,
    /// Its name; empty where the file has none.
    pub waker_comm: Arc<str>,
    /// Who is woken.
    pub wakee_pid: i64,
    /// Its name; empty where the file has none.
    pub wakee_comm: Arc<str>,
    /// Where it ran last, if the file knows.
    pub prev_cpu: Option<Cpu>,
    /// Where it goes.
    pub dest_cpu: Cpu,
    /// Whether the scheduler chose that CPU: not where the task was queued still, or may use one CPU only.
    pub chose: bool,
    /// Why, where the file says.
    pub reason: Option<Reason>,
    /// What its search cost, where the file says.
    pub count: Option<SearchCount>,
    /// It is background noise of a simulation.
    pub background: bool,
    /// It is an exec: the task ran before and does not wait to run.
    pub exec: bool,
}

/// Wake-ups of Parquet files, one after the other.
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
    /// Those of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Wakes { rows: Segments::new(vec![folder.join(WAKEUPS)], "wakeups", SIMULATED), read: simulated, llcs: None }
    }

    /// Those of a recording, without their inputs: decisions, or what another recorder saw where there are none.
    pub fn recorded(tables: &Tables) -> Self {
        if tables.decisions.is_empty() {
            Wakes { rows: Segments::new(tables.wakings.clone(), "wakings", WAKINGS), read: waking, llcs: None }
        } else {
            Wakes { rows: Segments::new(tables.decisions.clone(), "decisions", RECORDED), read: recorded, llcs: None }
        }
    }

    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// Where a file cannot be read, or holds what cannot be.
    pub fn next_wake(&mut self) -> Result<Option<Wake>, ReadError> {
        let llcs = &mut self.llcs;
        self.rows.advance(|file| *llcs = recorded_llcs(file).map(Arc::new))?.map(self.read).transpose()
    }

    /// How much has been read, 0 to 1.
    pub fn progress(&self) -> f64 {
        self.rows.progress()
    }

    /// By CPU the number of its last-level cache, as the file of the last wake-up has it: the machine may change in a
    /// recording. `None` where that file does not tell.
    pub fn llcs(&self) -> Option<&Arc<Vec<u32>>> {
        self.llcs.as_ref()
    }
}

fn cpu(row: &Columns, column: usize) -> Result<Cpu, ReadError> {
    row.within(column, LAST_CPU).map(|cpu| cpu as Cpu)
}

fn cpu_or(row: &Columns, column: usize) -> Result<Option<Cpu>, ReadError> {
    if row.long(column).is_none() { Ok(None) } else { cpu(row, column).map(Some) }
}

fn time(row: &Columns, column: usize) -> Result<u64, ReadError> {
    row.within(column, i64::MAX as u64)
}

fn pid(row: &Columns, column: usize) -> Result<i64, ReadError> {
    row.within(column, u64::from(u32::MAX)).map(|pid| pid as i64)
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
        waker_pid: row.long(3).unwrap_or(0),
        waker_comm: Arc::default(),
        wakee_pid: pid(row, 4)?,
        wakee_comm: Arc::default(),
        prev_cpu: cpu_or(row, 5)?,
        dest_cpu: cpu(row, 6)?,
        chose,
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
    of_recorder(row, Some(8))
}

fn of_recorder(row: &Columns, flags: Option<usize>) -> Result<Wake, ReadError> {
    let t_ns = time(row, 0)?;
    Ok(Wake {
        t_ns,
        decided_ns: t_ns,
        waker_cpu: cpu(row, 1)?,
        waker_pid: pid(row, 2)?,
        waker_comm: row.text(7).unwrap_or_default().into(),
        wakee_pid: pid(row, 3)?,
        wakee_comm: row.text(4).unwrap_or_default().into(),
        prev_cpu: cpu_or(row, 5)?,
        dest_cpu: cpu(row, 6)?,
        chose: true,
        reason: None,
        count: None,
        background: false,
        exec: flags.is_some_and(|column| exec(row, column)),
    })
}

fn waking(row: &Columns) -> Result<Wake, ReadError> {
    // The same columns at the same places; whether there was a choice is not to be seen.
    of_recorder(row, None)
}
