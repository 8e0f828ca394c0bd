//! What happens in simulated time, as the simulator tells it.
//!
//! The simulator calls a [`Sink`] at each event; `()` listens to nothing and costs nothing. Times are ns since the start
//! of the run, tasks are numbers in the order of their creation, 0 upwards (kworkers come before the workload's tasks).

use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::Decision;

/// A task's number.
pub type Task = u32;

/// How a wakee came to its run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// The waker took the run queue's lock and enqueued it.
    Direct,
    /// Through the wakelist: the target CPU enqueued it.
    Wakelist,
    /// The wakee was still being switched out: queued on its own CPU's wakelist, without a choice.
    OnCpu,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task is created and about to be placed.
    Fork {
        /// The new task.
        task: Task,
        /// Whether it belongs to the workload; else it is background noise.
        workload: bool,
    },
    /// A wake-up chose a CPU (or, for [`Queued::OnCpu`], had none to choose). Told when the choice is made; `began` is
    /// when the choice began.
    Wakeup {
        /// The waking CPU.
        waker_cpu: Cpu,
        /// The waking task; `None` for a timer's interrupt on an idle CPU.
        waker: Option<Task>,
        /// The woken task.
        wakee: Task,
        /// Where it ran last.
        prev_cpu: Cpu,
        /// The choice; `None` for [`Queued::OnCpu`].
        decision: Option<Decision>,
        /// The CPU on whose queue it goes.
        cpu: Cpu,
        /// How it will come to that queue.
        queued: Queued,
        /// When `select_task_rq_fair()` began, ns.
        began: u64,
        /// When `select_idle_cpu()` began its walk, if it did.
        walk_began: Option<u64>,
        /// When it had made its last look, ns; what a tracer of the function costs comes before.
        walk_ended: Option<u64>,
        /// Whether the chosen CPU had been claimed already by another wake-up that was not yet visible.
        claimed: bool,
        /// Whether the wakee belongs to the workload.
        workload: bool,
    },
    /// A task is on a run queue, seen by all.
    Enqueue {
        /// The CPU.
        cpu: Cpu,
        /// The task.
        task: Task,
    },
    /// A CPU has switched.
    Switch {
        /// The CPU.
        cpu: Cpu,
        /// Who ran; `None` for the idle task.
        prev: Option<Task>,
        /// Whether `prev` sleeps (or has exited).
        prev_sleeps: bool,
        /// Who runs; `None` for the idle task.
        next: Option<Task>,
    },
    /// Balancing moved a waiting task.
    Migrate {
        /// The task.
        task: Task,
        /// From this CPU's queue.
        from: Cpu,
        /// To this CPU's.
        to: Cpu,
    },
    /// A periodic balance has summed up an LLC, and written `nr_idle_scan` if SIS_UTIL is on.
    IdleScan {
        /// The lowest CPU of the LLC.
        llc: Cpu,
        /// The LLC's summed utilisation, 1024 for each CPU.
        sum_util: u64,
        /// How many CPUs are in it.
        weight: u32,
        /// The new number; `None` with SIS_UTIL off.
        nr_idle_scan: Option<i32>,
    },
    /// A task did one transaction.
    Done {
        /// The task.
        task: Task,
        /// How long it took, ns.
        latency: u64,
    },
    /// A task has exited.
    Exit {
        /// The task.
        task: Task,
    },
}

/// Who listens.
pub trait Sink {
    /// Whether anybody does.
    const ON: bool;

    /// An event at `time`, ns. Times never go back.
    fn event(&mut self, time: u64, event: &Event);
}

impl Sink for () {
    const ON: bool = false;

    #[inline(always)]
    fn event(&mut self, _: u64, _: &Event) {}
}
