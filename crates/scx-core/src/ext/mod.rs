//! The core of sched_ext (`kernel/sched/ext/ext.c`, 7.2; `kernel/sched/ext.c`, 6.12 and 6.18).
//!
//! ```text
//! enable       the scheduler begins; tasks join the class and leave it
//! select_cpu   a task wakes: where
//! enqueue      it joins a run queue and a dispatch queue, and leaves them
//! dispatch     a CPU fetches tasks from the scheduler and its queues
//! pick         it takes one, runs it and stops it
//! change       something about a task changes
//! kick, reenq  the scheduler asks for a CPU to reschedule, for tasks to come back
//! deferred     what waits until locks can be given up
//! watchdog     a task has waited for too long
//! call         the way into an operation; which kernel functions it may call
//! kfuncs       kernel functions that are of none of these
//! ```
//!
//! The kernel's functions carry their names. Two things are simpler, because an operation runs at one moment: nobody
//! sees a task in SCX_OPSS_DISPATCHING, or one whose run queue's lock a CPU waits for (`holding_cpu`). What is deferred
//! until locks can be given up is done when the caller says so ([`Ext::run_deferred`]), wherever it was asked for.
//!
//! There is no bypass mode, so that a scheduler that ends stays where it was. Migration is not disabled, and times are
//! in ns where the kernel has jiffies (`runnable_at`).

mod call;
mod change;
mod declared;
mod deferred;
mod dispatch;
mod enable;
mod enqueue;
mod kfuncs;
mod kick;
mod pick;
mod reenq;
mod select_cpu;
mod stats;
mod time;
mod timers;
mod watchdog;

pub use change::Joins;
pub use declared::Declared;
pub use kfuncs::DsqIter;
pub use stats::{ExtStats, OpTime};
pub use time::{ExtCosts, LineCost};
pub use timers::{KTIME_MAX, StartedTimer};

use crate::cgroup::TaskGroups;
use crate::cid::Cids;
use crate::dispatch_q::DispatchQ;
use crate::entity::{Dsq, Entity, ScxRq};
use crate::idle::{Idle, IdleTopology};
use crate::ops::{Call, Exit, ExitKind, Op, pid};
use crate::stall::{Step, Wait};
use std::collections::BTreeMap;
use wakelab_kernel::ExtRules;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::runqueue::TaskId;

/// A request to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `resched_curr()` of a CPU.
    Resched(Cpu),
    /// The same of a CPU that picks: its next task is to be asked to leave at once (`set_tsk_need_resched()`).
    ReschedNext(Cpu),
    /// The task now belongs to another CPU's run queue.
    Moved {
        /// Who.
        task: TaskId,
        /// From where.
        from: Cpu,
        /// To where.
        to: Cpu,
    },
    /// A CPU may have nobody to wait for any more ([`Ext::kick_waits`]).
    KickSynced(Cpu),
    /// The task may use all CPUs from now on: none of its own is left (`select_fallback_rq()`).
    AllCpus(TaskId),
    /// `cpufreq_update_util()` of a CPU: its performance target was set.
    CpuPerf(Cpu),
}

/// Where `scx_bpf_dsq_insert()` puts a task that is being placed or enqueued (`direct_dispatch_task`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direct {
    /// It may be dispatched at once.
    May(TaskId),
    /// It has been.
    Done,
}

/// `struct scx_dsp_ctx`: what an `ops.dispatch()` has asked for so far.
#[derive(Clone, Debug, Default)]
struct DspCtx {
    cpu: Cpu,
    buf: Vec<DspEnt>,
    nr_tasks: u32,
}

/// `struct scx_dsp_buf_ent`.
#[derive(Clone, Copy, Debug)]
struct DspEnt {
    task: TaskId,
    qseq: u64,
    dsq_id: u64,
    enq_flags: u64,
}

const EINVAL: i64 = -22;

/// sched_ext of all CPUs, under one scheduler.
#[derive(Clone, Debug)]
pub struct Ext {
    pub(crate) rules: ExtRules,
    declared: Declared,
    costs: ExtCosts,
    /// `None`: lines cost nothing.
    line_cost: Option<LineCost>,
    masks: Vec<CpuMask>,
    /// The numbers of CPUs by the machine's topology.
    pub cids: Cids,
    /// `cpu_online_mask`.
    pub(crate) online: CpuMask,
    pub(crate) online_seq: u64,
    /// Idle CPUs.
    pub idle: Idle,
    /// By CPU.
    pub rqs: Vec<ScxRq>,
    /// By task.
    tasks: Vec<Entity>,
    /// By task: the steps of its present wait.
    pub(crate) waits: Vec<Wait>,
    /// The steps of all tasks, if somebody asked for them.
    pub(crate) log: Option<Vec<(TaskId, Step)>>,
    /// The operation whose `scx_bpf_dsq_insert()` is being carried out after it has returned.
    placed_by: Option<Op>,
    /// By node.
    global: Vec<DispatchQ>,
    user: BTreeMap<u64, DispatchQ>,
    /// Now, ns.
    pub now: u64,
    /// `smp_processor_id()`.
    pub this_cpu: Cpu,
    /// `current`; `None` for the idle task, and for what is not a task.
    pub current: Option<TaskId>,
    /// The scheduler is being enabled, which was over when the run began: clocks stand.
    pub loads: bool,
    /// `preempt_count()`, as far as it says that this is an interrupt: `HARDIRQ_OFFSET`, `SOFTIRQ_OFFSET` or 0.
    pub preempt_count: u32,
    /// `scx_locked_rq()`.
    pub locked_rq: Option<Cpu>,
    /// The CPU whose run queue's clock is valid (`SCX_RQ_CLK_VALID`), and that clock (`rq->scx.clock`), ns: it was
    /// brought up to date (`update_rq_clock()`), and the lock was not given up since.
    pub clock_valid: Option<(Cpu, u64)>,
    /// The operation that runs.
    running: Option<Call>,
    /// CPUs that wait for others that they kicked with `SCX_KICK_WAIT`.
    kick_waiting: Vec<Cpu>,
    /// CPUs that have deferred work (`schedule_deferred()`), in the order in which they came to it.
    deferred: Vec<Cpu>,
    /// By task: `p->comm`.
    comms: Vec<String>,
    /// Control groups.
    pub(crate) groups: TaskGroups,
    /// How many times tasks have joined the lists of runnable ones.
    runnable_seq: u64,
    direct: Option<Direct>,
    dsp: DspCtx,
    requests: Vec<Request>,
    /// Timers that were started since the caller last asked, by their numbers.
    started_timers: BTreeMap<u32, (u64, Cpu)>,
    /// How many timers that the caller knows of were started anew or cancelled before they expired.
    stale_timers: usize,
    /// The operation that was called last.
    last_op: Option<Op>,
    /// A moment, ns, and the instructions that programs have run at it.
    instant: (u64, u64),
    /// Time that was taken since the caller last asked, ns.
    spent: u64,
    /// Calls by operation, and the time of operations that the one which runs has called, ns.
    op_times: [OpTime; Op::ALL.len()],
    inner: u64,
    /// The counts.
    pub stats: ExtStats,
    exit: Option<Exit>,
}

impl Ext {
    /// The state when a scheduler has been loaded, before its `ops.init()`. `masks` are the affinities that tasks can
    /// have, by number.
    ///
    /// # Errors
    /// Fails with what `validate_ops()` refuses, and with what is not modelled.
    pub fn new(
        rules: ExtRules,
        declared: Declared,
        costs: ExtCosts,
        topology: IdleTopology,
        masks: Vec<CpuMask>,
    ) -> Result<Self, String> {
        declared.validate_ops(&rules)?;
        let nr_cpus = topology.nr_cpus() as usize;
        let nr_nodes = topology.nr_nodes() as usize;
        let cids = Cids::new(&topology);
        let idle = Idle::new(topology, &rules, declared.flags, declared.ops.has(Op::UpdateIdle));
        Ok(Ext {
            rules,
            costs,
            line_cost: None,
            masks,
            cids,
            online: CpuMask::full(nr_cpus as u32),
            online_seq: 0,
            idle,
            rqs: vec![ScxRq::default(); nr_cpus],
            tasks: Vec::new(),
            waits: Vec::new(),
            log: None,
            placed_by: None,
            global: vec![DispatchQ::default(); nr_nodes],
            user: BTreeMap::new(),
            now: 0,
            this_cpu: 0,
            current: None,
            loads: false,
            preempt_count: 0,
            locked_rq: None,
            clock_valid: None,
            running: None,
            kick_waiting: Vec::new(),
            deferred: Vec::new(),
            comms: Vec::new(),
            groups: TaskGroups::default(),
            runnable_seq: 0,
            direct: None,
            dsp: DspCtx::default(),
            requests: Vec::new(),
            started_timers: BTreeMap::new(),
            stale_timers: 0,
            last_op: None,
            instant: (0, 0),
            spent: 0,
            op_times: [OpTime::default(); Op::ALL.len()],
            inner: 0,
            stats: ExtStats::default(),
            exit: None,
            declared,
        })
    }

    /// Returns the scheduler's declarations.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// The rules of the kernel.
    pub fn rules(&self) -> &ExtRules {
        &self.rules
    }

    /// How the scheduler has ended, if it has.
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    /// `scx_error()`: the scheduler ends. The first error counts.
    pub fn error(&mut self, message: impl Into<String>) {
        self.end(ExitKind::Error, message.into(), 0);
    }

    /// `scx_exit()`.
    pub fn end(&mut self, kind: ExitKind, message: String, code: i64) {
        if self.exit.is_none() {
            self.exit = Some(Exit { kind, message, code, at: self.now, cpu: self.this_cpu, chain: Vec::new() });
        }
    }

    /// A task.
    #[inline]
    pub fn task(&self, p: TaskId) -> &Entity {
        &self.tasks[p.0 as usize]
    }

    pub(crate) fn task_mut(&mut self, p: TaskId) -> &mut Entity {
        &mut self.tasks[p.0 as usize]
    }

    /// `p->cpus_ptr`.
    #[inline]
    pub fn cpus_ptr(&self, p: TaskId) -> &CpuMask {
        &self.masks[self.task(p).mask as usize]
    }

    fn allowed(&self, p: TaskId, cpu: Cpu) -> bool {
        self.cpus_ptr(p).test(cpu)
    }

    /// Gives a task its name (`p->comm`), for messages.
    pub fn name_task(&mut self, p: TaskId, comm: &str) {
        let at = p.0 as usize;
        if self.comms.len() <= at {
            self.comms.resize(at + 1, String::new());
        }
        comm.clone_into(&mut self.comms[at]);
    }

    /// A task as the kernel's messages name it: `comm[pid]`.
    pub fn named(&self, p: TaskId) -> String {
        let comm = self.comms.get(p.0 as usize).filter(|comm| !comm.is_empty());
        format!("{}[{}]", comm.map_or("task", |comm| comm), pid(p))
    }

    pub(crate) fn dsq(&self, dsq: Dsq) -> &DispatchQ {
        match dsq {
            Dsq::Local(cpu) => &self.rqs[cpu as usize].local_dsq,
            Dsq::Global(node) => &self.global[node as usize],
            Dsq::User(id) => self.user.get(&id).expect("tasks leave a queue before it is destroyed"),
        }
    }

    fn dsq_mut(&mut self, dsq: Dsq) -> &mut DispatchQ {
        match dsq {
            Dsq::Local(cpu) => &mut self.rqs[cpu as usize].local_dsq,
            Dsq::Global(node) => &mut self.global[node as usize],
            Dsq::User(id) => self.user.get_mut(&id).expect("tasks leave a queue before it is destroyed"),
        }
    }

    fn global_of(&self, cpu: Cpu) -> Dsq {
        Dsq::Global(self.idle.topology().node_of(cpu))
    }

    /// Returns the requests to the caller, in order.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// The same, after those that were taken already.
    pub fn append_requests(&mut self, to: &mut Vec<Request>) {
        to.append(&mut self.requests);
    }

    /// The memory of requests that were taken is used again.
    pub fn reuse(&mut self, mut requests: Vec<Request>) {
        if self.requests.capacity() == 0 {
            requests.clear();
            self.requests = requests;
        }
    }

    pub(crate) fn push_request(&mut self, request: Request) {
        self.requests.push(request);
    }

    fn resched_curr(&mut self, cpu: Cpu) {
        self.requests.push(Request::Resched(cpu));
    }
}
