//! Events in simulated time, as the simulator reports them.
//!
//! The simulator calls a [`Sink`] at each event; `()` listens to nothing and costs nothing. Times are ns since the
//! start of the run. Tasks are numbers in the order of their creation, from 0; kworkers come before the workload's
//! tasks.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;
use wakelab_sched::balance::{CpuIdleType, Imbalance, Outcome};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::{Decision, Rules, View, Wakeup};

/// The number of a task.
pub type Task = u32;

/// How a wakee gets to its run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// The waker takes the lock of the run queue and enqueues it.
    Direct,
    /// Through the wakelist (`ttwu_queue_wakelist()`): the target CPU enqueues it.
    Wakelist,
    /// The wakee is still being switched out (`p->on_cpu`): it goes to the wakelist of its own CPU, without a decision.
    OnCpu,
    /// The wakee sleeps but is still on its run queue, because EEVDF delayed its dequeue. It stays there, without a
    /// decision.
    Delayed,
}

/// A dispatch queue of sched_ext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScxDsq {
    /// The local queue of a CPU.
    Local(Cpu),
    /// The global queue of a node.
    Global(u32),
    /// A queue that the scheduler made, by its ID.
    User(u64),
}

impl fmt::Display for ScxDsq {
    /// `local:3`, `global:0`, `0x1f`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScxDsq::Local(cpu) => write!(f, "local:{cpu}"),
            ScxDsq::Global(node) => write!(f, "global:{node}"),
            ScxDsq::User(id) => write!(f, "{id:#x}"),
        }
    }
}

impl FromStr for ScxDsq {
    type Err = ();

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| text.parse().map_err(|_| ());
        match (text.strip_prefix("local:"), text.strip_prefix("global:"), text.strip_prefix("0x")) {
            (Some(cpu), ..) => number(cpu).map(ScxDsq::Local),
            (_, Some(node), _) => number(node).map(ScxDsq::Global),
            (.., Some(id)) => u64::from_str_radix(id, 16).map(ScxDsq::User).map_err(|_| ()),
            _ => Err(()),
        }
    }
}

/// A step of a task under a sched_ext scheduler on the way from its wake-up to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScxStep {
    /// A CPU is chosen for it (`select_task_rq_scx()`).
    Selected,
    /// It joins a CPU's run queue (`enqueue_task_scx()`).
    Joins,
    /// It was stopped (`put_prev_task_scx()`).
    Stopped,
    /// `ops.enqueue()` has put it on no queue: the scheduler has it.
    Held,
    /// It joins a dispatch queue (`dispatch_enqueue()`).
    Queued,
    /// A CPU takes it from a dispatch queue that is not its own (`consume_dispatch_q()`).
    Taken,
    /// It goes from one CPU's run queue to another's (`move_remote_task_to_local_dsq()`).
    Moved,
    /// The core takes it from its queue, to enqueue it again.
    Reenqueued,
    /// It is picked to run (`set_next_task_scx()`).
    Picked,
}

impl ScxStep {
    /// All steps, in the order in which a wait can have them.
    pub const ALL: [ScxStep; 9] = [
        ScxStep::Selected,
        ScxStep::Joins,
        ScxStep::Stopped,
        ScxStep::Held,
        ScxStep::Queued,
        ScxStep::Taken,
        ScxStep::Moved,
        ScxStep::Reenqueued,
        ScxStep::Picked,
    ];

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ScxStep::Selected => "selected",
            ScxStep::Joins => "joins",
            ScxStep::Stopped => "stopped",
            ScxStep::Held => "held",
            ScxStep::Queued => "queued",
            ScxStep::Taken => "taken",
            ScxStep::Moved => "moved",
            ScxStep::Reenqueued => "reenqueued",
            ScxStep::Picked => "picked",
        }
    }
}

/// An event of a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task is created and is about to be placed.
    Fork {
        /// The new task, or the task that executes a program.
        task: Task,
        /// Whether it belongs to the workload; otherwise it is background noise.
        workload: bool,
    },
    /// A wake-up has chosen a CPU, or made no decision ([`Queued::OnCpu`], [`Queued::Delayed`]). The event is of the
    /// time when the decision is made; `began` is when it began.
    Wakeup {
        /// The waking CPU.
        waker_cpu: Cpu,
        /// The waking task; `None` for a timer interrupt on an idle CPU.
        waker: Option<Task>,
        /// The wakee.
        wakee: Task,
        /// Where it ran last.
        prev_cpu: Cpu,
        /// The decision; `None` for [`Queued::OnCpu`], [`Queued::Delayed`], and tasks that may use one CPU only.
        decision: Option<Decision>,
        /// The CPU on whose queue it goes.
        cpu: Cpu,
        /// How it gets to that queue.
        queued: Queued,
        /// When `select_task_rq_fair()` began, ns.
        began: u64,
        /// When `select_idle_cpu()` began its scan of the LLC, ns; `None` if it did not scan.
        scan_began: Option<u64>,
        /// When that scan made its last probe, ns. The modelled cost of tracing the function is before that.
        scan_ended: Option<u64>,
        /// Whether another wake-up had chosen that CPU before and was not yet visible there (a lost claim).
        claimed: bool,
        /// Whether the wakee belongs to the workload.
        workload: bool,
    },
    /// A fork or exec has chosen a CPU, all at one moment. For a fork this comes before the [`Event::Enqueue`] of the
    /// new task. Only sinks with [`Sink::INPUTS`] receive it.
    Placed {
        /// The CPU that forks or execs.
        waker_cpu: Cpu,
        /// The task that forks or execs; `None` for the shell that starts the workload, which is no task of the run.
        waker: Option<Task>,
        /// The new task, or the one that execs.
        task: Task,
        /// Where its parent ran, or where it ran itself.
        prev_cpu: Cpu,
        /// The decision; `None` if it may use one CPU only.
        decision: Option<Decision>,
        /// The CPU on whose queue it goes.
        cpu: Cpu,
        /// Whether it belongs to the workload.
        workload: bool,
    },
    /// A task is on a run queue, visible to all CPUs.
    Enqueue {
        /// The CPU.
        cpu: Cpu,
        /// The task.
        task: Task,
    },
    /// A context switch.
    Switch {
        /// The CPU.
        cpu: Cpu,
        /// The task that ran; `None` for the idle task.
        prev: Option<Task>,
        /// Whether `prev` sleeps or has exited; otherwise it was preempted.
        prev_sleeps: bool,
        /// The task that runs now; `None` for the idle task.
        next: Option<Task>,
    },
    /// A task has done the work of a period, and waits for its periodic timer.
    Period {
        /// The task.
        task: Task,
        /// Its number among the tasks of the workload; tasks that were forked follow those that began with it.
        thread: u32,
        /// How long it is until the timer expires, ns (the slack of rt-app); negative if it has expired already, so
        /// that the period was missed.
        slack_ns: i64,
    },
    /// A CPU begins to wait for the lock of a run queue. There is no event if the lock is free.
    LockWait {
        /// The CPU of the run queue.
        rq: Cpu,
        /// How long the CPU waits, ns.
        ns: u64,
    },
    /// Load balancing has moved a task. If the task was running (the stopper pushed it, or the CPU was just switching
    /// from it), it has lost the CPU with this event: no [`Event::Switch`] has it as `prev`.
    Migrate {
        /// The task.
        task: Task,
        /// The CPU whose run queue it leaves.
        from: Cpu,
        /// The CPU whose run queue it goes to.
        to: Cpu,
    },
    /// Load balancing of a domain has ended. Its migrations follow.
    Balance {
        /// The CPU that balanced.
        cpu: Cpu,
        /// The level of the domain, 0 for the lowest.
        level: u32,
        /// `enum cpu_idle_type`.
        idle: CpuIdleType,
        /// The outcome.
        outcome: Outcome,
        /// The busiest CPU, from which tasks were to be moved.
        busiest: Option<Cpu>,
        /// The kind and amount of load that was to be moved.
        imbalance: Option<Imbalance>,
        /// How many waiting tasks were moved.
        moved: u32,
        /// Whether the stopper of `busiest` is to push its running task (active balance).
        active: bool,
        /// How many run queues `update_sg_lb_stats()` read.
        nr_rqs: u32,
    },
    /// A CPU has entered its idle state, or begins to leave it. Only sinks with [`Sink::INPUTS`] receive this event,
    /// [`Event::IdleState`] and [`Event::Frequency`].
    Idle {
        /// The CPU.
        cpu: Cpu,
        /// Whether it has entered the idle state.
        entered: bool,
    },
    /// The idle governor has chosen a state for an idle CPU. There are such events only if power is modelled.
    IdleState {
        /// The CPU.
        cpu: Cpu,
        /// The number of the state, 0 for the shallowest.
        state: u32,
    },
    /// The frequency of a CPU has changed; at the start of the run, its first frequency. There are such events only if
    /// power is modelled.
    Frequency {
        /// The CPU.
        cpu: Cpu,
        /// kHz.
        khz: u32,
    },
    /// The energy of a package with its cores and clusters since the last such event, as mean power. The event comes at
    /// each jiffy, when measuring begins and at the end of the run, if the machine has a power model.
    Power {
        /// The package, as the topology numbers it.
        package: u32,
        /// The time of the last such event, ns.
        since: u64,
        /// The mean power since then, µW, rounded down.
        uw: u64,
    },
    /// `available_idle_cpu()` or `sched_idle_cpu()` of a CPU has changed.
    Available {
        /// The CPU.
        cpu: Cpu,
        /// The value of `available_idle_cpu()` from now on.
        available: bool,
        /// The value of `sched_idle_cpu()` from now on.
        sched_idle: bool,
    },
    /// `has_idle_cores` of an LLC has changed.
    IdleCores {
        /// The lowest CPU of the LLC.
        llc: Cpu,
        /// The value from now on.
        has_idle_cores: bool,
    },
    /// A periodic balance has summed the utilization of an LLC, and has written `nr_idle_scan` if SIS_UTIL is on
    /// (`update_idle_cpu_scan()`).
    IdleScan {
        /// The lowest CPU of the LLC.
        llc: Cpu,
        /// The summed utilization of the LLC, 1024 for each CPU.
        sum_util: u64,
        /// How many CPUs the LLC has.
        weight: u32,
        /// The new value; `None` with SIS_UTIL off.
        nr_idle_scan: Option<i32>,
    },
    /// A step of a task under a scheduler of sched_ext. Only sinks with [`Sink::INPUTS`] receive it.
    Scx {
        /// The task.
        task: Task,
        /// The CPU on which it happens.
        cpu: Cpu,
        /// The step.
        step: ScxStep,
        /// The operation that does it (`enqueue`); `None` for the core.
        op: Option<&'static str>,
        /// The queue that it joins, or is taken from.
        dsq: Option<ScxDsq>,
        /// How many tasks are on that queue already when it joins.
        queued: Option<u32>,
        /// The CPU that is chosen, or whose run queue it joins.
        to_cpu: Option<Cpu>,
    },
    /// A task has completed a transaction.
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

/// A task that enters the run.
#[derive(Clone, Copy, Debug)]
pub struct NewTask<'a> {
    /// Its number.
    pub task: Task,
    /// Its name.
    pub name: &'a str,
    /// The task that forked it; `None` for tasks that exist from the start, and for those that the shell of the
    /// workload forks.
    pub parent: Option<Task>,
    /// Whether it belongs to the workload; otherwise it is background noise.
    pub workload: bool,
    /// Its nice value, -20 to 19.
    pub nice: i8,
    /// Whether its policy is SCHED_IDLE.
    pub idle_policy: bool,
    /// The CPUs that it may use.
    pub affinity: &'a CpuMask,
    /// Its control group; 0 is the root.
    pub group: u32,
}

/// A control group of a run. It is there from the start to the end.
#[derive(Clone, Copy, Debug)]
pub struct NewGroup<'a> {
    /// Its number, from 1.
    pub group: u32,
    /// The group above, whose number is lower; 0 is the root.
    pub parent: u32,
    /// Its name; `/autogroup-1` of an autogroup.
    pub name: &'a str,
    /// `cpu.weight`, 1 to 10000.
    pub weight: u32,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cpu.max` and `cpu.max.burst`: quota, period and burst, ns; `None` without a limit.
    pub max: Option<[u64; 3]>,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, 0 to 1024; `None` for 0 and 1024.
    pub uclamp: [Option<u32>; 2],
    /// `cpuset.cpus.effective`; `None` for all.
    pub cpus: Option<&'a [Cpu]>,
}

/// The inputs of a decision when it begins.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, V> {
    /// The waker and the wakee.
    pub wakeup: &'a Wakeup<'a>,
    /// The rules of the kernel.
    pub rules: &'a Rules<'a>,
    /// The state of the system.
    pub view: &'a V,
    /// The time between probes, ns: probe number i (from 0) reads its CPU `(i + 1) × probe` after now. `None` if all
    /// CPUs are read now.
    pub probe: Option<u64>,
}

/// A listener to the events of a run.
pub trait Sink {
    /// Whether it listens at all. If not, the simulator compiles to code without it.
    const ON: bool;

    /// Whether it receives the inputs of decisions, the names of tasks, and the events that only a complete record
    /// needs. They cost time to gather.
    const INPUTS: bool = false;

    /// Receives an event at `time`, ns. Times never decrease.
    fn event(&mut self, time: u64, event: &Event);

    /// A control group of the run. Groups come before the tasks of the workload, those above before
    /// those in them.
    fn group(&mut self, _time: u64, _group: &NewGroup<'_>) {}

    /// A task enters the run.
    fn task(&mut self, _time: u64, _task: &NewTask<'_>) {}

    /// A decision begins. If all CPUs are read now, it ends with the next [`Event::Placed`], else with the next
    /// [`Event::Wakeup`] of that waking CPU that has a decision.
    fn inputs<V: View>(&mut self, _time: u64, _inputs: &Inputs<'_, V>) {}

    /// Whether it has failed, so that the run can stop early. The simulator calls this from time to time.
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

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        (**self).group(time, group);
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

/// Both listen; the first one receives each event first.
impl<A: Sink, B: Sink> Sink for (A, B) {
    const ON: bool = A::ON || B::ON;
    const INPUTS: bool = A::INPUTS || B::INPUTS;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        self.0.event(time, event);
        self.1.event(time, event);
    }

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        self.0.group(time, group);
        self.1.group(time, group);
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

/// A listener that may be absent. What has to be gathered for it is gathered either way.
impl<S: Sink> Sink for Option<S> {
    const ON: bool = S::ON;
    const INPUTS: bool = S::INPUTS;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        if let Some(sink) = self {
            sink.event(time, event);
        }
    }

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        if let Some(sink) = self {
            sink.group(time, group);
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

/// A hash over the text of every event with its time, to compare runs. It is comparable within one build of the
/// standard library only.
#[derive(Debug, Default)]
pub struct Digest {
    text: String,
    hash: DefaultHasher,
    events: u64,
}

impl Digest {
    /// The hash so far, and the number of events.
    pub fn finish(&self) -> (u64, u64) {
        (self.hash.finish(), self.events)
    }
}

impl Sink for Digest {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.text.clear();
        write!(self.text, "{time} {event:?}").expect("writing to a string does not fail");
        self.text.hash(&mut self.hash);
        self.events += 1;
    }
}
