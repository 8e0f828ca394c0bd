//! System calls beside messages and forks: mutexes, condition variables, barriers, lists, timers, nice values, slices.
//!
//! Mutexes, conditions, barriers and lists are resources of a workload, as channels are: they stand in
//! [`Workload::channels`](crate::Workload::channels), and a step names them by the task's own numbers, as `Send` does.
//! [`Workload::kinds`](crate::Workload::kinds) says which resource is what.
//!
//! No call takes time by itself, but `RunFor` and `Spin`: what it costs is a `Run` beside it. Each wake-up costs what
//! the machine says, and is made by the task that calls, in task context and without the sync hint, as `futex_wake()`
//! does.

use crate::Work;
use serde::Serialize;

/// A system call. Mutexes, conditions and barriers are as pthreads have them.
///
/// Who waits for one of these does so in a queue, and is woken in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `pthread_mutex_lock()`: takes the mutex if it is free; else waits at the end of its queue. Who is woken there
    /// tries again when it runs: if another took the mutex meanwhile, it waits again, at the end.
    Lock {
        /// Which mutex.
        mutex: u32,
    },
    /// `pthread_mutex_unlock()`: the mutex is free from now on, and the first in its queue is woken. The mutex is not
    /// handed over: who asks for it before the woken task runs gets it.
    Unlock {
        /// Which mutex. The task holds it.
        mutex: u32,
    },
    /// `pthread_cond_wait()`: frees the mutex as `Unlock` does and waits at the end of the condition's queue, both at
    /// one moment. When woken, takes the mutex as `Lock` does, for which it may have to wait again; the step is over
    /// when it has it. There are no spurious wake-ups.
    CondWait {
        /// Which condition.
        cond: u32,
        /// Which mutex. The task holds it.
        mutex: u32,
    },
    /// `pthread_cond_signal()`: wakes the first in the condition's queue. Where nobody waits, nothing is remembered.
    Signal {
        /// Which condition.
        cond: u32,
    },
    /// `pthread_cond_broadcast()`: wakes all in the condition's queue, one after another.
    Broadcast {
        /// Which condition.
        cond: u32,
    },
    /// `pthread_barrier_wait()`: waits until as many tasks as the resource's capacity says have come. The last of them
    /// does not wait: it wakes the others, one after another in the order in which they came, and goes on. The count
    /// begins anew as the last one comes, before the others are woken: who comes back early is the first of the next
    /// round.
    Barrier {
        /// Which barrier.
        barrier: u32,
    },
    /// Goes to the head of a list, wakes who awaits it, and waits to be answered by [`Call::Serve`]; goes on at once if
    /// that has come meanwhile. A transaction of the task begins when it is taken off the list.
    Ask {
        /// Which list.
        list: u32,
    },
    /// Waits until somebody is on a list; one task does so for a list.
    Await {
        /// Which list.
        list: u32,
    },
    /// Takes all off a list at one moment, at which their transactions begin, and wakes them one after another, the
    /// last that came first.
    Serve {
        /// Which list.
        list: u32,
        /// The work before each wake-up.
        each: Work,
    },
    /// Takes a message as [`Op::Recv`](crate::Op::Recv) does; but tasks that wait to send need `room` free places. A
    /// pipe frees whole pages, a Unix socket wakes its writers when three quarters are free. They are woken from task
    /// context with the sync hint. The channel is a pipe or a socket by the last such step.
    RecvBatch {
        /// Which of the task's channels.
        channel: u32,
        /// How many places must be free, 1 to the channel's capacity.
        room: u32,
        /// As a socket does: each read that leaves so much room wakes all who wait, one after another, and they go on
        /// as long as there is any. Else as a pipe does (`pipe_read()`, `pipe_write()`): a read that frees the last of
        /// the places, and before 6.14 any from a pipe with less room, wakes the first, who waits again if there are
        /// fewer; and who has waited and leaves as many wakes the next.
        all: bool,
    },
    /// Takes a spin lock, and holds it for a time: waits on its CPU, in the order of asking, until those before it have
    /// let go. A preemption in it is not seen by those who wait.
    Spin {
        /// Which lock.
        lock: u32,
        /// The work under the lock.
        hold: Work,
    },
    /// Waits for I/O (`io_schedule()`): sleeps for a time, and the kernel knows why. Then schedutil boosts the CPU
    /// where it wakes up (SCHED_CPUFREQ_IOWAIT), and the idle governor of the CPU where it slept expects it back soon
    /// (`nr_iowait_cpu()`).
    Io(Work),
    /// `clock_nanosleep()` with `TIMER_ABSTIME`: sleeps until a time of the run. Goes on at once if that is now or
    /// past.
    SleepUntil {
        /// ns from the start of the run.
        at_ns: u64,
    },
    /// Sleeps until a timer expires. `next` of a timer that is used for the first time is the task's start (its fork),
    /// in both modes, as in rt-app's code (`t_first`). Each use adds the period to `next`, and sleeps until `next` if
    /// that is to come. If it is now or past, the task goes on at once, and if the timer is relative, `next` becomes
    /// now.
    Timer {
        /// Which of the task's timers, 0 upwards. A child has its own, not used yet.
        timer: u32,
        /// The period, ns, not 0.
        period_ns: u64,
        /// From where it is counted.
        mode: TimerMode,
    },
    /// `sched_yield()`: stays runnable and lets the run queue choose. Goes on at once where the task is alone there.
    Yield,
    /// `setpriority()`: a nice value, -20 to 19, from now on. Children begin with what their parent has when it forks.
    Nice(i8),
    /// `sched_setscheduler()`: SCHED_IDLE if set, else SCHED_NORMAL, from now on; the nice value stays. Children as
    /// with `Nice`.
    IdlePolicy(bool),
    /// `sched_setattr()` with a `sched_runtime`: the slice that the task asks for, ns, from now on; 0 for the kernel's.
    /// EEVDF since 6.12 clamps it to 0.1 to 100 ms (`__setparam_fair()`); older kernels have no such thing, and a task
    /// of SCHED_IDLE cannot ask (`fair_policy()`): nothing happens then. Children as with `Nice`.
    Slice {
        /// The slice, ns.
        ns: u64,
    },
    /// `sched_setaffinity()` of the task itself: the CPUs it may use from now on. Where they are those it has already,
    /// nothing happens. A task that runs on a CPU which is not among them stops there and goes on at one of them, as
    /// with the kernel's migration thread. Children as with `Nice`.
    Affinity {
        /// Index in [`Workload::cpu_sets`](crate::Workload::cpu_sets); `None` for all CPUs.
        cpus: Option<u32>,
    },
    /// `execve()`: what the task had in memory is gone, so that `sched_exec()` looks for a CPU for it through the slow
    /// path, as for a fork. What the call costs is a `Run` after it, on the CPU where it goes.
    Exec,
    /// rt-app's `runtime`: computes in pieces of [`RUN_FOR_PIECE_NS`] of work, one at least, until so much time has
    /// passed since the step began, whether the task ran in it or waited for a CPU. The clock is read after each piece.
    RunFor {
        /// The time, ns.
        ns: u64,
    },
}

/// How much work `RunFor` does between two looks at the clock, ns at capacity 1024: rt-app 1.0, `loadwait(32)`.
pub const RUN_FOR_PIECE_NS: u64 = 32_000;

impl Call {
    /// The task's own numbers of the resources that it names, with what they are to be.
    pub(crate) fn resources(self) -> [Option<(u32, Kind)>; 2] {
        match self {
            Call::Lock { mutex } | Call::Unlock { mutex } => [Some((mutex, Kind::Mutex)), None],
            Call::CondWait { cond, mutex } => [Some((cond, Kind::Condition)), Some((mutex, Kind::Mutex))],
            Call::Signal { cond } | Call::Broadcast { cond } => [Some((cond, Kind::Condition)), None],
            Call::Barrier { barrier } => [Some((barrier, Kind::Barrier)), None],
            Call::Ask { list } | Call::Await { list } | Call::Serve { list, .. } => [Some((list, Kind::List)), None],
            Call::RecvBatch { channel, .. } => [Some((channel, Kind::Channel)), None],
            Call::Spin { lock, .. } => [Some((lock, Kind::Spinlock)), None],
            _ => [None, None],
        }
    }
}

/// From where a timer's periods are counted, as rt-app's `timer` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerMode {
    /// From the last expiry; where that was missed, from the moment of the miss. Lost time is not caught up.
    Relative,
    /// From the task's start, whatever happens: after a miss the following periods are shorter until it has caught up.
    Absolute,
}

/// What a resource in [`Workload::channels`](crate::Workload::channels) is, by the steps that name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A channel for messages.
    Channel,
    /// A mutex. Its capacity is 1.
    Mutex,
    /// A condition. Its capacity is 1.
    Condition,
    /// A barrier. Its capacity is how many tasks meet there.
    Barrier,
    /// A list of tasks that wait to be answered. Its capacity is 1.
    List,
    /// A spin lock. Its capacity is 1.
    Spinlock,
}

impl Kind {
    /// As messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Channel => "channel",
            Kind::Mutex => "mutex",
            Kind::Condition => "condition",
            Kind::Barrier => "barrier",
            Kind::List => "list",
            Kind::Spinlock => "spinlock",
        }
    }
}
