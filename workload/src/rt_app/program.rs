//! From a thread to a program.

use super::cx::{Cx, Place};
use super::event::Event;
use super::phase::{Cpus, Phase, Times};
use super::policy::Policy;
use super::resources::Resources;
use super::thread::Thread;
use super::timers;
use crate::error::WorkloadError;
use crate::{Call, Op, Program, TimerMode, Work};

/// What programs have in common.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) resources: Resources,
    pub(super) cpu_sets: Vec<Vec<u32>>,
}

/// A program that is written, and where each of its steps comes from.
pub(super) struct Writer<'a> {
    cx: &'a Cx<'a>,
    pub(super) threads: &'a [Thread],
    pub(super) shared: &'a mut Shared,
    pub(super) timers: Vec<(String, TimerMode)>,
    ops: Vec<Op>,
    places: Vec<Place>,
}

/// The name of the program of a thread that is forked: it sets first what a thread of the start has already.
pub(super) fn forked_name(thread: &str) -> String {
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
    let timers = timers::of_thread(thread, threads);
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
    pub(super) fn push(&mut self, op: Op, place: &Place) {
        self.ops.push(op);
        self.places.push(place.clone());
    }

    pub(super) fn call(&mut self, call: Call, place: &Place) {
        self.push(Op::Call(call), place);
    }

    /// The thread sleeps first, and its timers count from the end of that. A timer of this length does both.
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
                let what =
                    format!("the phase is never come to: the one in line {} goes round for ever", phase.place.line);
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

/// The threads that are forked by others, in the order of their programs, which come after those of the start.
pub(super) fn forked(threads: &[Thread]) -> Vec<&Thread> {
    let names = || {
        threads.iter().flat_map(Thread::steps).filter_map(|step| match &step.event {
            Event::Fork(name) => Some(name),
            _ => None,
        })
    };
    threads.iter().filter(|thread| names().any(|name| *name == thread.name)).collect()
}

/// Those that are there from the start.
pub(super) fn of_start(threads: &[Thread]) -> impl Iterator<Item = &Thread> {
    threads.iter().filter(|thread| thread.instances > 0)
}

/// The number of the program of a thread that is forked.
pub(super) fn forked_program(threads: &[Thread], name: &str) -> Option<u32> {
    let at = forked(threads).iter().position(|thread| thread.name == name)?;
    Some((of_start(threads).count() + at) as u32)
}
