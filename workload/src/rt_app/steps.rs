//! From an event to steps.

use super::cx::Place;
use super::event::{Event, Step};
use super::program::{Writer, forked_program};
use crate::{Call, Kind, Op, Work};

impl Writer<'_> {
    /// Writes what an event does.
    pub(super) fn step(&mut self, step: &Step) {
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
            event => self.meet(event, place),
        }
    }

    /// Mutexes and conditions, as `run_event()` of rt-app 1.0 has them.
    fn meet(&mut self, event: &Event, place: &Place) {
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
            _ => unreachable!("the others meet nobody"),
        }
    }

    fn number(&mut self, kind: Kind, name: &str, place: &Place) -> u32 {
        self.shared.resources.number(kind, name, place)
    }
}
