//! The names of a simulated run's tasks.

use super::segments::{Segments, there};
use crate::recording::ReadError;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Follows tasks as they begin and exit, so that only those that are there are kept.
pub struct TaskNames {
    rows: Segments,
    /// What comes next: when, who, and its name, or that it exits.
    next: Option<(u64, i64, Option<String>)>,
    /// Gone, but named until the next time: an exit and the last wake-up may be of one moment.
    gone: Vec<i64>,
    names: FxHashMap<i64, Arc<str>>,
}

impl TaskNames {
    /// Of a run; without names where its folder has no such table.
    pub fn simulated(folder: &Path) -> Self {
        let rows = Segments::new(there(folder, "tasks.parquet"), "tasks", &["t_ns", "what", "pid", "comm"]);
        TaskNames { rows, next: None, gone: Vec::new(), names: FxHashMap::default() }
    }

    /// Goes to a time, ns; times do not go back.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn until(&mut self, time: u64) -> Result<(), ReadError> {
        for pid in self.gone.drain(..) {
            self.names.remove(&pid);
        }
        loop {
            if self.next.is_none() {
                let Some(row) = self.rows.advance(|_| {})? else { return Ok(()) };
                let name = (row.text(1) == Some("begins")).then(|| row.text(3).unwrap_or_default().to_owned());
                self.next = Some((row.within(0, i64::MAX as u64)?, row.long(2).unwrap_or(0), name));
            }
            match self.next.take() {
                Some((at, pid, Some(name))) if at <= time => _ = self.names.insert(pid, name.into()),
                Some((at, pid, None)) if at <= time => self.gone.push(pid),
                later => {
                    self.next = later;
                    return Ok(());
                }
            }
        }
    }

    /// A task's name; empty where it is not known.
    pub fn of(&self, pid: i64) -> &str {
        self.names.get(&pid).map_or("", |name| name)
    }

    /// The same, to be kept.
    pub fn shared(&self, pid: i64) -> Arc<str> {
        self.names.get(&pid).cloned().unwrap_or_default()
    }
}
