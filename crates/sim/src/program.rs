//! Task programs, step by step. Steps that compute, one after another, are one stretch of work with one event at its
//! end. Marks in it (a transaction's begin or end) are dated when its time is accounted, by the work that lies before
//! them.

use crate::SimError;
use crate::cpu::{Doing, Waking};
use crate::engine::{Mode, Sim, ZERO_TIME_STEPS};
use crate::event_queue::TimedEvent;
use crate::task::{Mark, Of, State, Task, Wait};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{Prev, TaskId};
use wakelab_workload::{Call, Op};

/// A stretch of this much work, ns, takes no further steps, so that the stretches of a program that only computes end.
const LONG_STRETCH: u64 = 20_000;

impl<S: Sink> Sim<'_, '_, S> {
    /// The running task goes on with its program.
    pub fn run_task(&mut self, cpu: Cpu, id: TaskId) {
        let model = self.sys.model;
        let c = &mut self.sys.cpus[cpu];
        c.passes = 0;
        let debt = std::mem::take(&mut c.debt);
        if debt != 0 {
            self.sys.tasks[id].add_overhead(debt);
        }
        for _ in 0..ZERO_TIME_STEPS {
            let mut task = &mut self.sys.tasks[id];
            if let Some((wakee, sync)) = task.next_to_wake() {
                return self.wake(cpu, Waking::of(wakee, Some(id), true, sync));
            }
            let op = model.programs[task.program].ops.get(task.pc as usize);
            if task.left != 0 {
                if task.left >= LONG_STRETCH || !op.is_some_and(computes) {
                    return self.compute(cpu);
                }
            } else if task.has_marks() {
                self.date_marks(id);
                task = &mut self.sys.tasks[id];
            }
            if task.state == State::Dead {
                return self.schedule(cpu, Prev::Exits);
            }
            let Some(op) = op else {
                if self.program_ends(cpu, id) {
                    continue;
                }
                return;
            };
            match *op {
                Op::Run(work) => {
                    task.in_softirq = false;
                    task.pc += 1;
                    task.grow(self.random.work(work, &model.workload.distributions));
                    continue;
                }
                Op::Softirq(work) => {
                    task.in_softirq = true;
                    task.pc += 1;
                    let work = self.random.work(work, &model.workload.distributions);
                    task.softirq_work += work;
                    task.grow(work);
                    continue;
                }
                Op::Begin => {
                    self.adds_mark(id, Mark::Begin);
                    continue;
                }
                Op::Done => {
                    self.adds_mark(id, Mark::Done);
                    continue;
                }
                Op::Repeat { to, times } => {
                    repeat(task, to, times);
                    continue;
                }
                // It reads the clock and computes, which takes no event of its own.
                Op::Call(call @ (Call::RunFor { .. } | Call::SpinFor { .. })) => {
                    self.call(cpu, id, call);
                    continue;
                }
                Op::Send { channel, sync } => {
                    let channel = task.channels[channel as usize];
                    if !self.finds_room(cpu, id, channel) {
                        return;
                    }
                    let task = &mut self.sys.tasks[id];
                    let queue = &mut self.sys.channels[channel];
                    task.pc += 1;
                    queue.put(cpu);
                    queue.charge_writer(model, cpu, task);
                    if !queue.readers.is_empty() {
                        let wakee = queue.readers.remove(0);
                        let in_task = !task.in_softirq;
                        return self.wake(cpu, Waking::of(wakee, Some(id), in_task, sync));
                    }
                }
                Op::Recv { channel } => {
                    let channel = task.channels[channel as usize];
                    let queue = &mut self.sys.channels[channel];
                    task.in_softirq = false;
                    let Some(from) = queue.take() else {
                        queue.queue_reader(id, task);
                        return self.block(cpu, id, Wait::Message(channel));
                    };
                    task.pc += 1;
                    queue.charge_reader(model, from, cpu, task);
                    if !queue.writers.is_empty() {
                        let wakee = queue.writers.remove(0);
                        return self.wake(cpu, Waking::of(wakee, Some(id), true, true));
                    }
                }
                Op::Sleep(time) => {
                    task.pc += 1;
                    task.in_softirq = false;
                    if !task.matters() {
                        self.background_sleeps(cpu, id);
                    }
                    let time = self.random.work(time, &model.workload.distributions);
                    if time != 0 {
                        let expires = self.sys.expires(id, time);
                        self.at(expires, TimedEvent::Timer(id));
                        return self.block(cpu, id, Wait::Timer);
                    }
                }
                Op::Fork { program } => {
                    task.pc += 1;
                    return self.fork(cpu, id, program);
                }
                Op::Wait => {
                    task.in_softirq = false;
                    if task.children != 0 {
                        return self.block(cpu, id, Wait::Children);
                    }
                    task.pc += 1;
                    // release_task(): delayed_put_task_struct(), and from it put_cred_rcu().
                    self.sys.call_rcu(cpu, 2);
                }
                Op::Exit => {
                    if !self.program_ends(cpu, id) {
                        return;
                    }
                }
                Op::Call(call) => {
                    if self.call(cpu, id, call) {
                        return;
                    }
                }
            }
            if self.returns_to_schedule(cpu, id) {
                return self.schedule(cpu, Prev::Runs);
            }
        }
        let task = &self.sys.tasks[id];
        self.failed = Some(SimError::Workload(format!(
            "task {} takes {ZERO_TIME_STEPS} steps of its program without any time passing (step {})",
            self.sys.task_name(id),
            task.pc
        )));
    }

    /// A transaction begins or ends at the end of the stretch so far.
    #[inline]
    fn adds_mark(&mut self, id: TaskId, mark: Mark) {
        let task = &mut self.sys.tasks[id];
        task.pc += 1;
        if task.left == 0 {
            self.mark(id, mark, self.sys.now);
        } else {
            task.add_mark(mark);
        }
    }

    /// A transaction begins or ends at `time`, ns.
    pub fn mark(&mut self, id: TaskId, mark: Mark, time: u64) {
        let task = &mut self.sys.tasks[id];
        match mark {
            Mark::Begin => task.begun = time,
            Mark::Done => {
                let latency = time.saturating_sub(task.begun);
                self.emit(|_| Event::Done { task: id.0, latency });
            }
        }
    }

    /// The task computes.
    fn compute(&mut self, cpu: Cpu) {
        self.account(cpu);
        self.sys.cpus[cpu].doing = Doing::Run;
        self.set_run_end(cpu);
    }

    /// A stretch of work is done.
    pub fn run_ends(&mut self, cpu: Cpu) {
        self.account(cpu);
        let id = self.sys.cpus[cpu].curr.expect("a task runs");
        self.sys.tasks[id].softirq_work = 0;
        self.proceed_in(cpu, Mode::User);
    }

    /// A stretch is over: dates the marks at its very end.
    fn date_marks(&mut self, id: TaskId) {
        for (_, mark) in self.sys.tasks[id].take_marks() {
            self.mark(id, mark, self.sys.now);
        }
    }

    /// The program has come to its end: the task exits, or a kworker has done an item. Returns whether the task goes
    /// on.
    fn program_ends(&mut self, cpu: Cpu, id: TaskId) -> bool {
        if self.sys.tasks[id].of == Of::Workqueue && self.sys.tasks[id].calls.held.is_empty() {
            return self.item_ends(cpu, id);
        }
        self.exit(cpu, id);
        false
    }

    /// The task ends.
    fn exit(&mut self, cpu: Cpu, id: TaskId) {
        if self.exits_with_mutex(id) {
            return;
        }
        let task = &mut self.sys.tasks[id];
        task.state = State::Dead;
        let (workload, parent) = (task.workload(), task.parent);
        if workload {
            self.nr_unblocked -= 1;
            self.nr_unexited -= 1;
        }
        self.ext_exiting(cpu, id);
        self.sys.cache_leave(id);
        self.emit(|_| Event::Exit { task: id.0 });
        self.sys.call_rcu(cpu, 1);
        if let Some(parent) = parent {
            let waits = &mut self.sys.tasks[parent];
            waits.children -= 1;
            if waits.children == 0 && waits.state == State::Sleeping(Wait::Children) {
                // exit_notify() wakes the parent; the exiting task goes off its CPU when that is done.
                return self.wake(cpu, Waking::of(parent, Some(id), true, true));
            }
        }
        self.schedule(cpu, Prev::Exits);
    }
}

/// Whether a step can be added to the stretch of work before it.
fn computes(op: &Op) -> bool {
    matches!(op, Op::Run(_) | Op::Softirq(_) | Op::Begin | Op::Done | Op::Repeat { .. })
}

/// Goes back to the step `to`, or on if the steps have been done `times`.
fn repeat(task: &mut Task, to: u32, times: Option<u32>) {
    let pc = task.pc;
    let again = match times {
        None => true,
        Some(times) => match task.loops.iter_mut().find(|(at, _)| *at == pc) {
            Some((_, left)) => {
                *left -= 1;
                *left != 0
            }
            None if times > 1 => {
                task.loops.push((pc, times - 1));
                true
            }
            None => false,
        },
    };
    if again {
        task.pc = to;
    } else {
        task.loops.retain(|(at, _)| *at != pc);
        task.pc += 1;
    }
}
