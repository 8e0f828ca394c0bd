//! What tasks wait for each other with: mutexes, condition variables and barriers, as pthreads make them of futexes,
//! and schbench's lists of tasks that wait to be answered (`xlist_add()`, `xlist_splice()`, `fpost()`, `fwait()`).
//!
//! A step that has to wait stays the task's next one. [`Phase`] says how far the task has come in it, so that it goes
//! on where it was when it has the CPU again: a waker may have taken it off the queue before it slept.

use crate::SimError;
use crate::engine::Sim;
use crate::task::{State, Wait};
use smallvec::SmallVec;
use std::collections::VecDeque;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::Work;

/// A mutex, a condition, a barrier, a semaphore or a list.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The task that holds the mutex; of a list, the task that waits for tasks on it.
    pub owner: Option<TaskId>,
    /// The tasks that wait, in the order in which they will be woken.
    pub queue: VecDeque<TaskId>,
    /// The semaphore's count: how many tasks can take it without waiting.
    pub count: u32,
}

impl Sync {
    /// A resource that nobody holds or waits for. `capacity` is the semaphore's count.
    pub fn new(capacity: u32) -> Self {
        Sync { owner: None, queue: VecDeque::new(), count: capacity }
    }
}

/// How far a task has come in a step that may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// The step has not begun.
    #[default]
    Fresh,
    /// In the queue.
    Queued,
    /// A waker has taken it off the queue.
    Woken,
}

/// The state of a task's system calls. What each step of a program reads comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Calls {
    /// How far it has come in its present step.
    pub phase: Phase,
    /// The tasks that it has taken off a list and still has to answer, in order.
    pub serving: VecDeque<TaskId>,
    /// The mutexes that it holds.
    pub held: SmallVec<[u32; 1]>,
    /// When it was forked, ns.
    pub started: u64,
    /// By timer: when it expires next, ns; `None` before it is used.
    pub timers: SmallVec<[Option<u64>; 1]>,
    /// The CPU whose lock the `RunCpuLocked` that it is in takes, and whether it has it.
    pub cpu_lock: Option<(Cpu, bool)>,
    /// When the `RunFor` or `SpinFor` that it is in began, ns.
    pub run_for: Option<u64>,
    /// When a call last let the run queue choose, ns, and how often before at the same moment.
    pub rescheduled: (u64, u32),
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `pthread_mutex_lock()`. Returns whether the task sleeps.
    pub fn lock_mutex(&mut self, cpu: Cpu, id: TaskId, mutex: u32) -> bool {
        let sync = &mut self.sys.syncs[mutex];
        if sync.owner.is_some() {
            sync.queue.push_back(id);
            self.block(cpu, id, Wait::Mutex(mutex));
            return true;
        }
        sync.owner = Some(id);
        let task = &mut self.sys.tasks[id];
        task.calls.held.push(mutex);
        task.calls.phase = Phase::Fresh;
        task.pc += 1;
        false
    }

    /// `pthread_mutex_unlock()`: frees the mutex, and notes the first waiter to be woken (`FUTEX_WAKE` of one).
    pub fn free_mutex(&mut self, id: TaskId, mutex: u32) {
        let sync = &mut self.sys.syncs[mutex];
        if sync.owner != Some(id) {
            let name = &self.sys.model.workload.channels[mutex as usize].name;
            let text = format!("task {} unlocks mutex {name}, which it does not hold", self.sys.task_name(id));
            self.failed = Some(SimError::Workload(text));
            return;
        }
        sync.owner = None;
        let first = sync.queue.pop_front();
        let task = &mut self.sys.tasks[id];
        task.calls.held.retain(|held| *held != mutex);
        task.add_to_wake(first.map(|waiter| (waiter, false)));
    }

    /// `pthread_cond_wait()`. Returns whether the task sleeps.
    pub fn cond_wait(&mut self, cpu: Cpu, id: TaskId, cond: u32, mutex: u32) -> bool {
        match self.sys.tasks[id].calls.phase {
            Phase::Fresh => {
                self.free_mutex(id, mutex);
                self.sys.syncs[cond].queue.push_back(id);
                self.sys.tasks[id].calls.phase = Phase::Queued;
                // The task that waits for the mutex is woken before this one sleeps.
                false
            }
            Phase::Queued => {
                self.block(cpu, id, Wait::Condition(cond));
                true
            }
            Phase::Woken => self.lock_mutex(cpu, id, mutex),
        }
    }

    /// Takes the first waiter of a condition or a barrier off its queue, or all, and notes them for `id` to wake.
    pub fn release(&mut self, id: TaskId, sync: u32, all: bool) {
        let queue = &mut self.sys.syncs[sync].queue;
        let count = if all { queue.len() } else { queue.len().min(1) };
        for waiter in queue.drain(..count).collect::<SmallVec<[TaskId; 4]>>() {
            let task = &mut self.sys.tasks[waiter];
            task.calls.phase = Phase::Woken;
            // A task that has not gone to sleep yet sees the futex's new value, and does not sleep.
            if let State::Sleeping(_) = task.state {
                self.sys.tasks[id].add_to_wake([(waiter, false)]);
            }
        }
    }

    /// `pthread_barrier_wait()`. Returns whether the task sleeps.
    pub fn barrier(&mut self, cpu: Cpu, id: TaskId, barrier: u32) -> bool {
        let meet = self.sys.model.workload.channels[barrier as usize].capacity as usize;
        let task = &mut self.sys.tasks[id];
        if task.calls.phase == Phase::Fresh && self.sys.syncs[barrier].queue.len() + 1 < meet {
            task.calls.phase = Phase::Queued;
            self.sys.syncs[barrier].queue.push_back(id);
            self.block(cpu, id, Wait::Barrier(barrier));
            return true;
        }
        if task.calls.phase == Phase::Fresh {
            self.release(id, barrier, true);
        }
        let task = &mut self.sys.tasks[id];
        task.calls.phase = Phase::Fresh;
        task.pc += 1;
        false
    }

    /// What a task waits for at a mutex, a condition, a barrier, a semaphore or a list, for the report of a deadlock.
    pub fn sync_text(&self, wait: Wait) -> String {
        let name = |sync: u32| &self.sys.model.workload.channels[sync as usize].name;
        match wait {
            Wait::Mutex(mutex) => match self.sys.syncs[mutex].owner {
                Some(owner) => format!("mutex {}, which {} holds", name(mutex), self.sys.task_name(owner)),
                None => format!("mutex {}", name(mutex)),
            },
            Wait::Condition(cond) => format!("a signal of condition {}", name(cond)),
            Wait::Barrier(barrier) => {
                let meet = self.sys.model.workload.channels[barrier as usize].capacity;
                let come = self.sys.syncs[barrier].queue.len();
                format!("barrier {}, where {come} of {meet} have come", name(barrier))
            }
            Wait::Semaphore(semaphore) => format!("semaphore {}", name(semaphore)),
            Wait::Answer(list) => format!("an answer on {}", name(list)),
            Wait::Asker(list) => format!("somebody on {}", name(list)),
            _ => unreachable!("it waits for something else"),
        }
    }

    /// Whether a task that exits holds a mutex, which fails the run: the kernel would leave it locked for ever.
    pub fn exits_with_mutex(&mut self, id: TaskId) -> bool {
        let Some(&mutex) = self.sys.tasks[id].calls.held.first() else { return false };
        let name = &self.sys.model.workload.channels[mutex as usize].name;
        let text =
            format!("task {} exits while it holds mutex {name}; unlock it before the end", self.sys.task_name(id));
        self.failed = Some(SimError::Workload(text));
        true
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Puts the task at the head of the list, wakes the task that waits for the list, and waits for an answer. Returns
    /// whether the task sleeps.
    pub fn ask(&mut self, cpu: Cpu, id: TaskId, list: u32) -> bool {
        match self.sys.tasks[id].calls.phase {
            Phase::Fresh => {
                let sync = &mut self.sys.syncs[list];
                sync.queue.push_front(id);
                let awaits = sync.owner.take();
                let task = &mut self.sys.tasks[id];
                task.calls.phase = Phase::Queued;
                // The task that waits for the list is woken before this one sleeps.
                task.add_to_wake(awaits.map(|waiter| (waiter, false)));
                false
            }
            Phase::Queued => {
                self.block(cpu, id, Wait::Answer(list));
                true
            }
            Phase::Woken => {
                let task = &mut self.sys.tasks[id];
                task.calls.phase = Phase::Fresh;
                task.pc += 1;
                false
            }
        }
    }

    /// Waits until a task is on the list. Returns whether the caller sleeps.
    pub fn await_list(&mut self, cpu: Cpu, id: TaskId, list: u32) -> bool {
        let sync = &mut self.sys.syncs[list];
        if sync.queue.is_empty() {
            sync.owner = Some(id);
            self.block(cpu, id, Wait::Asker(list));
            return true;
        }
        self.sys.tasks[id].pc += 1;
        false
    }

    /// Takes all tasks off the list at one moment, at which their transactions begin, and wakes them one after another.
    pub fn serve(&mut self, id: TaskId, list: u32, each: Work) {
        if self.sys.tasks[id].calls.phase == Phase::Fresh {
            let asked = std::mem::take(&mut self.sys.syncs[list].queue);
            for task in &asked {
                self.sys.tasks[*task].begun = self.sys.now;
            }
            let calls = &mut self.sys.tasks[id].calls;
            calls.serving = asked;
            calls.phase = Phase::Queued;
        } else if let Some(first) = self.sys.tasks[id].calls.serving.pop_front() {
            let asked = &mut self.sys.tasks[first];
            asked.calls.phase = Phase::Woken;
            // A task that has not gone to sleep yet sees the futex's new value, and does not sleep.
            if let State::Sleeping(_) = asked.state {
                self.sys.tasks[id].add_to_wake([(first, false)]);
            }
        }
        let more = !self.sys.tasks[id].calls.serving.is_empty();
        let cost = if more { self.random.work(each, &self.sys.model.workload.distributions) } else { 0 };
        let task = &mut self.sys.tasks[id];
        task.left += cost;
        if !more {
            task.calls.phase = Phase::Fresh;
            task.pc += 1;
        }
    }
}
