//! Listens to a simulated run and makes its picture.

use crate::recordings::over_time::{OverTime, OverTimeBuilder};
use crate::recordings::stats::{ExplainedWakeup, WhyExplained, explained_wakeups};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use wakelab_events::sim::{Event, Inputs, NewTask, Sink, Task};
use wakelab_events::simulated::{CapturedWakeup, EventFolder, PendingDecisions, RunInfo};
use wakelab_machine::Machine;
use wakelab_measure::{Latency, RunStats, StateChange, Waits};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Reason, View};

/// The picture of a simulated run.
#[derive(Clone, Debug)]
pub struct Picture {
    /// How long wakees waited until they ran, in the measured time.
    pub waits: Latency,
    /// The wake-ups of the measured time by the reason of their choice.
    pub reasons: BTreeMap<Reason, u64>,
    /// The whole run over time.
    pub over_time: OverTime,
    /// The start of measuring, ns.
    pub settle_ns: u64,
    /// Every change of state.
    pub changes: Vec<StateChange>,
    /// The names of idle states, by number.
    pub idle_states: Vec<String>,
    /// The wake-up of the measured time after which the wakee waited longest, and one for each reason; or why they
    /// cannot be explained.
    pub explained: Result<Vec<ExplainedWakeup>, String>,
}

/// The task has no pending wake-up.
const NONE: u32 = u32::MAX;

/// A wake-up whose wakee did not run yet.
#[derive(Clone, Debug, Default)]
struct Pending {
    began: u64,
    /// Whether it is in the measured time.
    counts: bool,
    /// Whether `kept` has its decision.
    choice: bool,
    kept: CapturedWakeup,
}

/// A wake-up that will be explained, with the names of its tasks.
#[derive(Clone, Debug, Default)]
struct Wanted {
    kept: CapturedWakeup,
    names: Vec<(Task, String)>,
}

/// Listens to a run and builds a [`Picture`].
#[derive(Clone, Debug)]
pub(crate) struct RunListener {
    measured: Range<u64>,
    over_time: OverTimeBuilder,
    choices: PendingDecisions,
    waits: Waits,
    reasons: BTreeMap<Reason, u64>,
    /// By task: the index of its pending wake-up.
    place: Vec<u32>,
    pending: Vec<Pending>,
    free: Vec<u32>,
    names: FxHashMap<Task, String>,
    first: BTreeMap<Reason, Wanted>,
    slowest: Option<(u64, Wanted)>,
    /// A decision that is no longer needed, whose memory is used again.
    spare: CapturedWakeup,
}

impl RunListener {
    pub(crate) fn new(machine: &Machine, measured: Range<u64>) -> Self {
        let cpus = &machine.topology.cpus;
        let llcs = cpus.iter().map(|cpu| cpu.llc).collect();
        let packages = cpus.iter().map(|cpu| cpu.package).collect();
        RunListener {
            measured,
            over_time: OverTimeBuilder::new(0, Some(llcs), packages),
            choices: PendingDecisions::new(cpus.len() as u32),
            waits: Waits::new(3),
            reasons: BTreeMap::new(),
            place: Vec::new(),
            pending: Vec::new(),
            free: Vec::new(),
            names: FxHashMap::default(),
            first: BTreeMap::new(),
            slowest: None,
            spare: CapturedWakeup::default(),
        }
    }

    /// Returns the pending wake-up of a task, and creates it if there is none.
    fn pend(&mut self, task: Task) -> &mut Pending {
        let at = task as usize;
        if self.place.len() <= at {
            self.place.resize(at + 1, NONE);
        }
        if self.place[at] == NONE {
            self.place[at] = self.free.pop().unwrap_or_else(|| {
                self.pending.push(Pending::default());
                self.pending.len() as u32 - 1
            });
        }
        &mut self.pending[self.place[at] as usize]
    }

    fn woken(&mut self, time: u64, event: &Event, wake: &Wake) {
        let Wake { wakee, waker_cpu, prev, dest, began, reason, placed } = *wake;
        self.over_time.searched(waker_cpu, began, time);
        let counts = self.measured.contains(&time);
        if counts {
            self.over_time.woken(prev, dest, None);
            if let Some(reason) = reason {
                *self.reasons.entry(reason).or_default() += 1;
            }
        }
        let mut kept = std::mem::take(&mut self.spare);
        let choice = self.choices.capture(time, event, &mut kept);
        if let (true, true, Some(reason)) = (counts, choice, reason) {
            // The first stable row explains best.
            let better = self.first.get(&reason).is_none_or(|first| !first.kept.stable() && kept.stable());
            if better {
                let wanted = self.wanted(kept.clone());
                self.first.insert(reason, wanted);
            }
        }
        if choice && kept.exec() {
            self.spare = kept;
            return;
        }
        let pending = self.pend(wakee);
        pending.began = began;
        pending.counts = counts;
        // The inputs of a fork are large, and many forks may be pending.
        pending.choice = choice && !placed;
        if pending.choice {
            std::mem::swap(&mut pending.kept, &mut kept);
        }
        self.spare = kept;
    }

    fn wanted(&self, kept: CapturedWakeup) -> Wanted {
        let name = |task| Some((task, self.names.get(&task)?.clone()));
        Wanted { names: kept.tasks().filter_map(name).collect(), kept }
    }

    fn runs(&mut self, time: u64, task: Task) {
        let Some(place) = self.place.get_mut(task as usize).filter(|place| **place != NONE) else { return };
        let at = std::mem::replace(place, NONE);
        self.free.push(at);
        let pending = &mut self.pending[at as usize];
        if !pending.counts || !self.measured.contains(&pending.began) {
            return;
        }
        let wait = time.saturating_sub(pending.began);
        self.waits.record(wait);
        if pending.choice && self.slowest.as_ref().is_none_or(|(longest, _)| wait > *longest) {
            let kept = std::mem::take(&mut pending.kept);
            self.slowest = Some((wait, self.wanted(kept)));
        }
    }

    /// Returns the picture of a run that ended at `ended_ns` with these numbers.
    pub(crate) fn finish(self, run: &RunInfo<'_>, ended_ns: u64, stats: &RunStats) -> Picture {
        let mut names = BTreeMap::new();
        let (mut kept, mut why) = (Vec::new(), HashMap::new());
        let slowest = self.slowest.map(|(wait, wanted)| (WhyExplained::Slowest(wait), wanted));
        let first = self.first.into_iter().map(|(reason, wanted)| (WhyExplained::First(reason), wanted));
        for (of, wanted) in slowest.into_iter().chain(first) {
            let Some(which) = wanted.kept.began_and_wakee() else { continue };
            names.extend(wanted.names);
            // The slowest may also be the first of its reason.
            if let std::collections::hash_map::Entry::Vacant(entry) = why.entry(which) {
                entry.insert(of);
                kept.push(wanted.kept);
            }
        }
        let kinds = stats.power.as_ref().map(|power| &power.kinds);
        let idle_states = kinds.and_then(|kinds| kinds.first()).map_or_else(Vec::new, |kind| kind.idle.clone());
        // Where nothing was decided, as under a scheduler of sched_ext, there is no decision to make again.
        let explained = if self.reasons.is_empty() { Ok(Vec::new()) } else { explained(run, names, kept, &why) };
        Picture {
            waits: self.waits.latency(),
            reasons: self.reasons,
            over_time: self.over_time.finish(run.topology.cpus.len(), ended_ns),
            settle_ns: self.measured.start,
            changes: stats.changes.clone(),
            idle_states,
            explained,
        }
    }
}

/// Makes the decisions again, as those of a recorded run.
fn explained(
    run: &RunInfo<'_>,
    names: BTreeMap<Task, String>,
    kept: Vec<CapturedWakeup>,
    why: &HashMap<(u64, Task), WhyExplained>,
) -> Result<Vec<ExplainedWakeup>, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for temporary files: {e}"))?;
    let events = EventFolder::new(folder.path()).map_err(|e| e.to_string())?;
    events.record_captured(run, names.into_iter(), kept).map_err(|e| e.to_string())?;
    let why = |t_ns: u64, pid: i64| why.get(&(t_ns, pid as Task)).copied();
    // The folder is gone by the time that the reason is read.
    let mut found = explained_wakeups::of_folder(folder.path(), why).map_err(|e| e.what)?;
    found.sort_by_key(|one| one.why);
    Ok(found)
}

/// What is needed of a wake-up or a fork.
struct Wake {
    wakee: Task,
    waker_cpu: Cpu,
    prev: Cpu,
    dest: Cpu,
    began: u64,
    reason: Option<Reason>,
    placed: bool,
}

impl Sink for RunListener {
    const ON: bool = true;
    const INPUTS: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Wakeup { waker_cpu, wakee, prev_cpu: prev, ref decision, cpu: dest, began, .. } => {
                let reason = decision.as_ref().map(|decision| decision.reason);
                self.woken(time, event, &Wake { wakee, waker_cpu, prev, dest, began, reason, placed: false });
            }
            Event::Placed { waker_cpu, task: wakee, prev_cpu: prev, ref decision, cpu: dest, .. } => {
                let reason = decision.as_ref().map(|decision| decision.reason);
                self.woken(time, event, &Wake { wakee, waker_cpu, prev, dest, began: time, reason, placed: true });
            }
            Event::Switch { cpu, next, .. } => {
                // Tasks are numbered from 0, which here is the idle task.
                self.over_time.switch(time, cpu, next.map_or(0, |task| i64::from(task) + 1));
                if let Some(task) = next {
                    self.runs(time, task);
                }
            }
            Event::Migrate { task, from, .. } => self.over_time.taken(time, from, i64::from(task) + 1),
            Event::IdleScan { llc, sum_util, weight, nr_idle_scan } => {
                self.over_time.cache(time, llc, sum_util, weight, nr_idle_scan);
            }
            Event::Frequency { cpu, khz } => self.over_time.frequency(time, cpu, khz),
            Event::Power { package, since, uw } => self.over_time.power(since, package, uw),
            Event::IdleState { cpu, state } => self.over_time.idle_state(time, cpu, Some(state)),
            Event::Exit { task } => _ = self.names.remove(&task),
            _ => {}
        }
        self.choices.event(time, event);
    }

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        self.names.insert(task.task, task.name.to_owned());
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        self.choices.inputs(time, inputs);
    }
}
