//! Context switches and migrations, of recordings and simulated runs, and the names of tasks of imports.

use crate::error::ReadError;
use crate::limits::{LAST_CPU, MAX_COMM, MAX_PID, MAX_TIME};
use crate::table::reader::{Segments, if_present};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_sched::cpumask::Cpu;

/// A context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// When, ns.
    pub t_ns: u64,
    /// The CPU.
    pub cpu: Cpu,
    /// The task that ran; 0 for the idle task, and in a simulated run also if load balancing had taken the running
    /// task.
    pub prev_pid: i64,
    /// Whether it sleeps or has exited; otherwise it was preempted.
    pub prev_sleeps: bool,
    /// The task that runs now; 0 for the idle task, but in a simulated run also the number of the first task.
    pub next_pid: i64,
    /// Whether the idle task runs now.
    pub idles: bool,
}

/// A migration: a task changed its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// When, ns.
    pub t_ns: u64,
    /// The task.
    pub pid: i64,
    /// The CPU that it leaves.
    pub from_cpu: Cpu,
    /// The CPU that it goes to.
    pub to_cpu: Cpu,
}

/// A stream of context switches.
pub struct Switches {
    rows: Segments,
    simulated: bool,
}

/// A stream of migrations.
pub struct Migrations(Segments);

impl Switches {
    /// Reads these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        let columns = &["t_ns", "cpu", "prev_pid", "prev_sleeps", "next_pid"];
        Switches { rows: Segments::new(files, "switches", columns), simulated: false }
    }

    /// Reads the folder of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Switches { simulated: true, ..Switches::new(if_present(folder, "switches.parquet")) }
    }

    /// The next switch; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_switch(&mut self) -> Result<Option<Switch>, ReadError> {
        let Some(row) = self.rows.advance(|_| {})? else { return Ok(None) };
        Ok(Some(Switch {
            t_ns: row.within(0, MAX_TIME)?,
            cpu: row.within(1, LAST_CPU)? as Cpu,
            prev_pid: row.within_or_null(2, MAX_PID)?.unwrap_or(0) as i64,
            prev_sleeps: row.long(3) == Some(1),
            next_pid: row.within_or_null(4, MAX_PID)?.unwrap_or(0) as i64,
            idles: row.long(4).is_none_or(|pid| pid == 0 && !self.simulated),
        }))
    }
}

impl Migrations {
    /// Reads these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Migrations(Segments::new(files, "migrations", &["t_ns", "pid", "from_cpu", "to_cpu"]))
    }

    /// Reads the folder of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Migrations::new(if_present(folder, "migrations.parquet"))
    }

    /// The next migration; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_migration(&mut self) -> Result<Option<Migration>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let pid = row.within_or_null(1, MAX_PID)?.unwrap_or(0) as i64;
        let cpu = |column| row.within(column, LAST_CPU).map(|cpu| cpu as Cpu);
        Ok(Some(Migration { t_ns: row.within(0, MAX_TIME)?, pid, from_cpu: cpu(2)?, to_cpu: cpu(3)? }))
    }
}

/// The name of a task from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// Since when, ns.
    pub t_ns: u64,
    /// The task.
    pub pid: i64,
    /// Its name.
    pub comm: Arc<str>,
}

/// A stream of the names of tasks, of an import.
pub struct Names(Segments);

impl Names {
    /// Reads these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Names(Segments::new(files, "names", &["t_ns", "pid", "comm"]))
    }

    /// The next name; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_name(&mut self) -> Result<Option<TaskName>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let (t_ns, pid) = (row.within(0, MAX_TIME)?, row.within(1, MAX_PID)? as i64);
        Ok(Some(TaskName { t_ns, pid, comm: row.short_text(2, MAX_COMM)?.into() }))
    }
}
