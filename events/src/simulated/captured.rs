//! Single wake-ups of a run: their inputs are held until it is known which of them are to be written.

use super::choice_inputs::ChoiceInputs;
use super::folder::{EventFolder, RunInfo};
use crate::error::WriteError;
use crate::sim::{Event, Inputs, NewTask, Sink, Task};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{View, WakeFlags};

/// The inputs of the choices that are being made in a run: a [`Sink`] that has to be told everything.
#[derive(Clone, Debug)]
pub struct PendingChoices {
    /// By waking CPU.
    wakeups: Vec<ChoiceInputs>,
    /// Those of a new task's, which is made at one moment.
    placement: ChoiceInputs,
    /// The lowest CPU of each LLC.
    llcs: Vec<Cpu>,
    /// When something that choices look at changed last, and when before that, ns.
    changed: [Option<u64>; 2],
}

/// A wake-up with its inputs. Its memory is used again for the next.
#[derive(Clone, Debug, Default)]
pub struct CapturedWakeup {
    told: Option<(u64, Event)>,
    inputs: ChoiceInputs,
    /// When something changed while the choice was being made, ns.
    changed: Option<u64>,
}

impl PendingChoices {
    /// Of a run on so many CPUs.
    pub fn new(nr_cpus: u32) -> Self {
        let none = ChoiceInputs::default();
        PendingChoices {
            wakeups: vec![none.clone(); nr_cpus as usize],
            placement: none,
            llcs: Vec::new(),
            changed: [None; 2],
        }
    }

    /// Moves the wake-up that was just told, with its inputs, to `captured`. False for one without a choice.
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
        captured.told = Some((time, *event));
        // What changes at the moment of the choice is its own doing.
        let before = if self.changed[0] == Some(time) { self.changed[1] } else { self.changed[0] };
        captured.changed = before.filter(|at| *at as i64 > captured.inputs.t_ns);
        true
    }
}

impl Sink for PendingChoices {
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
            Some(_) => &mut self.wakeups[inputs.wakeup.waker.cpu as usize],
            None => &mut self.placement,
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

impl CapturedWakeup {
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
            recorder.task(0, &NewTask { task, name: &name, parent, workload, nice: 0, idle_policy: false, affinity });
        }
        // A reader sees by a change between that the state did not hold still.
        let change = |at| (at, Event::Available { cpu: 0, available: false, sched_idle: false }, None);
        let mut all: Vec<(u64, Event, Option<ChoiceInputs>)> =
            captured.iter().filter_map(|one| one.changed).map(change).collect();
        all.extend(captured.into_iter().filter_map(|one| one.told.map(|(at, event)| (at, event, Some(one.inputs)))));
        all.sort_by_key(|(at, ..)| *at);
        for (at, event, inputs) in all {
            if let Some(inputs) = inputs {
                recorder.put_inputs(&event, ChoiceInputs { pending: true, ..inputs });
            }
            recorder.event(at, &event);
        }
        recorder.finish()
    }
}
