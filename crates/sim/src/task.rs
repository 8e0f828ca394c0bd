//! A task in simulated time.

use crate::futex::Calls;
use smallvec::SmallVec;
use std::collections::VecDeque;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::SchedAvg;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::WakeeFlips;
use wakelab_sched::select::policy::{DurAvg, SleepAvg};

/// The reasons why a task sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A message in this channel.
    Message(u32),
    /// Free room in this channel.
    Room(u32),
    /// Its timer.
    Timer,
    /// The end of its children.
    Children,
    /// This mutex.
    Mutex(u32),
    /// A signal of this condition.
    Condition(u32),
    /// The others at this barrier.
    Barrier(u32),
    /// This semaphore.
    Semaphore(u32),
    /// A kworker: items in this workqueue.
    Work(u32),
    /// An answer on this list.
    Answer(u32),
    /// A task on this list.
    Asker(u32),
}

/// `p->__state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not forked yet.
    New,
    /// Runs, or waits for a CPU.
    Runnable,
    /// A wake-up is under way that will enqueue it.
    Waking,
    /// Sleeps.
    Sleeping(Wait),
    /// Has exited.
    Dead,
}

/// The meanings of a mark in a stretch of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A transaction begins.
    Begin,
    /// A transaction is done.
    Done,
}

/// Whether a task waits for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoWait {
    /// No, or it has run since it did.
    #[default]
    No,
    /// Yes, and [`Task::iowait_cpu`] counts it (`nr_iowait`).
    Waits,
    /// It has been woken from it, and has not slept since.
    Woken,
}

/// The owner of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The workload's.
    Workload,
    /// A kworker that does what tasks of the workload queue: they may wait for it.
    Workqueue,
    /// The machine's, for which nobody waits: other kthreads, daemons, the shell.
    Machine,
}

/// One task. What nearly every event of a task reads comes first, as in [`CpuState`](crate::cpu::CpuState).
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Task {
    /// Its state.
    pub state: State,
    /// Index of its program in `Model::programs`.
    pub program: u32,
    /// The next step.
    pub pc: u32,
    /// Its affinity: index in `Model::masks`.
    pub mask: u32,
    /// `task_cpu(p)`.
    pub cpu: Cpu,
    /// `p->recent_used_cpu`.
    pub recent_used_cpu: Cpu,
    /// The CPU that has its cache lines; `None` before it has run.
    pub warm_cpu: Option<Cpu>,
    /// `p->on_cpu`: from the beginning of the switch to it until the end of the switch away from it.
    pub on_cpu: bool,
    /// It may use one CPU only (`nr_cpus_allowed`), so that no CPU has to be chosen.
    pub pinned: bool,
    /// Its owner.
    pub of: Of,
    /// It is in a softirq: its wake-ups do not count as a task's (`in_task()`).
    pub in_softirq: bool,
    /// `marks`, `spinners` and `to_wake` are not empty: nearly every event of a task asks, and should not read their
    /// own lines for it.
    has_marks: bool,
    has_spinners: bool,
    has_to_wake: bool,
    /// `p->in_iowait`.
    pub iowait: IoWait,
    /// Work left of its present stretch, ns at full speed, overhead included.
    pub left: u64,
    /// How much of it is overhead, which is done first: cold caches, interrupts. ns at full speed.
    pub overhead: u64,
    /// How much of it is softirq work, ns at full speed.
    pub softirq_work: u64,
    /// How much work its steps have added to its stretches, ns at full speed. It says where in a stretch a mark is:
    /// what else is added, overhead, is done before the marks.
    pub gathered: u64,
    /// Its average run time between two sleeps.
    pub dur: DurAvg,
    /// Its wakee flips (`p->wakee_flips`).
    pub flips: WakeeFlips,
    /// Its averages.
    pub avg: SchedAvg,
    /// Marks in the stretch: the value of `gathered` at each.
    marks: SmallVec<[(u64, Mark); 2]>,
    /// CPUs that wake it and wait until it has left its CPU.
    spinners: SmallVec<[Cpu; 1]>,
    /// The tasks that it still has to wake before its program goes on, in order, and whether with WF_SYNC (`wake_q`).
    to_wake: VecDeque<(TaskId, bool)>,
    /// The state of its system calls.
    pub calls: Calls,
    /// Its channels, by the program's numbers.
    pub channels: SmallVec<[u32; 2]>,
    /// Loops under way: the step that goes back, and how often it still has to.
    pub loops: SmallVec<[(u32, u32); 2]>,
    /// The CPU that counts it while it waits for I/O.
    pub iowait_cpu: Cpu,
    /// When its transaction began, ns.
    pub begun: u64,
    /// The process whose address space it shares (`p->mm`); `None` if nobody shares its own.
    pub process: Option<u32>,
    /// The memory that it adds to that process's, bytes.
    pub footprint: u64,
    /// Its average sleep, with SIS_CACHE.
    pub sleep: SleepAvg,
    /// The task that forked it, and counts it among its children.
    pub parent: Option<TaskId>,
    /// The task of the workload that forks it; `None` for the shell. It counts no children.
    pub forker: Option<TaskId>,
    /// Children that have not exited.
    pub children: u32,
}

impl Task {
    /// Whether it is a task of the workload.
    #[inline]
    pub fn workload(&self) -> bool {
        self.of == Of::Workload
    }

    /// Whether tasks of the workload may wait for what it does.
    #[inline]
    pub fn matters(&self) -> bool {
        self.of != Of::Machine
    }

    /// Whether it was forked and has not exited.
    pub fn lives(&self) -> bool {
        !matches!(self.state, State::New | State::Dead)
    }

    /// Adds work at the end of its stretch.
    #[inline]
    pub fn grow(&mut self, work: u64) {
        self.left += work;
        self.gathered += work;
    }

    /// Adds overhead to its present stretch, ns at full speed: it is work that comes before the rest.
    #[inline]
    pub fn add_overhead(&mut self, ns: u64) {
        self.left += ns;
        self.overhead += ns;
    }

    /// Marks the end of its stretch so far.
    #[inline]
    pub fn add_mark(&mut self, mark: Mark) {
        self.has_marks = true;
        self.marks.push((self.gathered, mark));
    }

    /// Whether its stretch has marks that are not dated.
    #[inline]
    pub fn has_marks(&self) -> bool {
        self.has_marks
    }

    /// Its first mark that is not dated, and the value of `gathered` there.
    #[inline]
    pub fn first_mark(&self) -> Option<(u64, Mark)> {
        self.marks.first().copied()
    }

    /// Takes its first mark away.
    ///
    /// # Panics
    /// If it has none.
    #[inline]
    pub fn remove_first_mark(&mut self) {
        self.marks.remove(0);
        self.has_marks = !self.marks.is_empty();
    }

    /// Takes all of its marks away.
    #[inline]
    pub fn take_marks(&mut self) -> SmallVec<[(u64, Mark); 2]> {
        self.has_marks = false;
        std::mem::take(&mut self.marks)
    }

    /// A CPU wakes it and waits until it has left its CPU.
    pub fn add_spinner(&mut self, cpu: Cpu) {
        self.has_spinners = true;
        self.spinners.push(cpu);
    }

    /// Takes the CPUs away that wait until it has left its CPU.
    #[inline]
    pub fn take_spinners(&mut self) -> SmallVec<[Cpu; 1]> {
        match std::mem::take(&mut self.has_spinners) {
            true => std::mem::take(&mut self.spinners),
            false => SmallVec::new(),
        }
    }

    /// It has to wake these tasks, too, before its program goes on, with WF_SYNC or not.
    pub fn add_to_wake(&mut self, wakees: impl IntoIterator<Item = (TaskId, bool)>) {
        self.to_wake.extend(wakees);
        self.has_to_wake = !self.to_wake.is_empty();
    }

    /// Whether it still has tasks to wake.
    #[inline]
    pub fn has_to_wake(&self) -> bool {
        self.has_to_wake
    }

    /// Takes the next task that it has to wake.
    #[inline]
    pub fn next_to_wake(&mut self) -> Option<(TaskId, bool)> {
        if !self.has_to_wake {
            return None;
        }
        let next = self.to_wake.pop_front();
        self.has_to_wake = !self.to_wake.is_empty();
        next
    }

    /// A task that has not been forked yet, with `avg` as it will start.
    pub fn new(program: u32, channels: &[u32], mask: u32, pinned: bool, avg: SchedAvg) -> Self {
        Task {
            of: Of::Workload,
            program,
            process: None,
            footprint: 0,
            pc: 0,
            loops: SmallVec::new(),
            channels: SmallVec::from_slice(channels),
            mask,
            pinned,
            state: State::New,
            on_cpu: false,
            cpu: 0,
            warm_cpu: None,
            recent_used_cpu: 0,
            flips: WakeeFlips::default(),
            avg,
            dur: DurAvg::default(),
            sleep: SleepAvg::default(),
            left: 0,
            overhead: 0,
            softirq_work: 0,
            gathered: 0,
            in_softirq: false,
            has_marks: false,
            has_spinners: false,
            has_to_wake: false,
            marks: SmallVec::new(),
            to_wake: VecDeque::new(),
            begun: 0,
            parent: None,
            forker: None,
            children: 0,
            spinners: SmallVec::new(),
            iowait: IoWait::No,
            iowait_cpu: 0,
            calls: Calls::default(),
        }
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Task, marks) == 192);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wakelab_sched::pelt::init_entity_runnable_average;

    proptest! {
        /// The lists of a task are those of plain lists, after any changes.
        #[test]
        fn what_a_task_has_is_what_its_lists_have(steps in prop::collection::vec((0u32..7, 0u32..3), 1..60)) {
            let mut task = Task::new(0, &[], 0, false, init_entity_runnable_average(1024));
            let (mut marks, mut spinners, mut to_wake) = (Vec::new(), Vec::new(), VecDeque::new());
            for (step, n) in steps {
                match step {
                    0 => {
                        task.grow(u64::from(n));
                        task.add_mark(Mark::Begin);
                        marks.push((task.gathered, Mark::Begin));
                    }
                    1 if task.has_marks() => {
                        task.remove_first_mark();
                        marks.remove(0);
                    }
                    2 => prop_assert_eq!(task.take_marks().to_vec(), std::mem::take(&mut marks)),
                    3 => {
                        task.add_spinner(n);
                        spinners.push(n);
                    }
                    4 => prop_assert_eq!(task.take_spinners().to_vec(), std::mem::take(&mut spinners)),
                    5 => {
                        let wakees = (0..n).map(|wakee| (TaskId(wakee), wakee == 0));
                        task.add_to_wake(wakees.clone());
                        to_wake.extend(wakees);
                    }
                    _ => prop_assert_eq!(task.next_to_wake(), to_wake.pop_front()),
                }
                prop_assert_eq!(task.has_marks(), !marks.is_empty());
                prop_assert_eq!(task.first_mark(), marks.first().copied());
                prop_assert_eq!(task.has_to_wake(), !to_wake.is_empty());
            }
        }

        /// Marks are where they would be if each step that adds work moved them away from the end.
        #[test]
        fn marks_keep_their_distance_from_the_end(
            steps in prop::collection::vec((0u32..4, 0u64..50_000), 1..40),
        ) {
            let mut task = Task::new(0, &[], 0, false, init_entity_runnable_average(1024));
            let mut after: Vec<u64> = Vec::new();
            for (step, work) in steps {
                match step {
                    0 => {
                        task.grow(work);
                        after.iter_mut().for_each(|after| *after += work);
                    }
                    1 => {
                        task.add_mark(Mark::Done);
                        after.push(0);
                    }
                    // Overhead is done first, and the stretch gets shorter as it is done.
                    2 => task.left += work,
                    _ => task.left -= work.min(task.left),
                }
                let kept: Vec<u64> = task.marks.iter().map(|(at, _)| task.gathered - at).collect();
                prop_assert_eq!(kept, after.clone());
            }
        }
    }
}
