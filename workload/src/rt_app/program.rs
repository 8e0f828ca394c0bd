//! From threads to programs: the steps of each thread, and the mutexes, conditions and barriers that they name.

use super::event::{Event, Step};
use super::json::{Cx, Place};
use super::policy::Policy;
use super::tasks::unique;
use super::thread::{Cpus, Phase, Thread, Times};
use crate::error::WorkloadError;
use crate::{Call, Kind, Op, Program, TimerMode, Work};

/// What all programs of a file share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) resources: Resources,
    pub(super) cpu_sets: Vec<Vec<u32>>,
}

/// A program that is being written, and the place that each of its steps comes from.
struct Writer<'a> {
    cx: &'a Cx<'a>,
    threads: &'a [Thread],
    shared: &'a mut Shared,
    timers: Vec<(String, TimerMode)>,
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
    threads: &[Thread],
    thread: &Thread,
    forked: bool,
    shared: &mut Shared,
) -> Result<(Program, Vec<Place>), WorkloadError> {
    let timers = timers_of(thread, threads);
    let mut writer = Writer { cx, threads, shared, timers, ops: vec![], places: vec![] };
    if forked {
        writer.call(Call::IdlePolicy(thread.policy == Policy::Idle), &thread.place);
        writer.call(Call::Nice(thread.nice), &thread.place);
        if threads.iter().any(|thread| thread.slice_ns != 0 || thread.phases.iter().any(Phase::sets_slice)) {
            writer.call(Call::Slice { ns: thread.slice_ns }, &thread.place);
        }
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

    /// Writes the delay: the thread sleeps first, and its timers count from the end of that. A timer of this length
    /// does both.
    fn delay(&mut self, thread: &Thread) {
        let ns = thread.delay_ns;
        for timer in 0..if ns > 0 { self.timers.len() } else { 0 } {
            let mode = self.timers[timer].1;
            self.call(Call::Timer { timer: timer as u32, period_ns: ns, mode }, &thread.place);
        }
        if ns > 0 && self.timers.is_empty() {
            self.push(Op::Sleep(Work { ns, jitter_pct: 0 }), &thread.place);
        }
    }

    fn phases(&mut self, thread: &Thread) -> Result<(), WorkloadError> {
        let begin = self.ops.len();
        let moves = thread.phases.iter().any(|phase| phase.cpus.is_some());
        let mut policy = thread.policy;
        for (i, phase) in thread.phases.iter().enumerate() {
            if let Some(set) = phase.sched.policy {
                policy = set;
                self.call(Call::IdlePolicy(set == Policy::Idle), &phase.place);
            }
            if let Some(nice) = phase.sched.nice(self.cx, policy)? {
                self.call(Call::Nice(nice), &phase.place);
            }
            if let Some(ns) = phase.sched.slice_ns(self.cx, policy)? {
                self.call(Call::Slice { ns }, &phase.place);
            }
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

    fn again(&mut self, to: usize, times: Times, place: &Place) {
        if times != Some(1) {
            self.push(Op::Repeat { to: to as u32, times }, place);
        }
    }

    fn affinity(&mut self, cpus: Option<&Cpus>, place: &Place) {
        let sets = &mut self.shared.cpu_sets;
        let cpus = cpus.map(|cpus| {
            let known = sets.iter().position(|set| *set == cpus.cpus);
            known.unwrap_or_else(|| {
                sets.push(cpus.cpus.clone());
                sets.len() - 1
            }) as u32
        });
        self.call(Call::Affinity { cpus }, place);
    }
}

/// Returns the threads that are forked by others. Their programs come, in this order, after those of the start.
pub(super) fn forked(threads: &[Thread]) -> Vec<&Thread> {
    let names = || {
        threads.iter().flat_map(Thread::steps).filter_map(|step| match &step.event {
            Event::Fork(name) => Some(name),
            _ => None,
        })
    };
    threads.iter().filter(|thread| names().any(|name| *name == thread.name)).collect()
}

/// Returns the threads that exist from the start.
pub(super) fn of_start(threads: &[Thread]) -> impl Iterator<Item = &Thread> {
    threads.iter().filter(|thread| thread.instances > 0)
}

/// The number of the program of a forked thread.
fn forked_program(threads: &[Thread], name: &str) -> Option<u32> {
    let at = forked(threads).iter().position(|thread| thread.name == name)?;
    Some((of_start(threads).count() + at) as u32)
}

impl Writer<'_> {
    /// Writes what an event does.
    fn step(&mut self, step: &Step) {
        let place = &step.place;
        let work = |ns| Work { ns, jitter_pct: 0 };
        match &step.event {
            Event::Run(ns) => self.push(Op::Run(work(*ns)), place),
            Event::Sleep(ns) => self.push(Op::Sleep(work(*ns)), place),
            Event::RunFor(ns) => self.call(Call::RunFor { ns: *ns }, place),
            Event::Yield => self.call(Call::Yield, place),
            Event::Timer { name, period_ns, .. } => {
                let timer = self.timers.iter().position(|(known, _)| known == name).expect("all timers are known");
                let (timer, mode) = (timer as u32, self.timers[timer].1);
                self.call(Call::Timer { timer, period_ns: *period_ns, mode }, place);
            }
            Event::Fork(name) => {
                let program = forked_program(self.threads, name).expect("it was checked that it is there");
                self.push(Op::Fork { program }, place);
            }
            Event::Barrier(name) => {
                let barrier = self.number(Kind::Barrier, name, place);
                self.call(Call::Barrier { barrier }, place);
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

/// The timers of a thread in the order of their first use, which numbers them, with their modes.
///
/// A timer is absolute everywhere if it is so anywhere: rt-app has the mode at the timer, and sets it as it reads.
fn timers_of(thread: &Thread, all: &[Thread]) -> Vec<(String, TimerMode)> {
    let mut timers: Vec<(String, TimerMode)> = vec![];
    for step in thread.steps() {
        let Event::Timer { name, .. } = &step.event else { continue };
        if timers.iter().any(|(known, _)| known == name) {
            continue;
        }
        let absolute = |thread: &Thread| {
            thread.steps().any(|step| matches!(&step.event, Event::Timer { name: n, absolute: true, .. } if n == name))
        };
        let absolute = if unique(name) { absolute(thread) } else { all.iter().any(absolute) };
        timers.push((name.clone(), if absolute { TimerMode::Absolute } else { TimerMode::Relative }));
    }
    timers
}

/// A mutex, condition or barrier, created when a thread names one. A condition and a mutex may have the same name.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    kind: Kind,
    name: String,
    /// Where it is named first.
    pub(super) place: Place,
    /// How many threads meet at a barrier; 1 for others.
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
pub(super) struct Resources(pub(super) Vec<Resource>);

impl Resources {
    /// Returns the number of the resource of that kind and name, which is added if it is new.
    fn number(&mut self, kind: Kind, name: &str, place: &Place) -> u32 {
        let known = self.0.iter().position(|resource| resource.kind == kind && resource.name == name);
        let index = known.unwrap_or_else(|| {
            self.0.push(Resource { kind, name: name.to_owned(), place: place.clone(), capacity: 1 });
            self.0.len() - 1
        });
        index as u32
    }

    /// Returns all barriers, with how many threads meet there: those that name it, each of which may do so once.
    pub(super) fn barriers(cx: &Cx<'_>, threads: &[Thread]) -> Result<Self, WorkloadError> {
        let (mut all, mut meet) = (Resources::default(), vec![]);
        for thread in threads {
            let mut own: Vec<(u32, usize)> = vec![];
            for step in thread.steps() {
                let Event::Barrier(name) = &step.event else { continue };
                let number = all.number(Kind::Barrier, name, &step.place);
                if let Some((_, line)) = own.iter().find(|(known, _)| *known == number) {
                    let what = format!("the thread meets others here already in line {line}");
                    let hint = "rt-app counts each use as one more thread that is to come; give each meeting a name \
                                of its own";
                    return Err(step
                        .place
                        .error(cx.path, what + "; expected another barrier")
                        .with_hint(Some(hint.into())));
                }
                own.push((number, step.place.line));
            }
            for (number, _) in own {
                meet.resize(all.0.len(), 0);
                meet[number as usize] += thread.instances;
            }
        }
        // A barrier that only forked threads have is refused later.
        all.0.iter_mut().zip(meet).for_each(|(barrier, meet)| barrier.capacity = meet.max(1));
        Ok(all)
    }
}
