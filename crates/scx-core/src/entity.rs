//! The state of tasks and CPUs under sched_ext: `struct sched_ext_entity` and `struct scx_rq`.

use crate::dispatch_q::{DispatchQ, Key};
use crate::flags::{SCX_CPUPERF_ONE, SCX_DSQ_INVALID, TASK_INTERRUPTIBLE};
use crate::ops::Op;
use crate::stall::Lately;
use std::collections::VecDeque;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// A dispatch queue by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dsq {
    /// `rq->scx.local_dsq` of a CPU.
    Local(Cpu),
    /// The global queue of a node.
    Global(u32),
    /// A queue that the scheduler created.
    User(u64),
}

/// `p->scx.ops_state`. A program that runs at one moment leaves DISPATCHING before others see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpsState {
    /// `SCX_OPSS_NONE`: the core has the task.
    #[default]
    None,
    /// `SCX_OPSS_QUEUEING`: `ops.enqueue()` runs for it.
    Queueing(u64),
    /// `SCX_OPSS_QUEUED`: the scheduler has it, as number `qseq`.
    Queued(u64),
}

/// `struct sched_ext_entity`, but for what the scheduler writes itself.
#[derive(Clone, Debug)]
pub struct Entity {
    /// `task_cpu()`.
    pub cpu: Cpu,
    /// The number of its affinity mask.
    pub mask: u32,
    /// `p->sched_task_group`, by its number.
    pub group: u32,
    /// `cgrp_moving_from`.
    pub cgrp_moving_from: Option<u32>,
    /// PF_EXITING.
    pub exiting: bool,
    /// It has been initialized, and not left.
    pub ready: bool,
    /// `SCX_TASK_ENABLED`: it is, or was until it exited, one of the class.
    pub enabled: bool,
    /// `SCX_TASK_QUEUED`.
    pub queued: bool,
    /// `p->__state`, but for a task that wakes or is forked: `TASK_RUNNING`, [`TASK_INTERRUPTIBLE`] or `TASK_DEAD`. One
    /// that is only changed runs meanwhile, too.
    pub state: u32,
    /// `SCX_TASK_IN_CUSTODY`.
    pub in_custody: bool,
    /// Where it waits, and its place there.
    pub dsq: Option<(Dsq, Key)>,
    /// `dsq_seq`.
    pub dsq_seq: u64,
    /// `SCX_TASK_IMMED`: it runs at once, or goes back to the scheduler.
    pub immed: bool,
    /// `SCX_TASK_REENQ_*` of `p->scx.flags`: why `ops.enqueue()` gets it back; 0 for other reasons.
    pub reenq_reason: u32,
    /// `ops_state`.
    pub ops_state: OpsState,
    /// `ops_qseq`.
    pub ops_qseq: u64,
    /// `ddsp_dsq_id`.
    pub ddsp_dsq_id: u64,
    /// `ddsp_enq_flags`.
    pub ddsp_enq_flags: u64,
    /// `selected_cpu`.
    pub selected_cpu: Cpu,
    /// It is on its CPU's list of runnable tasks, waiting. Those that joined the list earlier have lower numbers.
    pub runnable: Option<u64>,
    /// Since when, ns (`runnable_at`).
    pub runnable_at: u64,
    /// `SCX_TASK_RESET_RUNNABLE_AT`.
    pub reset_runnable_at: bool,
    /// `scx.weight`, 1 to 10000.
    pub weight: u32,
    /// `se.sum_exec_runtime`, ns.
    pub sum_exec_runtime: u64,
    /// `se.exec_start`, ns.
    pub exec_start: u64,
    /// It is on `rq->scx.ddsp_deferred_locals`.
    pub deferred: bool,
    /// When it joined the class, ns: of a task that was there before the run, 0.
    pub created_at: u64,
    /// `nvcsw`, `nivcsw`: how often it gave its CPU up to sleep, and to others.
    pub switches: [u64; 2],
    /// `sched_info`.
    pub sched_info: SchedInfo,
}

/// `struct sched_info`, ns since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedInfo {
    /// How often it has run.
    pub pcount: u64,
    /// How long it has waited for a CPU in all.
    pub run_delay: u64,
    /// When it last got a CPU.
    pub last_arrival: u64,
    /// Since when it waits for one.
    pub last_queued: Option<u64>,
}

impl Default for Entity {
    fn default() -> Self {
        Entity {
            cpu: 0,
            mask: 0,
            group: 0,
            cgrp_moving_from: None,
            exiting: false,
            ready: false,
            enabled: false,
            queued: false,
            state: TASK_INTERRUPTIBLE,
            in_custody: false,
            dsq: None,
            dsq_seq: 0,
            immed: false,
            reenq_reason: 0,
            ops_state: OpsState::None,
            ops_qseq: 0,
            ddsp_dsq_id: SCX_DSQ_INVALID,
            ddsp_enq_flags: 0,
            selected_cpu: 0,
            runnable: None,
            runnable_at: 0,
            reset_runnable_at: true,
            weight: 100,
            sum_exec_runtime: 0,
            exec_start: 0,
            deferred: false,
            created_at: 0,
            switches: [0; 2],
            sched_info: SchedInfo::default(),
        }
    }
}

/// The class of the task that runs on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curr {
    /// The idle task.
    #[default]
    Idle,
    /// A task of sched_ext.
    Ext(TaskId),
    /// A task of a class above, of which the scheduler sees nothing.
    Above,
}

/// Clocks of a run queue, ns since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// `rq_clock_task()`.
    pub task: u64,
    /// `rq_clock_pelt()`.
    pub pelt: u64,
}

/// `struct scx_rq`.
#[derive(Clone, Debug)]
pub struct ScxRq {
    /// `cpuperf_target`, 0 to 1024.
    pub cpuperf_target: u32,
    /// `arch_scale_freq_capacity()`, 1 to 1024.
    pub freq_capacity: u32,
    /// `cpu_active()`.
    pub active: bool,
    /// `SCX_RQ_ONLINE`: what the scheduler was told.
    pub online: bool,
    /// `local_dsq`.
    pub local_dsq: DispatchQ,
    /// `nr_running`.
    pub nr_running: u32,
    /// `rq->curr`.
    pub curr: Curr,
    /// The task of a higher class that runs, if there is one.
    pub above: Option<TaskId>,
    /// The run queue's clocks, when it was last locked and they were brought up to date.
    pub clocks: Clocks,
    /// `SCX_RQ_IN_BALANCE`.
    pub in_balance: bool,
    /// `rq->next_class`: a task of sched_ext runs, or will as soon as the idle CPU reschedules.
    pub next_ext: bool,
    /// Tasks for the local queues of other CPUs, which wait until this one's lock can be given up.
    pub ddsp_deferred_locals: VecDeque<TaskId>,
    /// `nr_immed`: how many tasks of the local queue have to run at once.
    pub nr_immed: u32,
    /// `deferred_reenq_locals`: tasks of the local queue go back to the scheduler, by `SCX_REENQ_*`.
    pub reenq_local: Option<u64>,
    /// `deferred_reenq_users`: queues of which all tasks do.
    pub reenq_users: Vec<u64>,
    /// `cpu_released`.
    pub cpu_released: bool,
    /// `cpus_to_kick`, with what each is to do, in the order of the CPUs' numbers.
    pub kicks: Vec<(Cpu, Kick)>,
    /// The last to kick it: the operation, `None` for a timer of the scheduler, and its CPU.
    pub kicker: Option<(Option<Op>, Cpu)>,
    /// `cpus_to_wait`: those of them that it waits for (`SCX_KICK_WAIT`), in the same order.
    pub cpus_to_wait: Vec<Cpu>,
    /// `cpus_to_sync` with the CPU's `scx_kick_syncs`: whom it waits for, and their `kick_sync` when they were kicked.
    /// Up to 6.18 `cpus_to_wait` with `scx_kick_cpus_pnt_seqs`, in 6.18 `scx_kick_pseqs`.
    pub cpus_to_sync: Vec<(Cpu, u64)>,
    /// `kick_sync`, up to 6.18 `pnt_seq`: how often the CPU has done what those that wait for it wait for.
    pub kick_sync: u64,
    /// `kick_sync_pending`: its next pick begins the wait.
    pub kick_sync_pending: bool,
    /// `kick_sync_bal_cb` is queued: the CPU waits when it has scheduled. Up to 6.18: it waits in the interrupt.
    pub kick_sync_waits: bool,
    /// The last steps of the CPU, which explain a stall.
    pub lately: Lately,
}

impl Default for ScxRq {
    /// A CPU that runs at its highest frequency, as the scheduler asks for until it asks for another.
    fn default() -> Self {
        ScxRq {
            cpuperf_target: SCX_CPUPERF_ONE,
            freq_capacity: SCX_CPUPERF_ONE,
            active: true,
            online: true,
            local_dsq: DispatchQ::default(),
            nr_running: 0,
            curr: Curr::Idle,
            above: None,
            clocks: Clocks::default(),
            in_balance: false,
            next_ext: false,
            ddsp_deferred_locals: VecDeque::new(),
            nr_immed: 0,
            reenq_local: None,
            reenq_users: Vec::new(),
            cpu_released: false,
            kicks: Vec::new(),
            kicker: None,
            cpus_to_wait: Vec::new(),
            cpus_to_sync: Vec::new(),
            kick_sync: 0,
            kick_sync_pending: false,
            kick_sync_waits: false,
            lately: Lately::default(),
        }
    }
}

/// How a CPU is kicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// `SCX_KICK_IDLE`: only if it is idle.
    IfIdle,
    /// It reschedules.
    Resched,
    /// `SCX_KICK_PREEMPT`: its task's slice ends.
    Preempt,
}
