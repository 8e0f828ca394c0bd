//! System calls other than messages and forks, and the kernel's part in them: mutexes, condition variables, barriers,
//! semaphores, work for kworkers, lists, timers, nice values, slices.
//!
//! Mutexes, conditions, barriers, semaphores, workqueues and lists are resources of a workload, as channels are: they
//! are in [`Workload::channels`](crate::Workload::channels), and a step names them by the task's own numbers, as `Send`
//! does.
//! [`Workload::kinds`](crate::Workload::kinds) returns what each resource is.
//!
//! No call takes time by itself, except `RunFor`, `SpinFor` and `Spin`: its cost is a `Run` next to it. Each wake-up
//! has the machine's cost, and the calling task makes it, in task context and without the sync hint, as `futex_wake()`
//! does.

use crate::realtime::Realtime;
use crate::work::Work;
use serde::Serialize;

/// A system call. Mutexes, conditions and barriers are those of pthreads.
///
/// A task that waits for one of these does so in a queue; tasks are woken in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `pthread_mutex_lock()`: takes the mutex if it is free; else waits at the end of its queue. A woken task tries
    /// again when it runs: if another task took the mutex meanwhile, it waits again, at the end.
    Lock {
        /// Which mutex.
        mutex: u32,
    },
    /// `pthread_mutex_unlock()`: frees the mutex and wakes the first task in its queue. The mutex is not handed over: a
    /// task that asks for it before the woken task runs gets it.
    Unlock {
        /// Which mutex. The task holds it.
        mutex: u32,
    },
    /// `pthread_cond_wait()`: frees the mutex as `Unlock` does and waits at the end of the condition's queue, both at
    /// one moment. When woken, it takes the mutex as `Lock` does, for which it may have to wait again; the step ends
    /// when it has the mutex. There are no spurious wake-ups.
    CondWait {
        /// Which condition.
        cond: u32,
        /// Which mutex. The task holds it.
        mutex: u32,
    },
    /// `pthread_cond_signal()`: wakes the first task in the condition's queue. If nobody waits, nothing is remembered.
    Signal {
        /// Which condition.
        cond: u32,
    },
    /// `pthread_cond_broadcast()`: wakes all tasks in the condition's queue, one after another.
    Broadcast {
        /// Which condition.
        cond: u32,
    },
    /// `pthread_barrier_wait()`: waits until as many tasks have come as the resource's capacity. The last of them does
    /// not wait: it wakes the others, one after another in the order in which they came, and goes on. The count begins
    /// anew when the last one comes, before the others are woken: a task that comes back early is the first of the next
    /// round.
    Barrier {
        /// Which barrier.
        barrier: u32,
    },
    /// `down()` of a kernel semaphore: takes one of its count; waits at the end of its queue if none is left. Whoever
    /// waits gets it from [`Call::Up`]: no other task can take it before the woken task runs.
    Down {
        /// Which semaphore.
        semaphore: u32,
    },
    /// `up()`: hands the semaphore over to the first task in its queue and wakes it; adds one to its count if nobody
    /// waits. Any task may do so, as in the kernel.
    Up {
        /// Which semaphore.
        semaphore: u32,
    },
    /// `queue_work()` on a bound workqueue (WQ_PERCPU) whose `max_active` is 1: queues an item for the kworker of the
    /// CPU that the task is on. Each workqueue has one kworker on each CPU, of nice value 0, which may use no other
    /// CPU. It takes one item after the other, and sleeps when none is left. When as many items are queued as
    /// the workqueue's capacity, it takes them; those that are queued meanwhile wait for as many again. Use a capacity
    /// above 1 for delayed work that is batched. `done` in an item counts as in a task.
    QueueWork {
        /// Which workqueue.
        workqueue: u32,
        /// The program that the kworker runs for the item: index in [`Workload::programs`](crate::Workload::programs),
        /// from the first step to the end. It has the task's resources, by the task's numbers.
        program: u32,
    },
    /// Adds the task to the head of a list, wakes the task that awaits the list, and waits to be answered by
    /// [`Call::Serve`]; goes on at once if the answer has come meanwhile. A transaction of the task begins when it is
    /// taken off the list.
    Ask {
        /// Which list.
        list: u32,
    },
    /// Waits until a task is on a list. One task does so for a list.
    Await {
        /// Which list.
        list: u32,
    },
    /// Takes all tasks off a list at one moment, at which their transactions begin, and wakes them one after another,
    /// the latest first.
    Serve {
        /// Which list.
        list: u32,
        /// The work before each wake-up.
        each: Work,
    },
    /// Takes a message as [`Op::Recv`](crate::Op::Recv) does, but tasks that wait to send need `room` free places. A
    /// pipe frees whole pages, a Unix socket wakes its writers when three quarters are free. They are woken from task
    /// context with the sync hint. The last such step decides whether the channel is a pipe or a socket.
    RecvBatch {
        /// Which of the task's channels.
        channel: u32,
        /// How many places must be free, 1 to the channel's capacity.
        room: u32,
        /// Whether the channel is a socket: each read that leaves so much room wakes all waiting writers, one after
        /// another, and they go on as long as there is room. Otherwise it is a pipe (`pipe_read()`, `pipe_write()`): a
        /// read that frees the last of the places, and before 6.14 any read from a pipe with less room, wakes the first
        /// writer, which waits again if there is too little room; and a writer that has waited and leaves enough room
        /// wakes the next.
        all: bool,
    },
    /// Takes a spin lock and holds it for a time. It spins on its CPU, first come first served, until those before it
    /// have let go. The waiters do not notice a preemption of the holder.
    Spin {
        /// Which lock.
        lock: u32,
        /// The work under the lock.
        hold: Work,
    },
    /// schbench's `do_work()`: takes the lock of the CPU that it is on (`lock_this_cpu()`), computes, and lets it go,
    /// wherever it is then. A lock that another task has taken is tried again and again, in pieces of
    /// [`CPU_LOCK_PIECE_NS`]; a task that was moved meanwhile takes that of its new CPU. A holder that is preempted
    /// keeps the lock, and the CPU's next task spins.
    RunCpuLocked(Work),
    /// Waits for I/O (`io_schedule()`): sleeps for a time, and the kernel knows the reason. Then schedutil boosts the
    /// CPU where the task wakes up (SCHED_CPUFREQ_IOWAIT), and the idle governor of the CPU where it slept expects it
    /// back soon (`nr_iowait_cpu()`).
    Io(Work),
    /// `clock_nanosleep()` with `TIMER_ABSTIME`: sleeps until a time of the run. Goes on at once if that is now or
    /// past.
    SleepUntil {
        /// ns from the start of the run.
        at_ns: u64,
    },
    /// Sleeps until a timer expires. The first `next` of a timer is the task's start (its fork), in both modes, as in
    /// rt-app's code (`t_first`). Each use adds the period to `next`, and sleeps until `next` if that is in the future.
    /// If it is now or past, the task goes on at once, and if the timer is relative, `next` becomes now.
    Timer {
        /// Which of the task's timers, 0 upwards. A child has its own, not used yet.
        timer: u32,
        /// The period, ns, not 0.
        period_ns: u64,
        /// From where it is counted.
        mode: TimerMode,
    },
    /// `sched_yield()`: stays runnable and lets the run queue choose. The task goes on at once if it is alone there.
    Yield,
    /// `setpriority()`: a nice value, -20 to 19, from now on. Children inherit the value that their parent has when it
    /// forks.
    Nice(i8),
    /// `sched_setscheduler()`: SCHED_IDLE if set, else SCHED_NORMAL, from now on. The nice value stays. Children
    /// inherit it as with `Nice`.
    IdlePolicy(bool),
    /// `sched_setscheduler()` or `sched_setattr()` with a realtime policy, or SCHED_DEADLINE, from now on. If nothing
    /// changes, nothing happens. What the kernel refuses (EBUSY, EPERM) ends the run with an error. Children inherit
    /// the policy, and a task of SCHED_DEADLINE can have none.
    Realtime(Realtime),
    /// `sched_setattr()` with a `sched_runtime`: the slice that the task requests, ns, from now on; 0 for the kernel's.
    /// EEVDF since 6.12 clamps it to 0.1 to 100 ms (`__setparam_fair()`). In older kernels, and for a task of
    /// SCHED_IDLE (`fair_policy()`), nothing happens. Children inherit it as with `Nice`.
    Slice {
        /// The slice, ns.
        ns: u64,
    },
    /// `sched_setattr()` with utilisation clamps: the least and the most utilisation, 0 to 1024, with which the task's
    /// CPU and its frequency are chosen, from now on; `None` leaves one as it is. If the minimum would be above the
    /// maximum, the call fails, which ends the run with an error. Children inherit both as with `Nice`.
    Uclamp {
        /// The minimum.
        min: Option<u32>,
        /// The maximum.
        max: Option<u32>,
    },
    /// `sched_setaffinity()` of the task itself: the CPUs that it may use from now on. If they do not change, nothing
    /// happens. A task that runs on a CPU which is not among them stops there and goes on at one of them, as with the
    /// kernel's migration thread. Children inherit them as with `Nice`.
    Affinity {
        /// Index in [`Workload::cpu_sets`](crate::Workload::cpu_sets); `None` for all CPUs.
        cpus: Option<u32>,
    },
    /// `execve()`: the task's memory is replaced, so that `sched_exec()` searches a CPU for it through the slow path,
    /// as for a fork. The cost of the call is a `Run` after it, on the new CPU.
    Exec,
    /// rt-app's `runtime`: computes in pieces of [`RUN_FOR_PIECE_NS`] of work, at least one, until so much time has
    /// passed since the step began, whether the task ran in it or waited for a CPU. It reads the clock after each
    /// piece.
    RunFor {
        /// The time, ns.
        ns: u64,
    },
    /// schbench's `usec_spin()`: computes until so much time has passed since the step began, whether the task ran in
    /// it or waited for a CPU. It reads the clock all the time; here, each [`RUN_FOR_PIECE_NS`] of work at most, and
    /// again when it should be over.
    SpinFor {
        /// The time, ns.
        ns: u64,
        /// Whether it counts as time of the task's transaction. If not, that is as much shorter.
        counts: bool,
    },
}

/// The work of `RunFor` between two reads of the clock, ns at capacity 1024: rt-app 1.0, `loadwait(32)`.
pub const RUN_FOR_PIECE_NS: u64 = 32_000;

/// The least work of `SpinFor` between two reads of the clock, ns at capacity 1024: schbench's gettimeofday() counts
/// in microseconds.
pub const SPIN_PIECE_NS: u64 = 1_000;

/// The work of `RunCpuLocked` between two looks at a lock that is taken, ns at capacity 1024. schbench looks all the
/// time; a look of its own each time would be an event.
pub const CPU_LOCK_PIECE_NS: u64 = 5_000;

impl Call {
    /// Returns the task's own numbers of the resources that the call names, with the kinds that they must have.
    pub(crate) fn resources(self) -> [Option<(u32, Kind)>; 2] {
        match self {
            Call::Lock { mutex } | Call::Unlock { mutex } => [Some((mutex, Kind::Mutex)), None],
            Call::CondWait { cond, mutex } => [Some((cond, Kind::Condition)), Some((mutex, Kind::Mutex))],
            Call::Signal { cond } | Call::Broadcast { cond } => [Some((cond, Kind::Condition)), None],
            Call::Barrier { barrier } => [Some((barrier, Kind::Barrier)), None],
            Call::Down { semaphore } | Call::Up { semaphore } => [Some((semaphore, Kind::Semaphore)), None],
            Call::QueueWork { workqueue, .. } => [Some((workqueue, Kind::Workqueue)), None],
            Call::Ask { list } | Call::Await { list } | Call::Serve { list, .. } => [Some((list, Kind::List)), None],
            Call::RecvBatch { channel, .. } => [Some((channel, Kind::Channel)), None],
            Call::Spin { lock, .. } => [Some((lock, Kind::Spinlock)), None],
            _ => [None, None],
        }
    }
}

/// The time from which a timer's periods are counted, as in rt-app's `timer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerMode {
    /// From the last expiry, or from the moment of the miss if it was missed. Lost time is not caught up.
    Relative,
    /// From the task's start. After a miss, the following periods are shorter until the task has caught up.
    Absolute,
}

/// The kind of a resource in [`Workload::channels`](crate::Workload::channels), which follows from the steps that name
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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
    /// A semaphore of the kernel. Its capacity is the count that it begins with, 0 or more.
    Semaphore,
    /// A bound workqueue. Its capacity is how many items are queued on a CPU before its kworker takes them.
    Workqueue,
    /// A list of tasks that wait to be answered. Its capacity is 1.
    List,
    /// A spin lock. Its capacity is 1.
    Spinlock,
}

impl Kind {
    /// Returns its name in messages and in the keys of files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Channel => "channel",
            Kind::Mutex => "mutex",
            Kind::Condition => "condition",
            Kind::Barrier => "barrier",
            Kind::Semaphore => "semaphore",
            Kind::Workqueue => "workqueue",
            Kind::List => "list",
            Kind::Spinlock => "spinlock",
        }
    }
}
