//! A CPU in simulated time.

use crate::hrtick::Hrtimer;
use crate::run::CpuTime;
use smallvec::SmallVec;
use wakelab_sched::balance::{CfsTasks, SdBalance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::CfsRqPelt;
use wakelab_sched::runqueue::{FairRq, Prev, TaskId};

/// What a CPU is doing. All but `Idle` end at the CPU's next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nothing; it waits for an interrupt.
    Idle,
    /// Going into the idle state; it cannot be woken before it is there.
    IdleEntry,
    /// Coming out of it: the IPI is on its way, or the exit is.
    IdleExit,
    /// The task's work.
    Run,
    /// Looking for a CPU for a wakee.
    Search,
    /// Waiting for the wakee to get off its CPU (`smp_cond_load_acquire(&p->on_cpu)`).
    Spin,
    /// Taking the run queue's lock and enqueueing, up to where others see it.
    Enqueue,
    /// The rest of it.
    EnqueueEnd,
    /// Putting the wakee on another CPU's wakelist.
    WakelistSend,
    /// Enqueueing what others put on this CPU's wakelist.
    WakelistFlush,
    /// A wake-up of a task that is on its run queue still (`ttwu_runnable()`).
    WakeRunnable,
    /// A wake-up of a task that sleeps and is queued still, up to where it takes that run queue's lock.
    WakeDelayed,
    /// Waiting for the own run queue's lock.
    LockSchedule(Prev),
    /// A newly-idle balance.
    Newidle,
    /// Waiting for the run queue's lock after it.
    NewidleLock,
    /// Switching.
    Switch(Option<TaskId>),
    /// Forking.
    Fork,
    /// Balancing for CPUs whose tick is stopped.
    NohzBalance,
}

/// An interrupt that waits to be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irq {
    /// There is something on the wakelist.
    Wakelist,
    /// A task's timer has expired.
    Timer(TaskId),
    /// `need_resched` was set.
    Resched,
    /// Page tables are freed that the CPU may have loaded.
    TlbFlush,
    /// The CPU is to balance for those whose tick is stopped.
    Nohz,
    /// The stopper thread is to push the running task to another CPU.
    Stopper,
}

/// A wake-up under way on a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Waking {
    /// Who is woken.
    pub wakee: TaskId,
    /// `current`; `None` for the idle task.
    pub waker: Option<TaskId>,
    /// `in_task()`.
    pub in_task: bool,
    /// WF_SYNC.
    pub sync: bool,
    /// The chosen CPU. The wakee may be pulled off it again before the waker has let go of the lock.
    pub dest: Cpu,
    /// The wakee's dequeue was delayed when the lock was asked for: it is to stay where it is.
    pub delayed: bool,
    /// Placement was asked for a CPU (WF_RQ_SELECTED).
    pub selected: bool,
    /// The wake-up moved the wakee to another CPU.
    pub migrated: bool,
    /// Until when the wake-up holds the run queue's lock, ns.
    pub until: u64,
}

/// A newly-idle balance under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newidle {
    /// The domain's level.
    pub level: usize,
    /// Time it has taken on lower levels, ns.
    pub curr_cost: u64,
    /// When this level began, ns.
    pub began: u64,
    /// By how much a success of it counts (NI_RANDOM; 1 without).
    pub weight: u32,
    /// When the next periodic balance is due by the domains that were looked at, jiffies.
    pub next_balance: u64,
}

/// One CPU.
#[derive(Clone, Debug)]
pub struct CpuState {
    /// What it does.
    pub doing: Doing,
    /// Since when, or since when its time is not accounted, ns.
    pub since: u64,
    /// How long work takes while SMT siblings are busy, %: 100 while none is.
    pub slowdown: u64,
    /// How long work takes at its frequency and capacity: `pm::clocks::FULL` at full speed.
    pub dilation: u64,
    /// `rq->curr == rq->idle`.
    pub curr_idle: bool,
    /// Who runs, or is being switched to.
    pub curr: Option<TaskId>,
    /// The run queue.
    pub rq: FairRq,
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// Summed weight of the queued tasks.
    pub weight: u64,
    /// The run queue's averages.
    pub pelt: CfsRqPelt,
    /// Softirq time that is not to count as running, ns, and has not been taken note of; only where softirq time is left out
    /// of the utilisation.
    pub not_running: u64,
    /// Until when the run queue's lock is taken, ns.
    pub lock_free: u64,
    /// SIS_LIMIT: `per_cpu(next_cpu, cpu)`.
    pub next_cpu: Option<Cpu>,
    /// `rq->ttwu_pending`.
    pub ttwu_pending: bool,
    /// Tasks that others put here to be enqueued.
    pub wakelist: SmallVec<[(TaskId, bool); 2]>,
    /// Those of them that it is enqueueing.
    pub flushing: SmallVec<[(TaskId, bool); 2]>,
    /// TIF_NEED_RESCHED.
    pub need_resched: bool,
    /// TIF_NEED_RESCHED_LAZY.
    pub need_resched_lazy: bool,
    /// `rq->hrtick_timer`.
    pub hrtick: Hrtimer,
    /// Interrupts that wait until the kernel enables them.
    pub irqs: SmallVec<[Irq; 2]>,
    /// The wake-up under way.
    pub waking: Option<Waking>,
    /// Wake-ups that chose this CPU and have not been seen yet.
    pub claims: u32,
    /// Whom the idle task woke: timers' interrupts while idle.
    pub idle_flips: wakelab_sched::select::WakeeFlips,
    /// `rq->idle_stamp`, ns; 0 while it is not idle.
    pub idle_stamp: u64,
    /// `rq->avg_idle`, ns.
    pub avg_idle: u64,
    /// `rq->wake_stamp`, jiffies.
    pub wake_stamp: u64,
    /// `rq->wake_avg_idle`, ns.
    pub wake_avg_idle: u64,
    /// `sd_llc->avg_scan_cost`, ns.
    pub avg_scan_cost: u64,
    /// `rq->max_idle_balance_cost`, ns.
    pub max_idle_balance_cost: u64,
    /// `rq->nr_iowait`.
    pub nr_iowait: u32,
    /// Interrupt time to be added to the task's next stretch, ns at full speed.
    pub debt: u64,
    /// `rq->misfit_task_load`; 0 where the running task fits the CPU.
    pub misfit_task_load: u64,
    /// `rq->cfs_tasks`.
    pub cfs_tasks: CfsTasks,
    /// `rq->next_balance`, jiffies.
    pub next_balance: u64,
    /// By level: what is kept of the domain.
    pub sd: SmallVec<[SdBalance; 3]>,
    /// `rq->active_balance`: a stopper is on its way to push the running task to this CPU.
    pub active_balance: Option<Cpu>,
    /// The newly-idle balance under way.
    pub newidle: Newidle,
    /// The tick is stopped (`ts->tick_stopped`).
    pub tick_stopped: bool,
    /// Where its time went.
    pub time: CpuTime,
}
