//! How tasks came to a CPU under a scheduler of sched_ext: the steps of each wait, and who was on the queues that it
//! went through.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use wakelab_events::ReadError;
use wakelab_events::sim::ScxStep;
use wakelab_events::stream::{ScxStepRow, ScxSteps};
use wakelab_sched::cpumask::Cpu;

/// A step of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStep {
    /// When, ns.
    pub t_ns: u64,
    /// The CPU on which it happened.
    pub cpu: Cpu,
    /// The step.
    pub step: ScxStep,
    /// The operation that did it; `None` for the core.
    pub op: Option<Arc<str>>,
    /// The queue that it joined or was taken from.
    pub dsq: Option<Arc<str>>,
    /// How many tasks were on the queue already when it joined.
    pub queued: Option<u32>,
    /// Who they were, at most [`NAMED`] of them, in the order in which they had joined.
    pub behind: Vec<i64>,
    /// The CPU that was chosen, or whose run queue it joined.
    pub to_cpu: Option<Cpu>,
}

/// The most tasks of a queue that are named.
pub const NAMED: usize = 4;

/// The steps of a wait that are kept: the first ones. A task that the core gives back to its scheduler has many.
const MOST_STEPS: usize = 32;

/// Follows the steps of a run.
pub(crate) struct ScxWaits {
    stream: ScxSteps,
    next: Option<ScxStepRow>,
    /// By task: the steps of its present wait.
    waits: FxHashMap<i64, Vec<WaitStep>>,
    /// By task: those of the wait after which it was picked.
    picked: BTreeMap<i64, Vec<WaitStep>>,
    /// By queue: who is there, in the order in which they joined.
    queues: FxHashMap<Arc<str>, Vec<i64>>,
    on: FxHashMap<i64, Arc<str>>,
    /// Names of operations and queues, each once.
    names: FxHashSet<Arc<str>>,
}

impl ScxWaits {
    /// Those of the run of a folder; `None` if no scheduler was loaded.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        ScxSteps::has(folder).then(|| ScxWaits {
            stream: ScxSteps::simulated(folder),
            next: None,
            waits: FxHashMap::default(),
            picked: BTreeMap::new(),
            queues: FxHashMap::default(),
            on: FxHashMap::default(),
            names: FxHashSet::default(),
        })
    }

    /// Follows the steps up to a time, ns, and those at that time.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub(crate) fn advance_to(&mut self, time: u64) -> Result<(), ReadError> {
        loop {
            if self.next.is_none() {
                self.next = self.stream.next_step()?;
            }
            let Some(row) = self.next.take_if(|row| row.t_ns <= time) else { return Ok(()) };
            self.step(row);
        }
    }

    /// The wait after which a task was picked last, if nobody took it yet.
    pub(crate) fn take(&mut self, pid: i64) -> Option<Vec<WaitStep>> {
        self.picked.remove(&pid)
    }

    /// The waits after which tasks were picked since this was last called, that nobody took, by task.
    pub(crate) fn take_picked(&mut self) -> impl Iterator<Item = (i64, Vec<WaitStep>)> {
        std::mem::take(&mut self.picked).into_iter()
    }

    /// The time of the next step, ns; `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub(crate) fn next_time(&mut self) -> Result<Option<u64>, ReadError> {
        if self.next.is_none() {
            self.next = self.stream.next_step()?;
        }
        Ok(self.next.as_ref().map(|row| row.t_ns))
    }

    fn shared(&mut self, text: &str) -> Option<Arc<str>> {
        if text.is_empty() {
            return None;
        }
        if !self.names.contains(text) {
            self.names.insert(text.into());
        }
        self.names.get(text).cloned()
    }

    fn leave(&mut self, pid: i64) {
        if let Some(dsq) = self.on.remove(&pid)
            && let Some(queue) = self.queues.get_mut(&dsq)
        {
            queue.retain(|&other| other != pid);
        }
    }

    fn step(&mut self, row: ScxStepRow) {
        let ScxStepRow { t_ns, cpu, pid, step, op, dsq, nr_queued, to_cpu } = row;
        let (op, dsq) = (self.shared(&op), self.shared(&dsq));
        let mut behind = Vec::new();
        match step {
            ScxStep::Queued => {
                self.leave(pid);
                if let Some(dsq) = &dsq {
                    let queue = self.queues.entry(Arc::clone(dsq)).or_default();
                    behind = queue.iter().copied().take(NAMED).collect();
                    queue.push(pid);
                    self.on.insert(pid, Arc::clone(dsq));
                }
            }
            ScxStep::Taken | ScxStep::Reenqueued | ScxStep::Picked => self.leave(pid),
            // A wake-up, or a task that stops, begins a wait. One that slept on a queue has left it.
            ScxStep::Selected | ScxStep::Stopped => {
                self.leave(pid);
                self.waits.remove(&pid);
            }
            ScxStep::Joins | ScxStep::Held | ScxStep::Moved => {}
        }
        let wait = self.waits.entry(pid).or_default();
        if wait.len() < MOST_STEPS {
            wait.push(WaitStep { t_ns, cpu, step, op, dsq, queued: nr_queued, behind, to_cpu });
        }
        if step == ScxStep::Picked {
            let wait = self.waits.remove(&pid).unwrap_or_default();
            self.picked.insert(pid, wait);
        }
    }
}

/// Where a wait went: its operations and the kinds of queues, as `select_cpu → local` or `enqueue → 0x0, dispatch →
/// local`. Numbers of CPUs and nodes are left out, so that waits of one kind have one route.
pub fn route(steps: &[WaitStep]) -> String {
    let mut route: Vec<String> = Vec::new();
    let mut taken_by: Option<Arc<str>> = None;
    for step in steps {
        match (step.step, &step.dsq) {
            (ScxStep::Queued, Some(dsq)) => {
                let kind = dsq.split_once(':').map_or(&**dsq, |(kind, _)| kind);
                let op = step.op.clone().or(taken_by.take());
                route.push(format!("{} → {kind}", op.as_deref().unwrap_or("core")));
            }
            (ScxStep::Held, _) => route.push("enqueue → held".to_owned()),
            (ScxStep::Reenqueued, _) => route.push("re-enqueued".to_owned()),
            (ScxStep::Taken, _) => taken_by.clone_from(&step.op),
            _ => {}
        }
    }
    if route.is_empty() { "none".to_owned() } else { route.join(", ") }
}

/// How long a wait was on queues other than local ones, or with the scheduler, ns: by queue, `held` for the
/// scheduler. `end_ns` is when the wait ended.
pub(crate) fn shared_time(steps: &[WaitStep], end_ns: u64) -> Vec<(Arc<str>, u64)> {
    let mut times: Vec<(Arc<str>, u64)> = Vec::new();
    let mut on: Option<(Arc<str>, u64)> = None;
    let ends = steps.iter().map(|step| (step.t_ns, Some(step))).chain([(end_ns, None)]);
    for (t_ns, step) in ends {
        let moves = match step.map(|step| (step.step, &step.dsq)) {
            Some((ScxStep::Queued, Some(dsq))) => Some((!dsq.starts_with("local:")).then(|| Arc::clone(dsq))),
            Some((ScxStep::Held, _)) => Some(Some("held".into())),
            Some((ScxStep::Taken | ScxStep::Picked | ScxStep::Reenqueued, _)) | None => Some(None),
            Some(_) => None,
        };
        let Some(to) = moves else { continue };
        if let Some((dsq, since)) = on.take() {
            let ns = t_ns.saturating_sub(since);
            match times.iter_mut().find(|(known, _)| *known == dsq) {
                Some((_, sum)) => *sum += ns,
                None => times.push((dsq, ns)),
            }
        }
        on = to.map(|dsq| (dsq, t_ns));
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(t_ns: u64, step: ScxStep, op: &str, dsq: &str) -> WaitStep {
        let text = |text: &str| (!text.is_empty()).then(|| text.into());
        let (op, dsq) = (text(op), text(dsq));
        WaitStep { t_ns, cpu: 0, step, op, dsq, queued: None, behind: Vec::new(), to_cpu: None }
    }

    #[test]
    fn a_route_names_operations_and_kinds_of_queues() {
        let direct = [
            step(0, ScxStep::Selected, "", ""),
            step(1, ScxStep::Queued, "select_cpu", "local:3"),
            step(2, ScxStep::Picked, "", ""),
        ];
        assert_eq!(route(&direct), "select_cpu → local");
        let shared = [
            step(0, ScxStep::Selected, "", ""),
            step(1, ScxStep::Joins, "", ""),
            step(2, ScxStep::Queued, "enqueue", "0x0"),
            step(9, ScxStep::Taken, "dispatch", "0x0"),
            step(9, ScxStep::Moved, "", ""),
            step(9, ScxStep::Queued, "dispatch", "local:5"),
        ];
        assert_eq!(route(&shared), "enqueue → 0x0, dispatch → local");
        assert_eq!(route(&[]), "none");
    }

    #[test]
    fn time_on_shared_queues_ends_when_a_cpu_takes_the_task() {
        let steps = [
            step(2, ScxStep::Queued, "enqueue", "0x0"),
            step(9, ScxStep::Taken, "dispatch", "0x0"),
            step(9, ScxStep::Queued, "dispatch", "local:5"),
            step(12, ScxStep::Reenqueued, "", ""),
            step(12, ScxStep::Held, "enqueue", ""),
            step(15, ScxStep::Queued, "dispatch", "global:0"),
        ];
        let expected = [("0x0", 7), ("held", 3), ("global:0", 5)].map(|(dsq, ns)| (dsq.into(), ns));
        assert_eq!(shared_time(&steps, 20), expected);
        assert_eq!(shared_time(&[], 20), []);
    }
}
