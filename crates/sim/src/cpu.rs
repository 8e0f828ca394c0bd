//! A CPU in simulated time.

use crate::ext::TimerSoftirq;
use crate::run::CpuTime;
use crate::tick::Hrtimer;
use smallvec::SmallVec;
use wakelab_sched::balance::{CfsTasks, SdBalance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::CfsRqPelt;
use wakelab_sched::runqueue::{FairRq, Prev, TaskId};

/// The state of a CPU. All but `Idle` end at the CPU's next event. The drawing in `engine.rs` shows what follows what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Idle: it waits for an interrupt.
    Idle,
    /// Entering idle; it cannot be woken before it has entered.
    IdleEntry,
    /// Leaving idle: the IPI is on its way, or the exit takes its time.
    IdleExit,
    /// Running the task's program.
    Run,
    /// Searching for a CPU for a wakee.
    Search(Waking),
    /// `ops.select_cpu()` of a scheduler of sched_ext.
    ExtSelect(Waking),
    /// Waiting for CPUs that it kicked (`SCX_KICK_WAIT` of sched_ext).
    ExtKickWait,
    /// Waiting until the wakee has left its CPU (`smp_cond_load_acquire(&p->on_cpu)`).
    Spin(Waking),
    /// Taking another CPU's run queue lock and enqueueing, until other CPUs see the wakee there; and until when it
    /// holds the lock, ns.
    Enqueue(Waking, u64),
    /// The rest of the enqueue, until the lock is released. On the own run queue: all of it.
    EnqueueEnd(Waking),
    /// Putting the wakee on another CPU's wakelist.
    WakelistSend(Waking),
    /// Enqueueing what others put on this CPU's wakelist.
    WakelistFlush,
    /// A wake-up of a task that has not left its run queue (`ttwu_runnable()`).
    WakeRunnable,
    /// A wake-up of a task whose dequeue was delayed, until it takes that run queue's lock.
    WakeDelayed(Waking),
    /// A wake-up has ended, and at the same moment the CPU goes on.
    WakeEnded,
    /// Waiting for the lock of the own run queue in `__schedule()`.
    LockSchedule(Prev),
    /// A pass of newly idle balancing.
    Newidle,
    /// Waiting for the lock of the own run queue after newly idle balancing.
    NewidleLock,
    /// Switching from this task, or from the idle task, to the current one.
    Switch(Option<TaskId>),
    /// It has picked the task that it has, and goes through `__schedule()` once more.
    PickedAgain,
    /// Forking.
    Fork,
    /// Balancing for CPUs whose tick is stopped.
    NohzBalance,
    /// Handling an interrupt of the workload, or its softirq.
    Interrupt,
}

impl Doing {
    /// The wake-up under way.
    #[inline]
    pub fn waking(&self) -> Option<&Waking> {
        match self {
            Doing::Search(waking)
            | Doing::ExtSelect(waking)
            | Doing::Spin(waking)
            | Doing::Enqueue(waking, _)
            | Doing::EnqueueEnd(waking)
            | Doing::WakelistSend(waking)
            | Doing::WakeDelayed(waking) => Some(waking),
            _ => None,
        }
    }
}

/// An interrupt that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irq {
    /// The wakelist has tasks.
    Wakelist,
    /// A task's timer has expired.
    Timer(TaskId),
    /// `need_resched` was set.
    Resched,
    /// Page tables are freed that the CPU may still use.
    TlbFlush,
    /// The CPU is to balance for those whose tick is stopped.
    Nohz,
    /// The stopper thread is to push the running task to another CPU.
    Stopper,
    /// The CPU is to push realtime tasks that wait.
    RtoPush,
    /// An interrupt of the workload's source of this number.
    Device(u32),
    /// Timers of the scheduler of sched_ext have expired.
    ExtTimer,
    /// The softirq that it raised.
    Softirq(u32),
}

/// The interrupts of an idle CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Another CPU's IPI, which takes this long to arrive, ns.
    Ipi { ns: u64 },
    /// An interrupt of its own: a timer, or an IPI that has arrived already.
    Own,
    /// Its tick.
    Tick,
}

/// A wake-up under way on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// Who is woken.
    pub wakee: TaskId,
    /// `current`; `None` for the idle task.
    pub waker: Option<TaskId>,
    /// `in_task()`.
    pub in_task: bool,
    /// WF_SYNC.
    pub sync: bool,
    /// The chosen CPU. Balancing may move the wakee away again before the waker has released the lock.
    pub dest: Cpu,
    /// The wakee's dequeue was delayed when the waker asked for the lock: it stays where it is.
    pub delayed: bool,
    /// The class chose the CPU (WF_RQ_SELECTED).
    pub selected: bool,
    /// The wake-up moved the wakee to another CPU.
    pub migrated: bool,
}

/// Newly idle balancing under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newidle {
    /// The level of the domain of this pass.
    pub level: usize,
    /// Time that the passes over lower levels have taken, ns.
    pub curr_cost: u64,
    /// When this pass began, ns.
    pub began: u64,
    /// The weight with which a success of this pass counts (NI_RANDOM; 1 without).
    pub weight: u32,
    /// When the next periodic balance of the domains visited so far is due, jiffies.
    pub next_balance: u64,
}

/// One CPU. Events of thousands of CPUs come in turn, so that each finds its CPU's state outside of the caches: what
/// nearly every event reads lies in the first two lines of 64 bytes, what only balancing and timers read at the end.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CpuState {
    /// The CPU's state.
    pub doing: Doing,
    /// The task that runs, or to which the CPU switches.
    pub curr: Option<TaskId>,
    /// `rq->curr == rq->idle`.
    pub curr_idle: bool,
    /// `rq->ttwu_pending`.
    pub ttwu_pending: bool,
    /// TIF_NEED_RESCHED.
    pub need_resched: bool,
    /// TIF_NEED_RESCHED_LAZY.
    pub need_resched_lazy: bool,
    /// The tick is stopped (`ts->tick_stopped`).
    pub tick_stopped: bool,
    /// Wake-ups that chose this CPU, and whose wakees other CPUs do not see here yet: one of each CPU at most.
    pub claims: u16,
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// How many of them are realtime or deadline tasks.
    pub nr_rt: u32,
    /// When its time was last accounted, ns.
    pub since: u64,
    /// How long work takes because of busy SMT siblings, %: 100 while none is busy.
    pub slowdown: u64,
    /// How long work takes at its frequency and capacity: `pm::clocks::FULL` at full speed.
    pub dilation: u64,
    /// The use of its time.
    pub time: CpuTime,
    /// Interrupt time that is to be added to the task's next stretch of work, ns at full speed.
    pub debt: u64,
    /// Summed weight of the queued tasks.
    pub weight: u64,
    /// Until when the run queue's lock is taken, ns.
    pub lock_free: u64,
    /// Softirq time since the last update of the averages, ns, which does not count as running. Only if softirq time is
    /// excluded from the utilisation.
    pub not_running: u64,
    /// `rq->idle_stamp`, ns; 0 while it is not idle.
    pub idle_stamp: u64,
    /// `rq->misfit_task_load`; 0 while the running task fits the CPU.
    pub misfit_task_load: u64,
    /// Interrupts that are pending until the kernel enables them.
    pub irqs: SmallVec<[Irq; 2]>,
    /// `rq->cfs_tasks`.
    pub cfs_tasks: CfsTasks,
    /// `rq->wake_stamp`, jiffies.
    pub wake_stamp: u64,
    /// `rq->avg_idle`, ns.
    pub avg_idle: u64,
    /// `rq->wake_avg_idle`, ns.
    pub wake_avg_idle: u64,
    /// `rq->max_idle_balance_cost`, ns.
    pub max_idle_balance_cost: u64,
    /// `sd_llc->avg_scan_cost`, ns.
    pub avg_scan_cost: u64,
    /// `rq->next_balance`, jiffies.
    pub next_balance: u64,
    /// `rq->active_balance`: a stopper is on its way to push the running task to this CPU.
    pub active_balance: Option<Cpu>,
    /// The run queue's averages.
    pub pelt: CfsRqPelt,
    /// The run queue.
    pub rq: FairRq,
    /// The wakee flips of the idle task, which wakes tasks in timer interrupts.
    pub idle_flips: wakelab_sched::select::WakeeFlips,
    /// Tasks that other CPUs put here for this CPU to enqueue, and whether they migrated (`rq->wake_list`).
    pub wakelist: SmallVec<[(TaskId, bool); 2]>,
    /// The time that enqueueing them takes, ns: as much as those from the farthest CPU.
    pub flush_cost: u64,
    /// The tasks of the wakelist that it is enqueueing.
    pub flushing: SmallVec<[(TaskId, bool); 2]>,
    /// A task has the lock that a program keeps for this CPU (`RunCpuLocked`).
    pub work_locked: bool,
    /// The newly idle balancing under way.
    pub newidle: Newidle,
    /// By level: this CPU's state of the domain.
    pub sd: SmallVec<[SdBalance; 3]>,
    /// The stopper is to push only a task that prefers that CPU's LLC.
    pub active_llc: bool,
    /// `rq->nr_iowait`.
    pub nr_iowait: u32,
    /// `rq->hrtick_timer`.
    pub hrtick: Hrtimer,
    /// How often it has gone through `__schedule()` since it last ran a task, under a scheduler of sched_ext, and since
    /// when, ns.
    pub passes: u32,
    pub passes_since: u64,
    /// Timers of the scheduler of sched_ext.
    pub timer_softirq: TimerSoftirq,
}

// Pointers are half as wide in a browser, where fewer lines are read.
#[cfg(target_pointer_width = "64")]
const _: () =
    assert!(std::mem::offset_of!(CpuState, not_running) == 128 && std::mem::offset_of!(CpuState, pelt) == 256);
