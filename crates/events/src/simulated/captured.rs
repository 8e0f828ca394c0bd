//! Captures single wake-ups of a run with their inputs, to write some of them later.

use super::decision_inputs::DecisionInputs;
use super::folder::{EventFolder, RunInfo};
use crate::error::WriteError;
use crate::sim::{Event, Inputs, NewTask, Sink, Task};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{View, WakeFlags};

/// The inputs of the decisions that are pending in a run. It is a [`Sink`] that must receive every event.
#[derive(Clone, Debug)]
pub struct PendingDecisions {
    /// By waking CPU: the inputs of a wake-up.
    wakeups: Vec<DecisionInputs>,
    /// The inputs of a fork or exec. It is decided at one moment, which may be during a wake-up of the same CPU.
    placement: DecisionInputs,
    /// The lowest CPU of each LLC.
    llcs: Vec<Cpu>,
    /// When something that decisions read changed last, and the time of the change before, ns.
    changed: [Option<u64>; 2],
}

/// A wake-up with its inputs. Its memory can be reused for another one.
#[derive(Clone, Debug, Default)]
pub struct CapturedWakeup {
    event: Option<(u64, Event)>,
    inputs: DecisionInputs,
    /// When something that it reads changed during the decision, ns.
    changed: Option<u64>,
}

impl PendingDecisions {
    /// Follows a run on this many CPUs.
    pub fn new(nr_cpus: u32) -> Self {
        let none = DecisionInputs::default();
        PendingDecisions {
            wakeups: vec![none.clone(); nr_cpus as usize],
            placement: none,
            llcs: Vec::new(),
            changed: [None; 2],
        }
    }

    /// Moves the wake-up of the current event, with its inputs, to `captured`. Returns false if it has no decision.
    pub fn capture(&mut self, time: u64, event: &Event, captured: &mut CapturedWakeup) -> bool {
        let inputs = match *event {
            Event::Wakeup { waker_cpu, decision: Some(_), .. } => &mut self.wakeups[waker_cpu as usize],
            Event::Placed { decision: Some(_), .. } => &mut self.placement,
            _ => return false,
        };
        if !inputs.pending {
            return false;
        }
        std::mem::swap(&mut captured.inputs, inputs);
        inputs.pending = false;
        captured.event = Some((time, *event));
        // A change at the moment of the decision is an effect of it.
        let before = if self.changed[0] == Some(time) { self.changed[1] } else { self.changed[0] };
        captured.changed = before.filter(|at| *at as i64 > captured.inputs.t_ns);
        true
    }
}

impl Sink for PendingDecisions {
    const ON: bool = true;
    const INPUTS: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        let read_by_decisions =
            matches!(event, Event::Available { .. } | Event::IdleCores { .. } | Event::IdleScan { .. });
        if read_by_decisions && self.changed[0] != Some(time) {
            self.changed = [Some(time), self.changed[0]];
        }
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        if self.llcs.is_empty() {
            self.llcs = lowest_cpus(inputs.rules.domains);
        }
        let pending = match inputs.probe {
            Some(_) => &mut self.wakeups[inputs.wakeup.waker.cpu as usize],
            None => &mut self.placement,
        };
        pending.fill(time, &self.llcs, inputs);
    }
}

/// The lowest CPU of each LLC.
pub(super) fn lowest_cpus(domains: &wakelab_sched::domain::SchedDomains) -> Vec<Cpu> {
    let mut llcs = domains.sd_llc_id.clone();
    llcs.sort_unstable();
    llcs.dedup();
    llcs
}

impl CapturedWakeup {
    /// Whether nothing that the decision reads changed while it was made.
    pub fn stable(&self) -> bool {
        self.changed.is_none()
    }

    /// Whether it is an exec, whose task does not wait to run.
    pub fn exec(&self) -> bool {
        self.inputs.wake_flags & WakeFlags::EXEC.bits() as i32 != 0
    }

    /// When the decision began, ns, and the wakee.
    pub fn began_and_wakee(&self) -> Option<(u64, Task)> {
        let (_, event) = self.event.as_ref()?;
        match *event {
            Event::Wakeup { wakee, .. } => Some((self.inputs.t_ns as u64, wakee)),
            Event::Placed { task, .. } => Some((self.inputs.t_ns as u64, task)),
            _ => None,
        }
    }

    /// The waker, if it is a task, and the wakee.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let (waker, wakee) = match self.event {
            Some((_, Event::Wakeup { waker, wakee, .. })) => (waker, Some(wakee)),
            Some((_, Event::Placed { waker, task, .. })) => (waker, Some(task)),
            _ => (None, None),
        };
        waker.into_iter().chain(wakee)
    }
}

impl EventFolder {
    /// Writes captured wake-ups as a run without any others, with the names of their tasks.
    ///
    /// # Errors
    /// Fails if a file cannot be written. Nothing of the run is left then.
    pub fn record_captured(
        &self,
        run: &RunInfo<'_>,
        names: impl Iterator<Item = (Task, String)>,
        captured: Vec<CapturedWakeup>,
    ) -> Result<(), WriteError> {
        let mut recorder = self.record(run)?;
        let affinity = CpuMask::full(run.topology.cpus.len() as u32);
        for (task, name) in names {
            let (parent, workload) = (None, true);
            let affinity = &affinity;
            recorder.task(
                0,
                &NewTask { task, name: &name, parent, workload, nice: 0, idle_policy: false, affinity, group: 0 },
            );
        }
        // By a change in between a reader knows that the state was not stable during the decision.
        let change = |at| (at, Event::Available { cpu: 0, available: false, sched_idle: false }, None);
        let mut all: Vec<(u64, Event, Option<DecisionInputs>)> =
            captured.iter().filter_map(|one| one.changed).map(change).collect();
        all.extend(captured.into_iter().filter_map(|one| one.event.map(|(at, event)| (at, event, Some(one.inputs)))));
        all.sort_by_key(|(at, ..)| *at);
        for (at, event, inputs) in all {
            if let Some(inputs) = inputs {
                recorder.put_inputs(&event, DecisionInputs { pending: true, ..inputs });
            }
            recorder.event(at, &event);
        }
        recorder.finish()
    }
}
