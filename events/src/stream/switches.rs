//! Context switches and migrations, of recordings and simulated runs.

use crate::error::ReadError;
use crate::table::reader::{Segments, if_present};
use std::path::{Path, PathBuf};
use wakelab_sched::cpumask::Cpu;

const LAST_CPU: u64 = wakelab_sched::domain::MAX_CPUS as u64 - 1;

/// A context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// When, ns.
    pub t_ns: u64,
    /// The CPU.
    pub cpu: Cpu,
    /// Who ran; 0 is the idle task. Of a simulation also where balancing had taken who ran.
    pub prev_pid: i64,
    /// Whether it sleeps, or has exited.
    pub prev_sleeps: bool,
    /// Who runs; 0 is the idle task. Tasks of a simulation count from 0, too.
    pub next_pid: i64,
    /// Whether it is the idle task that runs.
    pub idles: bool,
}

/// A task got another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// When, ns.
    pub t_ns: u64,
    /// The task.
    pub pid: i64,
    /// From this CPU.
    pub from_cpu: Cpu,
    /// To this CPU.
    pub to_cpu: Cpu,
}

/// Context switches.
pub struct Switches(Segments, bool);

/// Migrations.
pub struct Migrations(Segments);

impl Switches {
    /// Of these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Switches(Segments::new(files, "switches", &["t_ns", "cpu", "prev_pid", "prev_sleeps", "next_pid"]), false)
    }

    /// Of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Switches(Switches::new(if_present(folder, "switches.parquet")).0, true)
    }

    /// The next one.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn next_switch(&mut self) -> Result<Option<Switch>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        Ok(Some(Switch {
            t_ns: row.within(0, i64::MAX as u64)?,
            cpu: row.within(1, LAST_CPU)? as Cpu,
            prev_pid: row.long(2).unwrap_or(0),
            prev_sleeps: row.long(3) == Some(1),
            next_pid: row.long(4).unwrap_or(0),
            idles: row.long(4).is_none_or(|pid| pid == 0 && !self.1),
        }))
    }
}

impl Migrations {
    /// Of these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Migrations(Segments::new(files, "migrations", &["t_ns", "pid", "from_cpu", "to_cpu"]))
    }

    /// Of a simulated run.
    pub fn simulated(folder: &Path) -> Self {
        Migrations::new(if_present(folder, "migrations.parquet"))
    }

    /// The next one.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn next_migration(&mut self) -> Result<Option<Migration>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let pid = row.long(1).unwrap_or(0);
        let cpu = |column| row.within(column, LAST_CPU).map(|cpu| cpu as Cpu);
        Ok(Some(Migration { t_ns: row.within(0, i64::MAX as u64)?, pid, from_cpu: cpu(2)?, to_cpu: cpu(3)? }))
    }
}
