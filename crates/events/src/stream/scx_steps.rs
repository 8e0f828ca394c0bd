//! Steps of tasks under a scheduler of sched_ext, of simulated runs.

use super::wakeups::{cpu, cpu_or, pid, time};
use crate::error::ReadError;
use crate::limits::MAX_LABEL;
use crate::sim::ScxStep;
use crate::table::reader::{Segments, if_present};
use std::path::Path;
use wakelab_sched::cpumask::Cpu;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScxStepRow {
    /// When, ns.
    pub t_ns: u64,
    /// The CPU on which it happened.
    pub cpu: Cpu,
    /// The task.
    pub pid: i64,
    /// The step.
    pub step: ScxStep,
    /// The operation that did it; empty for the core.
    pub op: String,
    /// The queue that it joined or was taken from; empty for other steps.
    pub dsq: String,
    /// How many tasks were on the queue already when it joined.
    pub nr_queued: Option<u32>,
    /// The CPU that was chosen, or whose run queue it joined.
    pub to_cpu: Option<Cpu>,
}

/// A stream of steps, in the order in which they happened.
pub struct ScxSteps(Segments);

impl ScxSteps {
    /// Reads the folder of a run. There are none if no scheduler was loaded.
    pub fn simulated(folder: &Path) -> Self {
        let columns = &["t_ns", "cpu", "pid", "step", "op", "dsq", "nr_queued", "to_cpu"];
        ScxSteps(Segments::new(if_present(folder, SCX), "scx", columns))
    }

    /// Whether a scheduler of sched_ext was loaded in the run of a folder.
    pub fn has(folder: &Path) -> bool {
        folder.join(SCX).exists()
    }

    /// The next step; `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has a value out of range or a step that is not known.
    pub fn next_step(&mut self) -> Result<Option<ScxStepRow>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let name = row.short_text(3, MAX_LABEL)?;
        let known = ScxStep::ALL.into_iter().find(|step| step.name() == name);
        let step = known.ok_or_else(|| row.error(3, format!("expected a step, found {name:?}")))?;
        Ok(Some(ScxStepRow {
            t_ns: time(row, 0)?,
            cpu: cpu(row, 1)?,
            pid: pid(row, 2)?,
            step,
            op: row.short_text(4, MAX_LABEL)?.to_owned(),
            dsq: row.short_text(5, MAX_LABEL)?.to_owned(),
            nr_queued: row.within_or_null(6, u32::MAX.into())?.map(|queued| queued as u32),
            to_cpu: cpu_or(row, 7)?,
        }))
    }
}

const SCX: &str = "scx.parquet";
