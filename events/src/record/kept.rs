//! Single wake-ups of a run: their inputs are kept until it is known which of them are wanted.

use super::snapshot::Snapshot;
use super::{EventFolder, RecordError, RunInfo};
use crate::sim::{Event, Inputs, NewTask, Sink, Task};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{View, WakeFlags};

/// The inputs of the choices that are being made in a run: a [`Sink`] that has to be told everything.
#[derive(Clone, Debug)]
pub struct Choices {
    /// By waking CPU.
    begun: Vec<Snapshot>,
    /// Those of a new task's, which is made at one moment.
    at_once: Snapshot,
    /// The lowest CPU of each LLC.
    llcs: Vec<Cpu>,
    /// When something that choices look at changed last, and when before that, ns.
    changed: [Option<u64>; 2],
}

/// A wake-up with its inputs. Its memory is used again for the next.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    told: Option<(u64, Event)>,
    inputs: Snapshot,
    /// When something changed while the choice was being made, ns.
    changed: Option<u64>,
}

impl Choices {
    /// Of a run on so many CPUs.
    pub fn new(nr_cpus: u32) -> Self {
        let none = Snapshot::default();
        Choices { begun: vec![none.clone(); nr_cpus as usize], at_once: none, llcs: Vec::new(), changed: [None; 2] }
    }

    /// Moves the wake-up that was just told, with its inputs, to `kept`. False for one without a choice.
    pub fn keep(&mut self, time: u64, event: &Event, kept: &mut Kept) -> bool {
        let inputs = match *event {
            Event::Wakeup { waker_cpu, decision: Some(_), .. } => &mut self.begun[waker_cpu as usize],
            Event::Placed { decision: Some(_), .. } => &mut self.at_once,
            _ => return false,
        };
        if !inputs.waits {
            return false;
        }
        std::mem::swap(&mut kept.inputs, inputs);
        inputs.waits = false;
        kept.told = Some((time, *event));
        // What changes at the moment of the choice is its own doing.
        let before = if self.changed[0] == Some(time) { self.changed[1] } else { self.changed[0] };
        kept.changed = before.filter(|at| *at as i64 > kept.inputs.t_ns);
        true
    }
}

impl Sink for Choices {
    const ON: bool = true;
    const INPUTS: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        let hint = matches!(event, Event::Available { .. } | Event::IdleCores { .. } | Event::IdleScan { .. });
        if hint && self.changed[0] != Some(time) {
            self.changed = [Some(time), self.changed[0]];
        }
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        if self.llcs.is_empty() {
            self.llcs = lowest_cpus(inputs.rules.domains);
        }
        let choice = match inputs.probe {
            Some(_) => &mut self.begun[inputs.wakeup.waker.cpu as usize],
            None => &mut self.at_once,
        };
        choice.fill(time, &self.llcs, inputs);
    }
}

/// The lowest CPU of each LLC.
pub(super) fn lowest_cpus(domains: &wakelab_sched::domain::SchedDomains) -> Vec<Cpu> {
    let mut llcs = domains.sd_llc_id.clone();
    llcs.sort_unstable();
    llcs.dedup();
    llcs
}

impl Kept {
    /// Whether nothing that the choice looked at changed while it was made.
    pub fn stable(&self) -> bool {
        self.changed.is_none()
    }

    /// Whether it is an exec: the task does not wait to run.
    pub fn exec(&self) -> bool {
        self.inputs.wake_flags & WakeFlags::EXEC.bits() as i32 != 0
    }

    /// When its choice began, ns, and the wakee.
    pub fn which(&self) -> Option<(u64, Task)> {
        let (_, event) = self.told.as_ref()?;
        match *event {
            Event::Wakeup { wakee, .. } => Some((self.inputs.t_ns as u64, wakee)),
            Event::Placed { task, .. } => Some((self.inputs.t_ns as u64, task)),
            _ => None,
        }
    }

    /// The tasks that it names.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let (waker, wakee) = match self.told {
            Some((_, Event::Wakeup { waker, wakee, .. })) => (waker, Some(wakee)),
            Some((_, Event::Placed { waker, task, .. })) => (waker, Some(task)),
            _ => (None, None),
        };
        waker.into_iter().chain(wakee)
    }
}

impl EventFolder {
    /// Writes these wake-ups of a run as a run that has no others, with the names of their tasks.
    ///
    /// # Errors
    /// Where a file cannot be written. Nothing of the run is left then.
    pub fn record_kept(
        &self,
        run: &RunInfo<'_>,
        names: impl Iterator<Item = (Task, String)>,
        kept: Vec<Kept>,
    ) -> Result<(), RecordError> {
        let mut recorder = self.record(run)?;
        let affinity = CpuMask::full(run.topology.cpus.len() as u32);
        for (task, name) in names {
            let (parent, workload) = (None, true);
            let affinity = &affinity;
            recorder.task(0, &NewTask { task, name: &name, parent, workload, nice: 0, idle_policy: false, affinity });
        }
        // A reader sees by a change between that the state did not hold still.
        let change = |at| (at, Event::Available { cpu: 0, available: false, sched_idle: false }, None);
        let mut all: Vec<(u64, Event, Option<Snapshot>)> =
            kept.iter().filter_map(|one| one.changed).map(change).collect();
        all.extend(kept.into_iter().filter_map(|one| one.told.map(|(at, event)| (at, event, Some(one.inputs)))));
        all.sort_by_key(|(at, ..)| *at);
        for (at, event, inputs) in all {
            if let Some(inputs) = inputs {
                recorder.put_inputs(&event, Snapshot { waits: true, ..inputs });
            }
            recorder.event(at, &event);
        }
        recorder.finish()
    }
}
