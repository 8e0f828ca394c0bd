//! A scheduler whose operations are looked at: whether the core calls them in the order that the kernel keeps.
//!
//! The kernel's own tests look for the same (`tools/testing/selftests/sched_ext`: `init_enable_count`, `dequeue`). What
//! the scheduler does not have is not called, and is not looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_scx_core::ext::{Declared, Ext};
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Call, Host, Op, Ops, Scheduler};

/// A scheduler with a shorter timeout, whose operations are looked at.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    scheduler: &'a dyn Scheduler,
    timeout_ms: u32,
    wrong: Arc<Mutex<Option<String>>>,
}

impl<'a> Watched<'a> {
    /// The watchdog ends it after `timeout_ms`, or earlier if it asks for that.
    pub fn new(scheduler: &'a dyn Scheduler, timeout_ms: u32) -> Self {
        Watched { scheduler, timeout_ms, wrong: Arc::default() }
    }

    /// The first call that was out of order.
    pub fn wrong(&self) -> Option<String> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Scheduler for Watched<'_> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn load(&self, host: &Host<'_>) -> Result<(Declared, Box<dyn Ops>), String> {
        let (mut declared, ops) = self.scheduler.load(host)?;
        declared.timeout_ms = match declared.timeout_ms {
            0 => self.timeout_ms,
            own => own.min(self.timeout_ms),
        };
        let order = Order { has: declared.ops, tasks: BTreeMap::new() };
        let in_order = InOrder { order, wrong: Arc::clone(&self.wrong) };
        Ok((declared, Box::new(Listened::new(ops, in_order))))
    }

    fn identity(&self) -> &str {
        self.scheduler.identity()
    }
}

/// What a task has been told to be.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    initialized: bool,
    enabled: bool,
    runnable: bool,
    running: bool,
    enqueued: bool,
}

#[derive(Debug)]
struct Order {
    has: wakelab_scx_core::ops::OpSet,
    tasks: BTreeMap<u32, Told>,
}

impl Order {
    /// What is wrong with a call.
    fn sees(&mut self, call: Call) -> Option<String> {
        let has = self.has;
        let has = |op: Op| has.has(op);
        let p = match call {
            Call::Enqueue { p, .. }
            | Call::Dequeue { p, .. }
            | Call::Runnable { p, .. }
            | Call::Running { p }
            | Call::Stopping { p, .. }
            | Call::Quiescent { p, .. }
            | Call::InitTask { p, .. }
            | Call::ExitTask { p }
            | Call::Enable { p }
            | Call::Disable { p } => p,
            _ => return None,
        };
        let told = self.tasks.entry(p.0).or_default();
        let was = *told;
        // What it has to be before, and the operation that would have made it so.
        let needs = |is: bool, by: Op, what: &'static str| (has(by) && !is).then_some(what);
        let not = |is: bool, by: Op, what: &'static str| (has(by) && is).then_some(what);
        let wrong = match call {
            Call::InitTask { .. } => {
                *told = Told { initialized: true, ..Told::default() };
                not(was.initialized, Op::ExitTask, "a task that is initialized already")
            }
            Call::ExitTask { .. } => {
                told.initialized = false;
                needs(was.initialized, Op::InitTask, "a task that was not initialized")
            }
            Call::Enable { .. } => {
                told.enabled = true;
                not(was.enabled, Op::Disable, "a task that is enabled")
            }
            Call::Disable { .. } => {
                told.enabled = false;
                needs(was.enabled, Op::Enable, "a task that is not enabled")
            }
            Call::Runnable { .. } => {
                told.runnable = true;
                not(was.runnable, Op::Quiescent, "a task that is runnable")
            }
            Call::Quiescent { .. } => {
                told.runnable = false;
                needs(was.runnable, Op::Runnable, "a task that is not runnable").or(not(
                    was.running,
                    Op::Stopping,
                    "a task that runs",
                ))
            }
            Call::Running { .. } => {
                told.running = true;
                not(was.running, Op::Stopping, "a task that is running already").or(needs(
                    was.runnable,
                    Op::Runnable,
                    "a task that is not runnable",
                ))
            }
            Call::Stopping { .. } => {
                told.running = false;
                needs(was.running, Op::Running, "a task that does not run")
            }
            Call::Enqueue { .. } => {
                told.enqueued = true;
                needs(was.runnable, Op::Runnable, "a task that is not runnable").or(not(
                    was.running,
                    Op::Stopping,
                    "a task that runs",
                ))
            }
            _ => {
                told.enqueued = false;
                needs(was.enqueued, Op::Enqueue, "a task that it does not have")
            }
        };
        wrong.map(|what| format!("ops.{}() is called for {what}: pid {}", call.op().name(), p.0 + 1))
    }
}

struct InOrder {
    order: Order,
    wrong: Arc<Mutex<Option<String>>>,
}

impl CallListener for InOrder {
    fn calls(&mut self, ext: &Ext, call: Call) {
        if let Some(what) = self.order.sees(call) {
            let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
            wrong.get_or_insert_with(|| format!("{what}, at {} ns", ext.now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_sched::runqueue::TaskId;

    const P: TaskId = TaskId(4);
    const RUNNABLE: Call = Call::Runnable { p: P, enq_flags: 0 };
    const ENQUEUE: Call = Call::Enqueue { p: P, enq_flags: 0 };
    const DEQUEUE: Call = Call::Dequeue { p: P, deq_flags: 0 };
    const RUNNING: Call = Call::Running { p: P };
    const QUIESCENT: Call = Call::Quiescent { p: P, deq_flags: 0 };

    fn stopping(runnable: bool) -> Call {
        Call::Stopping { p: P, runnable }
    }

    fn wrong(has: &[Op], calls: &[Call]) -> Vec<String> {
        let mut order = Order { has: has.iter().copied().collect(), tasks: BTreeMap::new() };
        calls.iter().filter_map(|&call| order.sees(call)).collect()
    }

    #[test]
    fn a_life_of_a_task_is_in_order() {
        let init = Call::InitTask { p: P, fork: true };
        let life = [
            init,
            Call::Enable { p: P },
            RUNNABLE,
            ENQUEUE,
            DEQUEUE,
            RUNNING,
            stopping(true),
            ENQUEUE,
            DEQUEUE,
            RUNNING,
            stopping(false),
            QUIESCENT,
            Call::Disable { p: P },
            Call::ExitTask { p: P },
            init,
        ];
        assert_eq!(wrong(&Op::ALL, &life), Vec::<String>::new());
    }

    #[test]
    fn calls_out_of_order_are_told() {
        let of = |calls: &[Call]| wrong(&Op::ALL, calls);
        assert_eq!(of(&[RUNNABLE, RUNNABLE]), ["ops.runnable() is called for a task that is runnable: pid 5"]);
        assert_eq!(of(&[RUNNING]), ["ops.running() is called for a task that is not runnable: pid 5"]);
        assert_eq!(of(&[stopping(true)]), ["ops.stopping() is called for a task that does not run: pid 5"]);
        assert_eq!(of(&[DEQUEUE]), ["ops.dequeue() is called for a task that it does not have: pid 5"]);
        assert_eq!(of(&[RUNNABLE, RUNNING, QUIESCENT]).len(), 1);
        assert_eq!(of(&[Call::ExitTask { p: P }]).len(), 1);
        // One that does not hear of the beginning cannot miss it.
        assert_eq!(wrong(&[Op::Running, Op::Quiescent, Op::ExitTask], &[RUNNING, QUIESCENT]), Vec::<String>::new());
    }
}
