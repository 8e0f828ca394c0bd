//! The facts that an import knows about its trace besides the rows that it wrote.

use super::source::Tables;
use crate::error::ReadError;
use crate::table::metadata::ParquetFile;
use wakelab_input::files;

/// How complete the trace of an import is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// The tracepoints of which the trace has events.
    pub tracepoints: Vec<String>,
    /// Events that its recorder reports as lost.
    pub lost: u64,
    /// The time from the first event to the last, ns.
    pub duration_ns: u64,
    /// Events that were overwritten before they were read.
    pub overwritten: u64,
    /// By CPU: the time from which its events are complete, ns, for CPUs of which earlier events were overwritten.
    pub cpu_begins_ns: Vec<(u32, u64)>,
    /// Wake-ups that began and whose end is not in the trace.
    pub unfinished: u64,
}

impl ImportCounts {
    /// Reads them from the last files of an import's tables. Returns `None` for any other recording.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn of(tables: &Tables) -> Result<Option<Self>, ReadError> {
        let Tables { wakings, switches, migrations, idle, frequencies, .. } = tables;
        for path in [wakings, switches, migrations, idle, frequencies].into_iter().filter_map(|files| files.last()) {
            let file = files::open_file(path).map_err(|e| ReadError::of_file(path, e.to_string()))?;
            let (metadata, _) = ParquetFile::open(path, file)?;
            // The last segment of a table has it unless it was full when the trace ended.
            if let Some(tracepoints) = metadata.get("wakelab.tracepoints") {
                let begins = metadata.get("wakelab.cpu_begins").unwrap_or_default().split(',').filter_map(|word| {
                    let (cpu, since) = word.split_once(':')?;
                    Some((cpu.parse().ok()?, since.parse().ok()?))
                });
                let number = |key| metadata.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
                return Ok(Some(ImportCounts {
                    tracepoints: tracepoints.split(',').map(str::to_owned).collect(),
                    lost: number("wakelab.events_lost"),
                    duration_ns: number("wakelab.duration_ns"),
                    overwritten: number("wakelab.events_overwritten"),
                    cpu_begins_ns: begins.collect(),
                    unfinished: number("wakelab.unfinished"),
                }));
            }
        }
        Ok(None)
    }

    /// Whether migrations by wake-ups can be told from those of load balancing: the trace has both ends of both, and
    /// all of them.
    pub fn has_balancing(&self) -> bool {
        let has = |name: &str| self.tracepoints.iter().any(|tracepoint| tracepoint == name);
        self.lost == 0 && has("sched_migrate_task") && has("sched_waking")
    }
}
