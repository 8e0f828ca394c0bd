//! What happens in simulated time, as the simulator reports it.
//!
//! The simulator calls a [`Sink`] at each event; `()` listens to nothing and costs nothing. Times are ns since the start
//! of the run. Tasks are numbers in the order of their creation, from 0; kworkers come before the workload's tasks.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use wakelab_sched::balance::{CpuIdleType, Imbalance, Outcome};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::{Decision, Rules, View, Wakeup};

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
    /// The wakee slept but had not left its run queue (its dequeue was delayed, EEVDF): it stays there, without a choice.
    Delayed,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task is created and about to be placed.
    Fork {
        /// The new task, or who execs.
        task: Task,
        /// Whether it belongs to the workload; else it is background noise.
        workload: bool,
    },
    /// A wake-up chose a CPU (or, for [`Queued::OnCpu`] and [`Queued::Delayed`], had none to choose). Told when the choice is made; `began` is
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
        /// The choice; `None` where there was none: [`Queued::OnCpu`], [`Queued::Delayed`], or only one CPU is allowed.
        decision: Option<Decision>,
        /// The CPU on whose queue it goes.
        cpu: Cpu,
        /// How it will come to that queue.
        queued: Queued,
        /// When `select_task_rq_fair()` began, ns.
        began: u64,
        /// When `select_idle_cpu()` began its walk, if it did.
        scan_began: Option<u64>,
        /// When it had made its last look, ns; what a tracer of the function costs comes before.
        scan_ended: Option<u64>,
        /// Whether the chosen CPU had been claimed already by another wake-up that was not yet visible.
        claimed: bool,
        /// Whether the wakee belongs to the workload.
        workload: bool,
    },
    /// A new task, or one that execs, was given its CPU, at one moment. Of a new task told before its [`Event::Enqueue`]; and
    /// only to a sink that wants [`Sink::INPUTS`].
    Placed {
        /// The CPU that forks or execs.
        waker_cpu: Cpu,
        /// Who forks or execs; `None` for the shell that starts the workload, which is no task of the run.
        waker: Option<Task>,
        /// The new task.
        task: Task,
        /// Where its parent put it before the choice.
        prev_cpu: Cpu,
        /// The choice; `None` where only one CPU is allowed.
        decision: Option<Decision>,
        /// The CPU on whose queue it goes.
        cpu: Cpu,
        /// Whether it belongs to the workload.
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
    /// Somebody begins to wait for a run queue's lock, which others hold or have asked for before. Not told where it is free.
    LockWait {
        /// Whose run queue.
        rq: Cpu,
        /// How long it waits, ns.
        ns: u64,
    },
    /// Balancing moved a task. One that had the CPU, because the stopper pushed it or because the CPU was just switching from
    /// it, has lost it with this: no [`Event::Switch`] names it as `prev`.
    Migrate {
        /// The task.
        task: Task,
        /// From this CPU's queue.
        from: Cpu,
        /// To this CPU's.
        to: Cpu,
    },
    /// A pass of the balancer over a domain is over; what it moves is told after it. Told only to a sink that wants
    /// [`Sink::INPUTS`], as are the three events that follow.
    Balance {
        /// For this CPU.
        cpu: Cpu,
        /// Over its domain at this level, 0 the lowest.
        level: u32,
        /// What the CPU was doing.
        idle: CpuIdleType,
        /// How it ended.
        outcome: Outcome,
        /// The CPU that tasks were to be taken from.
        busiest: Option<Cpu>,
        /// What was to be moved.
        imbalance: Option<Imbalance>,
        /// How many waiting tasks were moved.
        moved: u32,
        /// The running task of `busiest` is to be pushed by its stopper.
        active: bool,
        /// How many run queues were summed up.
        nr_rqs: u32,
    },
    /// A CPU is in its idle state, or begins to leave it.
    Idle {
        /// The CPU.
        cpu: Cpu,
        /// Whether it has entered.
        entered: bool,
    },
    /// The idle governor has chosen a state for a CPU that is idle. Told where power is modelled, as is the next one.
    IdleState {
        /// The CPU.
        cpu: Cpu,
        /// The state's number, 0 the shallowest.
        state: u32,
    },
    /// A CPU runs at another frequency; at the start, at its first.
    Frequency {
        /// The CPU.
        cpu: Cpu,
        /// kHz.
        khz: u32,
    },
    /// What a package has spent up to now, with its cores and clusters. Told at each jiffy, where measuring begins and at the end, if
    /// the machine says what it spends.
    Power {
        /// The package, as the topology numbers it.
        package: u32,
        /// Since when, ns: the last time that it was told.
        since: u64,
        /// Mean power since then, µW, rounded down.
        uw: u64,
    },
    /// What `available_idle_cpu()` or `sched_idle_cpu()` says of a CPU has changed.
    Available {
        /// The CPU.
        cpu: Cpu,
        /// What `available_idle_cpu()` says now.
        available: bool,
        /// What `sched_idle_cpu()` says now.
        sched_idle: bool,
    },
    /// `has_idle_cores` of an LLC has changed.
    IdleCores {
        /// The lowest CPU of the LLC.
        llc: Cpu,
        /// What it is now.
        has_idle_cores: bool,
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

/// A task, as it comes into the run.
#[derive(Clone, Copy, Debug)]
pub struct NewTask<'a> {
    /// Its number.
    pub task: Task,
    /// What it is called.
    pub name: &'a str,
    /// Who forked it; `None` for those that are there from the start or that the workload's shell forks.
    pub parent: Option<Task>,
    /// Whether it belongs to the workload; else it is background noise.
    pub workload: bool,
    /// Nice, -20 to 19.
    pub nice: i8,
    /// SCHED_IDLE.
    pub idle_policy: bool,
    /// The CPUs it may use.
    pub affinity: &'a CpuMask,
}

/// What a choice of a CPU is made from, at the moment at which it begins.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, V> {
    /// Who wakes whom.
    pub wakeup: &'a Wakeup<'a>,
    /// The rules.
    pub rules: &'a Rules<'a>,
    /// The system.
    pub view: &'a V,
    /// How far looks will lie apart, ns: look number i (from 0) is made `(i + 1) × probe` after now. `None` where all are
    /// made now.
    pub probe: Option<u64>,
}

/// Who listens.
pub trait Sink {
    /// Whether anybody does.
    const ON: bool;

    /// Whether it wants the inputs of choices, names of tasks, and the events that only a record of everything needs. They
    /// cost time to gather.
    const INPUTS: bool = false;

    /// An event at `time`, ns. Times never go back.
    fn event(&mut self, time: u64, event: &Event);

    /// A task comes into the run.
    fn task(&mut self, _time: u64, _task: &NewTask<'_>) {}

    /// A choice of a CPU begins. It ends with the next [`Event::Placed`] where all looks are made now, else with the next
    /// [`Event::Wakeup`] of that waking CPU that has a decision.
    fn inputs<V: View>(&mut self, _time: u64, _inputs: &Inputs<'_, V>) {}

    /// Whether it can take no more, so that the run may as well stop; asked now and then.
    fn gave_up(&self) -> bool {
        false
    }
}

impl Sink for () {
    const ON: bool = false;

    #[inline(always)]
    fn event(&mut self, _: u64, _: &Event) {}
}

impl<S: Sink> Sink for &mut S {
    const ON: bool = S::ON;
    const INPUTS: bool = S::INPUTS;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        (**self).event(time, event);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        (**self).task(time, task);
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        (**self).inputs(time, inputs);
    }

    fn gave_up(&self) -> bool {
        (**self).gave_up()
    }
}

/// Both listen, the first one first.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const ON: bool = A::ON || B::ON;
    const INPUTS: bool = A::INPUTS || B::INPUTS;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        self.0.event(time, event);
        self.1.event(time, event);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        self.0.task(time, task);
        self.1.task(time, task);
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        self.0.inputs(time, inputs);
        self.1.inputs(time, inputs);
    }

    fn gave_up(&self) -> bool {
        self.0.gave_up() || self.1.gave_up()
    }
}

/// A listener that may not be there. What is gathered for it is gathered either way.
impl<S: Sink> Sink for Option<S> {
    const ON: bool = S::ON;
    const INPUTS: bool = S::INPUTS;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        if let Some(sink) = self {
            sink.event(time, event);
        }
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        if let Some(sink) = self {
            sink.task(time, task);
        }
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        if let Some(sink) = self {
            sink.inputs(time, inputs);
        }
    }

    fn gave_up(&self) -> bool {
        self.as_ref().is_some_and(Sink::gave_up)
    }
}

/// Hashes the text of every event with its time. The number is for comparing within one build of the standard library.
#[derive(Debug, Default)]
pub struct Digest {
    text: String,
    hash: DefaultHasher,
    events: u64,
}

impl Digest {
    /// The digest so far, and of how many events it is.
    pub fn finish(&self) -> (u64, u64) {
        (self.hash.finish(), self.events)
    }
}

impl Sink for Digest {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.text.clear();
        write!(self.text, "{time} {event:?}").expect("a string takes all");
        self.text.hash(&mut self.hash);
        self.events += 1;
    }
}
