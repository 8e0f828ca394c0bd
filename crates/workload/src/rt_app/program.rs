//! From threads to programs: the steps of each thread, and the mutexes, conditions and barriers that they name.

use super::event::{Event, Step};
use super::json::{Cx, Place};
use super::policy::{Policy, Uclamp};
use super::tasks::unique;
use super::thread::{Cpus, Phase, Thread, Times};
use crate::error::WorkloadError;
use crate::{Call, Kind, Op, Program, TimerMode, Work};
use std::collections::{HashMap, HashSet};

/// The resources that all programs of a file share.
#[derive(Debug)]
pub(super) struct Shared {
    resources: Resources,
    /// The sets of CPUs, with their numbers.
    cpu_sets: HashMap<Vec<u32>, u32>,
    /// By name of a thread that is forked: the number of its program.
    forked: HashMap<String, u32>,
    /// Whether a thread or phase sets a slice.
    slices: bool,
    /// The timers that are absolute somewhere.
    absolute: HashSet<String>,
    /// The forked threads that find another policy or priority of the realtime or deadline class than their own.
    changed: HashSet<String>,
}

impl Shared {
    /// The resources that the programs of these threads share, before any of them is written.
    pub(super) fn new(resources: Resources, threads: &[Thread]) -> Self {
        let first = of_start(threads).count() as u32;
        let forked = forked(threads).into_iter().map(|thread| thread.name.clone()).zip(first..).collect();
        let slices = threads.iter().any(|thread| thread.slice_ns != 0 || thread.phases.iter().any(Phase::sets_slice));
        let absolute = threads.iter().flat_map(absolute_timers).map(str::to_owned).collect();
        let changed = changed(threads);
        Shared { resources, cpu_sets: HashMap::new(), forked, slices, absolute, changed }
    }

    /// The resources and sets of CPUs that the programs name, by number.
    pub(super) fn finish(self) -> (Vec<Resource>, Vec<Vec<u32>>) {
        let mut sets: Vec<(Vec<u32>, u32)> = self.cpu_sets.into_iter().collect();
        sets.sort_unstable_by_key(|&(_, number)| number);
        (self.resources.all, sets.into_iter().map(|(set, _)| set).collect())
    }
}

/// A program that is being written, and the place that each of its steps comes from.
struct Writer<'a> {
    cx: &'a Cx<'a>,
    shared: &'a mut Shared,
    /// By number: the modes of the timers.
    modes: Vec<TimerMode>,
    /// By name: the numbers of the timers.
    timers: HashMap<&'a str, u32>,
    ops: Vec<Op>,
    places: Vec<Place>,
}

/// The name of the program of a forked thread. It first sets what a thread has that exists from the start.
fn forked_name(thread: &str) -> String {
    format!("{thread} (forked)")
}

/// Writes the program of a thread.
pub(super) fn write(
    cx: &Cx<'_>,
    thread: &Thread,
    forked: bool,
    shared: &mut Shared,
) -> Result<(Program, Vec<Place>), WorkloadError> {
    let (timers, modes) = timers_of(thread, &shared.absolute);
    let mut writer = Writer { cx, shared, modes, timers, ops: vec![], places: vec![] };
    if forked {
        if let Some(realtime) = thread.realtime {
            if writer.shared.changed.contains(&thread.name) {
                writer.call(Call::Realtime(realtime), &thread.place);
            }
        } else {
            writer.call(Call::IdlePolicy(thread.policy == Policy::Idle), &thread.place);
            writer.call(Call::Nice(thread.nice), &thread.place);
            if writer.shared.slices {
                writer.call(Call::Slice { ns: thread.slice_ns }, &thread.place);
            }
        }
        writer.uclamp(thread.uclamp, &thread.place);
        if let Some(cpus) = &thread.cpus {
            writer.affinity(Some(cpus), &cpus.place);
        }
    }
    writer.delay(thread);
    writer.phases(thread)?;
    let name = if forked { forked_name(&thread.name) } else { thread.name.clone() };
    Ok((Program { name, ops: writer.ops }, writer.places))
}

impl Writer<'_> {
    fn push(&mut self, op: Op, place: &Place) {
        self.ops.push(op);
        self.places.push(place.clone());
    }

    fn call(&mut self, call: Call, place: &Place) {
        self.push(Op::Call(call), place);
    }

    fn uclamp(&mut self, clamps: Uclamp, place: &Place) {
        if clamps.is_set() {
            self.call(Call::Uclamp { min: clamps.min, max: clamps.max }, place);
        }
    }

    /// Writes the delay: the thread sleeps first, and its timers count from the end of that. A timer of this length
    /// does both.
    fn delay(&mut self, thread: &Thread) {
        let ns = thread.delay_ns;
        for timer in 0..if ns > 0 { self.modes.len() } else { 0 } {
            let mode = self.modes[timer];
            self.call(Call::Timer { timer: timer as u32, period_ns: ns, mode }, &thread.place);
        }
        if ns > 0 && self.modes.is_empty() {
            self.push(Op::Sleep(Work::uniform(ns, 0)), &thread.place);
        }
    }

    fn phases(&mut self, thread: &Thread) -> Result<(), WorkloadError> {
        let begin = self.ops.len();
        let moves = thread.phases.iter().any(|phase| phase.cpus.is_some());
        let changes = self.changes_class(thread)?;
        let mut policy = thread.policy;
        for (i, phase) in thread.phases.iter().enumerate() {
            let sets = phase.sched.sets_policy(phase.sched.policy.unwrap_or(policy));
            policy = phase.sched.policy.unwrap_or(policy);
            match phase.sched.realtime(self.cx, policy, &phase.place) {
                Ok(Some(realtime)) if sets && changes => self.call(Call::Realtime(realtime), &phase.place),
                Ok(Some(_)) => {}
                // What the thread reserves goes on.
                Err(_) if !sets => {}
                Err(error) => return Err(error),
                Ok(None) => {
                    if let Some(set) = phase.sched.policy {
                        self.call(Call::IdlePolicy(set == Policy::Idle), &phase.place);
                    }
                    if let Some(nice) = phase.sched.nice(self.cx, policy)? {
                        self.call(Call::Nice(nice), &phase.place);
                    }
                }
            }
            if let Some(ns) = phase.sched.slice_ns(self.cx, policy)? {
                self.call(Call::Slice { ns }, &phase.place);
            }
            self.uclamp(phase.sched.uclamp, &phase.place);
            if moves {
                let cpus = phase.cpus.as_ref().or(thread.cpus.as_ref());
                self.affinity(cpus, cpus.map_or(&phase.place, |cpus| &cpus.place));
            }
            let first = self.ops.len();
            self.push(Op::Begin, &phase.place);
            for step in &phase.steps {
                self.step(step);
            }
            self.push(Op::Done, &phase.place);
            self.only_catches_up(phase);
            self.again(first, phase.times, &phase.place);
            if let (None, Some(next)) = (phase.times, thread.phases.get(i + 1)) {
                let what = format!("the phase is never reached: the one in line {} repeats for ever", phase.place.line);
                self.cx.refuse(&next.place, &what, "it is left out")?;
                break;
            }
        }
        let endless = thread.phases.iter().any(|phase| phase.times.is_none());
        if !endless {
            self.again(begin, thread.times, &thread.place);
        }
        Ok(())
    }

    /// Warns of a phase that repeats, and whose only wait is an absolute timer with a period shorter than its work.
    fn only_catches_up(&self, phase: &Phase) {
        let mut timers = phase.steps.iter().filter_map(|step| match &step.event {
            Event::Timer { name, period_ns, .. } => Some((step, name, *period_ns)),
            _ => None,
        });
        let (Some((step, name, period)), None) = (timers.next(), timers.next()) else { return };
        let waits = phase.steps.iter().filter(|step| step.event.blocks()).count();
        let absolute = self.modes[self.timers[name.as_str()] as usize] == TimerMode::Absolute;
        let work: u64 = phase
            .steps
            .iter()
            .map(|step| match step.event {
                Event::Run(ns) | Event::RunFor(ns) => ns,
                _ => 0,
            })
            .sum();
        if absolute && waits == 1 && work > period && phase.times != Some(1) {
            let (work, period) = (work / 1_000, period / 1_000);
            let what = format!(
                "the work of this phase takes {work} us at full speed, longer than the timer's period of {period} us: \
                 with an absolute timer the thread never catches up, never sleeps here, and its slack falls without \
                 end; use a longer period, or \"relative\""
            );
            self.cx.warn(&step.place, what);
        }
    }

    /// Whether some phase sets another policy or priority of the realtime or deadline class than the thread begins
    /// with, or leaves that class or enters it.
    fn changes_class(&self, thread: &Thread) -> Result<bool, WorkloadError> {
        let mut policy = thread.policy;
        for phase in &thread.phases {
            let sets = phase.sched.sets_policy(phase.sched.policy.unwrap_or(policy));
            policy = phase.sched.policy.unwrap_or(policy);
            if sets && phase.sched.realtime(self.cx, policy, &phase.place)? != thread.realtime {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn again(&mut self, to: usize, times: Times, place: &Place) {
        if times != Some(1) {
            self.push(Op::Repeat { to: to as u32, times }, place);
        }
    }

    fn affinity(&mut self, cpus: Option<&Cpus>, place: &Place) {
        let sets = &mut self.shared.cpu_sets;
        let cpus = cpus.map(|cpus| {
            sets.get(&cpus.cpus).copied().unwrap_or_else(|| {
                let number = sets.len() as u32;
                sets.insert(cpus.cpus.clone(), number);
                number
            })
        });
        self.call(Call::Affinity { cpus }, place);
    }
}

/// Returns the threads that are forked by others. Their programs come, in this order, after those of the start.
pub(super) fn forked(threads: &[Thread]) -> Vec<&Thread> {
    let names = threads.iter().flat_map(Thread::steps).filter_map(|step| match &step.event {
        Event::Fork(name) => Some(name),
        _ => None,
    });
    let names: HashSet<&String> = names.collect();
    threads.iter().filter(|thread| names.contains(&thread.name)).collect()
}

/// The names of the threads of the realtime or deadline class that are forked by a thread with another policy or
/// priority, or by one whose phases set some.
fn changed(threads: &[Thread]) -> HashSet<String> {
    let of: HashMap<&str, &Thread> = threads.iter().map(|thread| (thread.name.as_str(), thread)).collect();
    let mut changed = HashSet::new();
    for parent in threads {
        let sets =
            parent.phases.iter().any(|phase| phase.sched.policy.is_some() || phase.sched.sets_policy(parent.policy));
        for step in parent.steps() {
            let Event::Fork(name) = &step.event else { continue };
            if of.get(name.as_str()).is_some_and(|child| sets || child.realtime != parent.realtime) {
                changed.insert(name.clone());
            }
        }
    }
    changed
}

/// Returns the threads that exist from the start.
pub(super) fn of_start(threads: &[Thread]) -> impl Iterator<Item = &Thread> {
    threads.iter().filter(|thread| thread.instances > 0)
}

impl Writer<'_> {
    /// Writes what an event does.
    fn step(&mut self, step: &Step) {
        let place = &step.place;
        let work = |ns| Work::uniform(ns, 0);
        match &step.event {
            Event::Run(ns) => self.push(Op::Run(work(*ns)), place),
            Event::Sleep(ns) => self.push(Op::Sleep(work(*ns)), place),
            Event::RunFor(ns) => self.call(Call::RunFor { ns: *ns }, place),
            Event::Yield => self.call(Call::Yield, place),
            Event::Timer { name, period_ns, .. } => {
                let timer = *self.timers.get(name.as_str()).expect("all timers are known");
                let mode = self.modes[timer as usize];
                self.call(Call::Timer { timer, period_ns: *period_ns, mode }, place);
            }
            Event::Fork(name) => {
                let program = *self.shared.forked.get(name).expect("it was checked that it is there");
                self.push(Op::Fork { program }, place);
            }
            Event::Barrier(name) => {
                let barrier = self.number(Kind::Barrier, name, place);
                self.call(Call::Barrier { barrier }, place);
            }
            Event::SemWait(name) => {
                let semaphore = self.number(Kind::Semaphore, name, place);
                self.call(Call::Down { semaphore }, place);
            }
            Event::SemPost(name) => {
                let semaphore = self.number(Kind::Semaphore, name, place);
                self.call(Call::Up { semaphore }, place);
            }
            event => self.sync(event, place),
        }
    }

    /// Writes what an event does at mutexes and conditions.
    fn sync(&mut self, event: &Event, place: &Place) {
        match event {
            Event::Lock(name) => {
                let mutex = self.number(Kind::Mutex, name, place);
                self.call(Call::Lock { mutex }, place);
            }
            Event::Unlock(name) => {
                let mutex = self.number(Kind::Mutex, name, place);
                self.call(Call::Unlock { mutex }, place);
            }
            Event::Wait { cond, mutex } | Event::Sync { cond, mutex } => {
                let cond = self.number(Kind::Condition, cond, place);
                let mutex = self.number(Kind::Mutex, mutex, place);
                if matches!(event, Event::Sync { .. }) {
                    self.call(Call::Signal { cond }, place);
                }
                self.call(Call::CondWait { cond, mutex }, place);
            }
            Event::Signal(cond) | Event::Broadcast(cond) => {
                let cond = self.number(Kind::Condition, cond, place);
                let all = matches!(event, Event::Broadcast(_));
                self.call(if all { Call::Broadcast { cond } } else { Call::Signal { cond } }, place);
            }
            Event::Suspend(name) | Event::Resume(name) => {
                let cond = self.number(Kind::Condition, name, place);
                let mutex = self.number(Kind::Mutex, name, place);
                let waits = matches!(event, Event::Suspend(_));
                self.call(Call::Lock { mutex }, place);
                self.call(if waits { Call::CondWait { cond, mutex } } else { Call::Broadcast { cond } }, place);
                self.call(Call::Unlock { mutex }, place);
            }
            _ => unreachable!("the others use no mutex and no condition"),
        }
    }

    fn number(&mut self, kind: Kind, name: &str, place: &Place) -> u32 {
        self.shared.resources.number(kind, name, place)
    }
}

/// The timers of a thread: by name their numbers, in the order of their first use, and by number their modes.
///
/// A timer is absolute everywhere if it is so anywhere, in `absolute`: rt-app has the mode at the timer, and sets it as
/// it reads. A timer whose name begins with `unique` is of this thread only.
fn timers_of<'a>(thread: &'a Thread, absolute: &HashSet<String>) -> (HashMap<&'a str, u32>, Vec<TimerMode>) {
    let own: HashSet<&str> = absolute_timers(thread).collect();
    let (mut timers, mut modes) = (HashMap::new(), vec![]);
    for step in thread.steps() {
        let Event::Timer { name, .. } = &step.event else { continue };
        if timers.contains_key(name.as_str()) {
            continue;
        }
        let is_absolute = if unique(name) { own.contains(name.as_str()) } else { absolute.contains(name) };
        timers.insert(name.as_str(), modes.len() as u32);
        modes.push(if is_absolute { TimerMode::Absolute } else { TimerMode::Relative });
    }
    (timers, modes)
}

/// The timers that a thread uses as absolute ones.
fn absolute_timers(thread: &Thread) -> impl Iterator<Item = &str> {
    thread.steps().filter_map(|step| match &step.event {
        Event::Timer { name, absolute: true, .. } => Some(name.as_str()),
        _ => None,
    })
}

/// A mutex, condition, barrier or semaphore, created when a thread names one. A condition and a mutex may have the same
/// name.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    kind: Kind,
    name: String,
    /// Where it is named first.
    pub(super) place: Place,
    /// How many threads meet at a barrier; 0 for a semaphore, 1 for others.
    pub(super) capacity: u32,
}

impl Resource {
    /// Returns what messages call it.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
    }
}

/// All resources of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    all: Vec<Resource>,
    /// By name: the numbers of the resources of that name, of which each has another kind.
    numbers: HashMap<String, Vec<u32>>,
}

impl Resources {
    /// Returns the number of the resource of that kind and name, which is added if it is new.
    fn number(&mut self, kind: Kind, name: &str, place: &Place) -> u32 {
        let number = self.all.len() as u32;
        let same_name = self.numbers.entry(name.to_owned()).or_default();
        let known = same_name.iter().find(|&&number| self.all[number as usize].kind == kind);
        known.copied().unwrap_or_else(|| {
            same_name.push(number);
            // sem_init(): nobody has posted.
            let capacity = u32::from(kind != Kind::Semaphore);
            self.all.push(Resource { kind, name: name.to_owned(), place: place.clone(), capacity });
            number
        })
    }

    /// Returns all barriers, with how many threads meet there: those that name it, each of which may do so once.
    pub(super) fn barriers(cx: &Cx<'_>, threads: &[Thread]) -> Result<Self, WorkloadError> {
        let (mut all, mut meet) = (Resources::default(), vec![]);
        for thread in threads {
            let mut own: HashMap<u32, usize> = HashMap::new();
            for step in thread.steps() {
                let Event::Barrier(name) = &step.event else { continue };
                let number = all.number(Kind::Barrier, name, &step.place);
                if let Some(line) = own.insert(number, step.place.line) {
                    let what = format!("the thread already meets others here in line {line}");
                    let hint =
                        "rt-app counts each use as one more thread to wait for; give each meeting a name of its own";
                    return Err(step
                        .place
                        .error(cx.path, what + "; expected another barrier")
                        .with_hint(Some(hint.into())));
                }
            }
            meet.resize(all.all.len(), 0);
            for number in own.into_keys() {
                meet[number as usize] += thread.instances;
            }
        }
        // A barrier that only forked threads have is refused later.
        all.all.iter_mut().zip(meet).for_each(|(barrier, meet)| barrier.capacity = meet.max(1));
        Ok(all)
    }
}
