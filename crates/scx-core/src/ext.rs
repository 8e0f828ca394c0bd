//! The core of sched_ext (`kernel/sched/ext/ext.c`, 7.2; `kernel/sched/ext.c`, 6.12 and 6.18).
//!
//! The kernel's functions carry their names. Two things are simpler, because an operation runs at one moment: nobody
//! sees a task in SCX_OPSS_DISPATCHING, or one whose run queue's lock a CPU waits for (`holding_cpu`). What is deferred
//! until locks can be given up is done when the caller says so ([`Ext::run_deferred`]), wherever it was asked for.
//!
//! There is no bypass mode, so that a scheduler that ends stays where it was. Migration is not disabled, and times are
//! in ns where the kernel has jiffies (`runnable_at`).

use crate::cgroup::TaskGroups;
use crate::cid::Cids;
use crate::dispatch_q::{DispatchQ, Key, Mixed};
use crate::entity::{Curr, Dsq, Entity, Kick, OpsState, SchedInfo, ScxRq};
use crate::flags::*;
use crate::idle::{Asks, Idle, IdleError, IdleTopology};
use crate::ops::{Call, Exit, ExitKind, Op, OpSet, Ops, Priorities, pid};
use crate::stall::{Step, Wait, What};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use wakelab_kernel::{ExtKickWait, ExtRules, ExtSelectCpuKfunc};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::runqueue::TaskId;

/// The declarations of a scheduler (`struct sched_ext_ops`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// `ops.name`.
    pub name: String,
    /// The operations it has.
    pub ops: OpSet,
    /// It is a `struct sched_ext_ops_cid`, which names CPUs by their cids ([`Cids`]), 7.2.
    pub cid_form: bool,
    /// `ops.flags`.
    pub flags: u64,
    /// `ops.dispatch_max_batch`; 0 for [`SCX_DSP_DFL_MAX_BATCH`].
    pub dispatch_max_batch: u32,
    /// `ops.timeout_ms`; 0 for [`SCX_WATCHDOG_MAX_TIMEOUT_MS`].
    pub timeout_ms: u32,
}

/// A task that joins the class as it runs ([`Ext::switching_to`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joins {
    /// Its policy from now on.
    pub priorities: Priorities,
    /// Its weight, as in [`Ext::prepare_task`].
    pub weight: u64,
    /// The number of its affinity mask.
    pub mask: u32,
    /// How long it has run in its life, ns.
    pub sum_exec_runtime: u64,
}

/// The time that operations and the core's own work take besides the instructions of programs, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtCosts {
    /// The way into a program and back: the trampoline, and `scx_call_op`'s bookkeeping.
    pub op: u64,
    /// How long the lock of a dispatch queue is held for a task that joins or leaves, if the CPU had it last.
    pub dsq: u64,
    /// Moving a task between run queues: `deactivate_task()`, the other lock, `activate_task()`.
    pub remote: u64,
    /// Reading 64 words of a mask for an idle CPU.
    pub mask_words: u64,
}

/// How many cache lines come to a CPU that takes the lock of a queue which another CPU had last: that of the queue, in
/// which its lock, the ends of its list and its counters are together (`struct scx_dispatch_q`), and that of the task
/// beside which the other joins, or beside which it leaves (`scx.dsq_list`).
const DSQ_LINES: u64 = 2;

/// The cost of a cache line that one CPU has written and another takes, ns.
#[derive(Clone)]
pub struct LineCost(Arc<dyn Fn(Cpu, Cpu) -> u64 + Send + Sync>);

impl LineCost {
    /// A function of the CPU that wrote the line and the one that takes it.
    pub fn new(ns: impl Fn(Cpu, Cpu) -> u64 + Send + Sync + 'static) -> Self {
        LineCost(Arc::new(ns))
    }
}

impl fmt::Debug for LineCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineCost").finish_non_exhaustive()
    }
}

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

/// When a timer that never expires would, ns (`KTIME_MAX`).
pub const KTIME_MAX: u64 = i64::MAX as u64;

/// A timer of the scheduler that is to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedTimer {
    /// When, ns.
    pub at: u64,
    /// Its number, which [`Ops::timer`] gets back.
    pub number: u32,
    /// On which CPU.
    pub cpu: Cpu,
}

/// How many instructions programs may run without any time passing before the scheduler counts as endless: some
/// thousand operations that are as long as the verifier lets one be.
const INSTANT_INSNS: u64 = 1 << 32;

/// How many CPUs in a row [`Ext::run_deferred`] may serve before the scheduler counts as endless. A CPU is served again
/// if its work, or that of another, has made new work for it.
const DEFERRED_MAX: u32 = 100_000;

/// How often the core came to the ends that the kernel counts (`struct scx_event_stats`), and where tasks went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtStats {
    /// `SCX_EV_SELECT_CPU_FALLBACK`: the wakee did not join the CPU that was selected.
    pub select_cpu_fallback: u64,
    /// `SCX_EV_DISPATCH_KEEP_LAST`: a task went on because there was no other.
    pub dispatch_keep_last: u64,
    /// `SCX_EV_ENQ_SKIP_EXITING`: exiting tasks that were not given to the scheduler.
    pub enq_skip_exiting: u64,
    /// `SCX_EV_REFILL_SLICE_DFL`: slices that the core filled.
    pub refill_slice_dfl: u64,
    /// Tasks that went to a local queue.
    pub local: u64,
    /// To a global queue.
    pub global: u64,
    /// To a queue of the scheduler.
    pub user: u64,
    /// Of all, those that `ops.select_cpu()` or `ops.enqueue()` dispatched at once.
    pub direct: u64,
    /// Tasks that were moved to another CPU's run queue on their way to a local queue.
    pub remote: u64,
}

impl ExtStats {
    /// The counts with their names: those of the kernel's events, and where tasks went.
    pub fn list(&self) -> [(&'static str, u64); 9] {
        [
            ("local", self.local),
            ("global", self.global),
            ("user", self.user),
            ("direct", self.direct),
            ("remote", self.remote),
            ("SCX_EV_SELECT_CPU_FALLBACK", self.select_cpu_fallback),
            ("SCX_EV_DISPATCH_KEEP_LAST", self.dispatch_keep_last),
            ("SCX_EV_ENQ_SKIP_EXITING", self.enq_skip_exiting),
            ("SCX_EV_REFILL_SLICE_DFL", self.refill_slice_dfl),
        ]
    }
}

/// Calls of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTime {
    /// How many there were.
    pub calls: u64,
    /// How long they took, ns at full speed, with waits for the locks of queues and without operations that they
    /// called in turn.
    pub ns: u64,
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

/// An iterator over a queue (`struct bpf_iter_scx_dsq_kern`).
#[derive(Clone, Copy, Debug)]
pub struct DsqIter {
    /// Whose tasks, of the scheduler's queues.
    dsq: u64,
    /// `SCX_DSQ_ITER_REV`.
    reverse: bool,
    /// The queue's number of insertions when it began.
    seq: u64,
    at: Option<Key>,
    /// `scx_bpf_dsq_move_set_slice()`.
    pub slice: Option<u64>,
    /// `scx_bpf_dsq_move_set_vtime()`.
    pub vtime: Option<u64>,
}

/// The verdict of `scx_dispatch_sched()` (`enum scx_dsp_verdict`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    None,
    Local,
    Prev,
}

/// Groups of kernel functions by where they may be called (`enum scx_kf_mask`, 6.12 and 6.18).
const KF_CPU_RELEASE: u32 = 1;
const KF_DISPATCH: u32 = 1 << 1;
const KF_ENQUEUE: u32 = 1 << 2;
const KF_SELECT_CPU: u32 = 1 << 3;
const KF_REST: u32 = 1 << 4;

const EINVAL: i64 = -22;

/// An operation as people write it; a timer of the scheduler is no operation.
fn called_by(op: Option<Op>) -> String {
    op.map_or_else(|| "the function of a timer".to_owned(), |op| format!("ops.{}()", op.name()))
}

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
        let has = |op| declared.ops.has(op);
        // bpf_scx_init_member() reads the struct before validate_ops().
        let unknown = declared.flags & !u64::from(rules.ops_flags);
        if unknown != 0 {
            return Err(format!("flags {unknown:#x} of its sched_ext_ops are unknown to the kernel (EINVAL)"));
        }
        if declared.name.is_empty() {
            return Err("its sched_ext_ops have no name (EINVAL)".to_owned());
        }
        if declared.timeout_ms > SCX_WATCHDOG_MAX_TIMEOUT_MS {
            return Err(format!("timeout_ms is {}, but may be at most 30000 (E2BIG)", declared.timeout_ms));
        }
        if declared.dispatch_max_batch > i32::MAX as u32 {
            return Err(format!(
                "dispatch_max_batch is {}, but may be at most {} (E2BIG)",
                declared.dispatch_max_batch,
                i32::MAX
            ));
        }
        if declared.flags & SCX_OPS_ENQ_LAST != 0 && !has(Op::Enqueue) {
            return Err("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented".to_owned());
        }
        if declared.flags & SCX_OPS_BUILTIN_IDLE_PER_NODE != 0
            && has(Op::UpdateIdle)
            && declared.flags & SCX_OPS_KEEP_BUILTIN_IDLE == 0
        {
            return Err("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled".to_owned());
        }
        if declared.flags & SCX_OPS_SWITCH_PARTIAL != 0 {
            return Err("SCX_OPS_SWITCH_PARTIAL is not modelled: all tasks except realtime ones belong to the \
                        scheduler; expected a scheduler without the flag"
                .to_owned());
        }
        let nr_cpus = topology.nr_cpus() as usize;
        let nr_nodes = topology.nr_nodes() as usize;
        let cids = Cids::new(&topology);
        let idle = Idle::new(topology, &rules, declared.flags, has(Op::UpdateIdle));
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

    /// Returns the time that all calls since the last time have taken, ns at full speed.
    pub fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }

    /// Adds time that a program has taken, ns.
    #[inline]
    pub fn spend(&mut self, ns: u64) {
        self.spent += ns;
    }

    /// The time of now within what happens: as many ns after its beginning as were spent.
    #[inline]
    pub fn clock(&self) -> u64 {
        self.now + if self.loads { 0 } else { self.spent }
    }

    /// `scx_bpf_now()`, ns since the run began: the clock of this CPU's run queue where that is valid, so that all of
    /// an operation sees one time, and the time of now elsewhere.
    pub fn scx_bpf_now(&self) -> u64 {
        let valid = self.clock_valid.filter(|&(cpu, _)| cpu == self.this_cpu);
        valid.map_or_else(|| self.clock(), |(_, clock)| clock)
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

    /// Calls an operation, if the scheduler has it and has not ended.
    pub(crate) fn call(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, call: Call) -> i64 {
        if !self.declared.ops.has(call.op()) || self.exit.is_some() {
            return 0;
        }
        let outer = (std::mem::replace(&mut self.locked_rq, rq), self.running.replace(call));
        self.last_op = Some(call.op());
        let (before, outer_inner) = (self.spent, std::mem::take(&mut self.inner));
        self.spent += self.costs.op;
        let result = ops.call(self, call);
        let spent = self.spent - before;
        let time = &mut self.op_times[call.op() as usize];
        time.calls += 1;
        time.ns += spent - self.inner;
        self.inner = outer_inner + spent;
        (self.locked_rq, self.running) = outer;
        result
    }

    /// How often each operation of the scheduler was called so far, and how long its calls took.
    pub fn op_times(&self) -> impl Iterator<Item = (Op, OpTime)> + '_ {
        let declared = Op::ALL.into_iter().filter(|&op| self.declared.ops.has(op));
        declared.map(|op| (op, self.op_times[op as usize]))
    }

    /// An operation that returns 0 or an error: what it returned, of which `ops_sanitize_err()` has seen that it is
    /// one.
    pub(crate) fn call_err(&mut self, ops: &mut dyn Ops, call: Call) -> i64 {
        let result = self.call(ops, None, call);
        self.sanitize_err(call.op(), result)
    }

    /// `ops_sanitize_err()`: what an operation has returned, if that is 0 or an error.
    pub(crate) fn sanitize_err(&mut self, op: Op, result: i64) -> i64 {
        const MAX_ERRNO: i64 = 4095;
        const EPROTO: i64 = 71;
        if (-MAX_ERRNO..=0).contains(&result) {
            return result;
        }
        self.error(format!("ops.{}() returned an invalid errno {result}", op.name()));
        -EPROTO
    }

    /// `scx_kf_allowed()` (6.12, 6.18), `scx_kfunc_context_filter()` (7.2): whether the operation that runs may call a
    /// kernel function of these groups. The scheduler ends if not; 7.2 does not load it at all.
    fn kf_allowed(&mut self, groups: u32, function: &str) -> bool {
        let may = self.kf_mask();
        if may & groups != 0 {
            return true;
        }
        self.error(match self.rules.old_messages {
            true => format!("kfunc with mask {groups:#x} called from an operation only allowing {may:#x}"),
            false => format!("calling kernel function {function} is not allowed"),
        });
        false
    }

    /// `current->scx.kf_mask`, and `scx_kf_allow_flags[]`: 0 where nothing is locked.
    fn kf_mask(&self) -> u32 {
        match self.running {
            None | Some(Call::Init | Call::InitTask { .. } | Call::CpuOnline { .. } | Call::CpuOffline { .. }) => 0,
            // Of all that concerns groups, only the move of a task has its run queue locked.
            Some(Call::CgroupMove { .. }) if self.rules.cgroup_move_locked => KF_REST,
            Some(
                Call::CgroupInit { .. }
                | Call::CgroupExit { .. }
                | Call::CgroupPrepMove { .. }
                | Call::CgroupMove { .. }
                | Call::CgroupCancelMove { .. }
                | Call::CgroupSetWeight { .. }
                | Call::CgroupSetBandwidth { .. }
                | Call::CgroupSetIdle { .. },
            ) => 0,
            Some(Call::SelectCpu { .. }) => KF_ENQUEUE | KF_SELECT_CPU,
            Some(Call::Enqueue { .. }) => KF_ENQUEUE,
            Some(Call::Dispatch { .. }) => KF_DISPATCH,
            Some(Call::CpuRelease { .. }) => KF_CPU_RELEASE,
            Some(_) => KF_REST,
        }
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

    fn resched_curr(&mut self, cpu: Cpu) {
        self.requests.push(Request::Resched(cpu));
    }

    fn allowed(&self, p: TaskId, cpu: Cpu) -> bool {
        self.cpus_ptr(p).test(cpu)
    }

    fn global_of(&self, cpu: Cpu) -> Dsq {
        Dsq::Global(self.idle.topology().node_of(cpu))
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

    /// The same with cache lines of dispatch queues that cost by where they come from.
    #[must_use]
    pub fn with_line_cost(mut self, cost: LineCost) -> Self {
        self.line_cost = Some(cost);
        self
    }

    /// Takes a queue's lock and holds it for one task. Its lines come from the CPU that had the lock last: whoever
    /// waits for it waits for that, too, so that a queue of many CPUs is as slow as its lines are. Local queues have
    /// the lock of their run queue, which the caller has.
    fn lock_dsq(&mut self, dsq: Dsq) {
        if matches!(dsq, Dsq::Local(_)) {
            return;
        }
        let (clock, this_cpu, own) = (self.clock(), self.this_cpu, self.costs.dsq);
        let from = self.dsq_mut(dsq).lines_at.replace(this_cpu).filter(|&from| from != this_cpu);
        let lines = self.line_cost.as_ref().zip(from).map_or(0, |(cost, from)| DSQ_LINES * cost.0(from, this_cpu));
        let queue = self.dsq_mut(dsq);
        let start = clock.max(queue.lock_free);
        queue.lock_free = start + own + lines;
        self.spent += queue.lock_free - clock;
    }

    /// `ops.init()`, and `ops.cgroup_init()` of the control groups that are there.
    pub fn init(&mut self, ops: &mut dyn Ops) {
        let failed = self.call_err(ops, Call::Init);
        if failed != 0 {
            self.error(format!("ops.init() failed ({failed})"));
        }
        self.scx_cgroup_init(ops);
    }

    /// The loader is done: the scheduler is enabled, and so are the tasks that existed.
    pub fn attached(&mut self, ops: &mut dyn Ops) {
        if self.exit.is_none() {
            ops.attached(self);
        }
    }

    /// Returns who kicked a CPU last, for messages: `ops.dispatch() on CPU 3`; `None` if nobody has.
    pub fn kicker(&self, cpu: Cpu) -> Option<String> {
        let (op, by) = self.rqs[cpu as usize].kicker?;
        Some(format!("{} on CPU {by}", called_by(op)))
    }

    /// Whether `ops.init()` is running.
    pub fn in_init(&self) -> bool {
        self.running == Some(Call::Init)
    }

    /// A while has passed since the scheduler was enabled: each CPU that is idle has run something, and has told the
    /// scheduler when it became idle again. Enabling alone tells it nothing of CPUs that are idle already
    /// (`__scx_update_idle()` is called with `do_notify` where a CPU changes between a task and idle).
    pub fn idle_cpus_have_run(&mut self, ops: &mut dyn Ops) {
        let this_cpu = self.this_cpu;
        for cpu in 0..self.rqs.len() as Cpu {
            if self.rqs[cpu as usize].curr == Curr::Idle {
                self.this_cpu = cpu;
                self.call(ops, Some(cpu), Call::UpdateIdle { cpu, idle: true });
            }
        }
        self.this_cpu = this_cpu;
    }

    /// A task whose program is not simulated wakes on a CPU that is idle, and runs there at once. Returns whether it
    /// does: not if the CPU is not idle, or the task is not asleep.
    pub fn runs_unseen(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) -> bool {
        if self.rqs[cpu as usize].curr != Curr::Idle || !self.task(p).ready || self.task(p).queued {
            return false;
        }
        self.scx_update_idle(ops, cpu, false, true);
        let task = self.task_mut(p);
        (task.cpu, task.queued, task.state) = (cpu, true, TASK_RUNNING);
        self.rqs[cpu as usize].nr_running += 1;
        self.call(ops, Some(cpu), Call::Runnable { p, enq_flags: SCX_ENQ_WAKEUP });
        ops.set_slice(p, SCX_SLICE_DFL);
        self.rqs[cpu as usize].curr = Curr::Ext(p);
        self.call(ops, Some(cpu), Call::Running { p });
        true
    }

    /// It sleeps again, and its CPU looks for something to run.
    pub fn sleeps_unseen(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) {
        self.task_mut(p).state = TASK_INTERRUPTIBLE;
        self.call(ops, Some(cpu), Call::Stopping { p, runnable: false });
        self.call(ops, Some(cpu), Call::Quiescent { p, deq_flags: SCX_DEQ_SLEEP });
        self.task_mut(p).queued = false;
        self.rqs[cpu as usize].nr_running -= 1;
        self.rqs[cpu as usize].curr = Curr::Idle;
        self.scx_update_idle(ops, cpu, true, true);
        self.resched_curr(cpu);
    }

    /// Starts a timer on this CPU that expires at a time, ns; one of [`KTIME_MAX`] never does. Numbers ascend.
    pub fn start_timer(&mut self, at: u64, number: u32) {
        self.started_timers.insert(number, (at, self.this_cpu));
    }

    /// A timer that has not expired is started anew under another number, or cancelled.
    pub fn cancel_timer(&mut self, number: u32) {
        if self.started_timers.remove(&number).is_none() {
            self.stale_timers += 1;
        }
    }

    /// The timers that were started and not cancelled since the caller last asked, in the order of their numbers.
    pub fn take_started_timers(&mut self) -> impl Iterator<Item = StartedTimer> + use<> {
        let started = std::mem::take(&mut self.started_timers).into_iter();
        started.filter(|(_, (at, _))| *at < KTIME_MAX).map(|(number, (at, cpu))| StartedTimer { at, number, cpu })
    }

    /// How many of the timers that the caller was told of will not expire ([`Ops::timer_is_set`]), until it has
    /// forgotten them.
    pub fn stale_timers(&mut self) -> &mut usize {
        &mut self.stale_timers
    }

    /// Programs have run so many instructions. The scheduler ends if they run on and no time passes.
    pub fn count_insns(&mut self, insns: u64) {
        if self.instant.0 != self.now {
            self.instant = (self.now, 0);
        }
        self.instant.1 += insns;
        if self.instant.1 > INSTANT_INSNS {
            let (insns, last) = (self.instant.1, self.last_call());
            self.end(
                ExitKind::Fault,
                format!("its programs have run {insns} instructions without any time passing; the last was {last}"),
                0,
            );
        }
    }

    /// The operation that was called last, as people write it.
    pub fn last_call(&self) -> String {
        called_by(self.last_op)
    }

    // --- Tasks ------------------------------------------------------------------------------------------------------

    /// A task joins the class: [`prepare_task`](Self::prepare_task) and [`enable_task`](Self::enable_task), as a fork
    /// does one after the other. A kernel that enables the scheduler prepares all tasks before it enables the first.
    pub fn init_task(&mut self, ops: &mut dyn Ops, p: TaskId, cpu: Cpu, mask: u32, weight: u64, fork: bool) {
        self.prepare_task(ops, p, cpu, mask, weight, fork);
        self.enable_task(ops, p, !fork);
    }

    /// `scx_init_task()`. `fork` says that the task was just forked; else the scheduler is being enabled. `weight` is
    /// that of its nice value, 15 to 88761.
    pub fn prepare_task(&mut self, ops: &mut dyn Ops, p: TaskId, cpu: Cpu, mask: u32, weight: u64, fork: bool) {
        let at = p.0 as usize;
        if self.tasks.len() <= at {
            self.tasks.resize_with(at + 1, Entity::default);
            self.waits.resize_with(at + 1, Wait::default);
        }
        let runnable_at = self.now;
        self.waits[at].clear();
        let (group, weight) = (self.groups.of_joining(p), weight_to_cgroup(weight));
        // A task that is there when the scheduler is enabled, or when the run begins, has run before.
        let sched_info = SchedInfo { pcount: u64::from(!fork || self.now == 0), ..SchedInfo::default() };
        let created_at = runnable_at;
        self.tasks[at] = Entity { cpu, mask, group, runnable_at, weight, created_at, sched_info, ..Entity::default() };
        ops.set_slice(p, SCX_SLICE_DFL);
        ops.set_dsq_vtime(p, 0);
        let failed = self.call_err(ops, Call::InitTask { p, fork });
        if failed != 0 {
            let named = self.named(p);
            self.error(format!("ops.init_task() failed ({failed}) for {named}"));
        }
        self.task_mut(p).ready = true;
    }

    /// `scx_enable_task()`; with `switched`, of a task that comes from another class as the scheduler is enabled.
    pub fn enable_task(&mut self, ops: &mut dyn Ops, p: TaskId, switched: bool) {
        if switched {
            ops.set_slice(p, u64::from(self.rules.enable_slice));
        }
        self.scx_enable_task(ops, p, switched);
    }

    /// `scx_enable_task()`, and with `switched` the rest of `switching_to_scx()`.
    fn scx_enable_task(&mut self, ops: &mut dyn Ops, p: TaskId, switched: bool) {
        self.task_mut(p).enabled = true;
        let (cpu, weight) = (self.task(p).cpu, self.task(p).weight);
        self.call(ops, Some(cpu), Call::Enable { p });
        self.call(ops, Some(cpu), Call::SetWeight { p, weight });
        if switched {
            self.call(ops, Some(cpu), Call::SetCpumask { p });
        }
    }

    /// `scx_disable_task()`: a task leaves the class.
    pub fn disable_task(&mut self, ops: &mut dyn Ops, p: TaskId) {
        if !std::mem::take(&mut self.task_mut(p).enabled) {
            return;
        }
        self.clear_direct_dispatch(p);
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::Disable { p });
        if self.rules.disable_clears {
            ops.set_dsq_vtime(p, 0);
            ops.set_slice(p, 0);
        }
    }

    /// The running task gets a policy above the class, and runs on (`__sched_setscheduler()`, `switched_from_scx()`).
    /// `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn switched_from(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, priorities: Priorities, clock_task: u64) {
        let flags = self.class_change();
        self.sched_change_begin(ops, cpu, p, flags, clock_task);
        if self.rules.disable_first {
            self.disable_task(ops, p);
        }
        ops.set_priorities(p, priorities);
        let now = self.now;
        let rq = &mut self.rqs[cpu as usize];
        // Nobody calls switch_class(): the scheduler is not told that it has lost the CPU.
        (rq.curr, rq.above, rq.next_ext, rq.lately.since) = (Curr::Above, Some(p), false, now);
        if !self.rules.disable_first {
            self.disable_task(ops, p);
        }
        if self.rqs[cpu as usize].nr_immed != 0 {
            // sched_change_end(), wakeup_preempt_scx()
            self.schedule_reenq_local(cpu, 0);
        }
        // Whether it sleeps is not told while it is of another class.
        self.task_mut(p).state = TASK_INTERRUPTIBLE;
    }

    /// The running task, of a class above, becomes one of the class, and runs on until the CPU reschedules
    /// (`__sched_setscheduler()`, `switching_to_scx()`). `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn switching_to(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, joins: Joins, clock_task: u64) {
        let Joins { priorities, weight, mask, sum_exec_runtime } = joins;
        ops.set_priorities(p, priorities);
        let task = self.task_mut(p);
        (task.cpu, task.mask, task.sum_exec_runtime) = (cpu, mask, sum_exec_runtime);
        task.weight = weight_to_cgroup(weight);
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.above) = (Curr::Ext(p), None);
        self.scx_enable_task(ops, p, true);
        let flags = self.class_change();
        self.restore_running(ops, cpu, p, true, flags, clock_task);
        self.rqs[cpu as usize].next_ext = true;
    }

    /// The flags of `sched_change_begin()` by `__sched_setscheduler()` of a task that changes its class.
    fn class_change(&self) -> u64 {
        DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK | u64::from(self.rules.enq_class)
    }

    /// `set_user_nice()`, or a change between SCHED_NORMAL, SCHED_BATCH and SCHED_IDLE, of a task of this CPU. `weight`
    /// is as in [`prepare_task`](Self::prepare_task), `clock_task` as in [`setaffinity`](Self::setaffinity).
    pub fn set_user_nice(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        priorities: Priorities,
        weight: u64,
        clock_task: u64,
    ) {
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE, clock_task, |ext, ops| {
            ops.set_priorities(p, priorities);
            ext.reweight_task(ops, p, weight);
        });
    }

    /// The running task exits: the next enqueue may pass it by (`SCX_OPS_ENQ_EXITING`). It leaves its autogroup, for
    /// which it is taken off its run queue and put back (`sched_autogroup_exit_task()`). `clock_task` is the CPU's
    /// `rq_clock_task()`, ns.
    pub fn exiting(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, clock_task: u64) {
        self.task_mut(p).exiting = true;
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE | DEQUEUE_MOVE, clock_task, |_, _| {});
        // sched_move_task()
        if self.rqs[cpu as usize].curr == Curr::Ext(p) {
            self.resched_curr(cpu);
        }
    }

    /// `sched_change_begin()` and `sched_change_end()`, in 6.12 in each caller: a task of this CPU is taken off its
    /// run queue for a change, and put back. One that runs goes on at once; `clock_task` is then the CPU's
    /// `rq_clock_task()`, ns.
    pub(crate) fn sched_change(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        flags: u64,
        clock_task: u64,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let flags = flags | DEQUEUE_NOCLOCK;
        let (queued, running) = self.sched_change_begin(ops, cpu, p, flags, clock_task);
        change(self, ops);
        // ENQUEUE_RESTORE has the value of DEQUEUE_SAVE, and so on.
        if !running {
            if queued {
                self.enqueue(ops, cpu, p, flags, None, false);
            }
            return;
        }
        self.restore_running(ops, cpu, p, queued, flags, clock_task);
    }

    /// `sched_change_begin()`. Returns whether the task was on the run queue, and whether it runs.
    fn sched_change_begin(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        flags: u64,
        clock_task: u64,
    ) -> (bool, bool) {
        let (queued, running) = (self.task(p).queued, self.rqs[cpu as usize].curr == Curr::Ext(p));
        if running {
            self.update_curr(ops, cpu, clock_task);
        }
        if queued {
            self.dequeue_task(ops, cpu, p, flags);
        }
        if running && self.rules.kick_wait.until_pick() {
            // put_prev_task_scx()
            self.advance_kick_sync(cpu);
        }
        (queued, running)
    }

    /// The running task starts again from the local queue. That is not a wait, and does not count as a route to a
    /// queue.
    fn restore_running(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, queued: bool, flags: u64, clock_task: u64) {
        let (log, local, since) = (self.log.take(), self.stats.local, self.rqs[cpu as usize].lately.since);
        // sched_info_arrive() is part of a switch, which this is not.
        let info = self.task(p).sched_info;
        if queued {
            self.enqueue(ops, cpu, p, flags, Some(cpu), false);
        }
        self.set_next_task(ops, cpu, p, clock_task);
        self.task_mut(p).sched_info = info;
        (self.log, self.stats.local, self.rqs[cpu as usize].lately.since) = (log, local, since);
    }

    /// `sched_setaffinity()` of a task of this CPU, which stays there for the time being (`do_set_cpus_allowed()`).
    /// `clock_task` is the CPU's `rq_clock_task()`, ns.
    pub fn setaffinity(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, mask: u32, clock_task: u64) {
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE, clock_task, |ext, ops| ext.set_cpus_allowed(ops, p, mask));
    }

    /// `move_queued_task()`: the stopper moves a task that waits to another CPU's run queue.
    pub fn move_queued_task(&mut self, ops: &mut dyn Ops, p: TaskId, to: Cpu) {
        let from = self.task(p).cpu;
        // deactivate_task(): dequeue_task_scx() of a task that migrates.
        let change = if self.rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        self.ops_dequeue(ops, from, p, DEQUEUE_NOCLOCK | change);
        self.task_mut(p).queued = false;
        self.rqs[from as usize].nr_running -= 1;
        self.dispatch_dequeue(p);
        self.clear_direct_dispatch(p);
        self.task_mut(p).cpu = to;
        self.note(p, What::Moved { from, to });
        self.enqueue(ops, to, p, u64::from(self.rules.enq_migrated), None, true);
    }

    /// `__migrate_task()` of a task that waits, with its `wakeup_preempt()`.
    pub(crate) fn migrate_task(&mut self, ops: &mut dyn Ops, p: TaskId, to: Cpu) {
        self.push_request(Request::Moved { task: p, from: self.task(p).cpu, to });
        self.spent += self.costs.remote;
        self.move_queued_task(ops, p, to);
        self.rqs[to as usize].next_ext = true;
        if self.rqs[to as usize].curr == Curr::Idle {
            self.resched_curr(to);
        }
    }

    /// The last of a task (`sched_ext_dead()`, `scx_disable_and_exit_task()`).
    pub fn exit_task(&mut self, ops: &mut dyn Ops, p: TaskId) {
        if std::mem::take(&mut self.task_mut(p).ready) {
            self.disable_task(ops, p);
            let cpu = self.task(p).cpu;
            self.call(ops, Some(cpu), Call::ExitTask { p });
            ops.remove_task(self, p);
        }
    }

    /// `reweight_task_scx()`; `weight` as in [`init_task`](Self::init_task).
    pub fn reweight_task(&mut self, ops: &mut dyn Ops, p: TaskId, weight: u64) {
        if !self.task(p).ready {
            return;
        }
        let weight = weight_to_cgroup(weight);
        self.task_mut(p).weight = weight;
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::SetWeight { p, weight });
    }

    /// `set_cpus_allowed_scx()`: the task has the affinity of this number from now on.
    pub fn set_cpus_allowed(&mut self, ops: &mut dyn Ops, p: TaskId, mask: u32) {
        self.task_mut(p).mask = mask;
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::SetCpumask { p });
    }

    /// `set_task_cpu()` of a task that is on none of the class's run queues: a wake-up has chosen another CPU, or it is
    /// of a class above.
    pub fn set_task_cpu(&mut self, p: TaskId, cpu: Cpu) {
        self.task_mut(p).cpu = cpu;
    }

    // --- Placement --------------------------------------------------------------------------------------------------

    /// `select_task_rq_scx()`. `current` is the waker, and `this_cpu` its CPU.
    pub fn select_task_rq(&mut self, ops: &mut dyn Ops, p: TaskId, prev_cpu: Cpu, wake_flags: u64) -> Cpu {
        let cpu = if self.declared.ops.has(Op::SelectCpu) {
            self.direct = Some(Direct::May(p));
            let cpu = self.call(ops, None, Call::SelectCpu { p, prev_cpu, wake_flags });
            self.direct = None;
            let cpu = self.cpu_ret(cpu);
            match Cpu::try_from(cpu) {
                Ok(cpu) if (cpu as usize) < self.rqs.len() => cpu,
                _ => {
                    self.error(format!("invalid CPU {cpu} from ops.select_cpu()"));
                    prev_cpu
                }
            }
        } else {
            match self.select_cpu_dfl(p, prev_cpu, wake_flags, None, 0) {
                Some(cpu) => {
                    self.refill_slice(ops, p);
                    self.task_mut(p).ddsp_dsq_id = SCX_DSQ_LOCAL;
                    cpu
                }
                None => prev_cpu,
            }
        };
        self.task_mut(p).selected_cpu = cpu;
        let fork = wake_flags & SCX_WAKE_FORK != 0;
        self.note(p, What::Selected { by: self.current, fork, prev_cpu, cpu });
        cpu
    }

    /// `scx_select_cpu_dfl()`.
    pub fn select_cpu_dfl(
        &mut self,
        p: TaskId,
        prev_cpu: Cpu,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<Cpu> {
        let words = self.idle.words;
        let asks = Asks {
            cpus_ptr: &self.masks[self.tasks[p.0 as usize].mask as usize],
            on_all: self.cpus_ptr(p).weight() >= self.rqs.len() as u32,
            this_cpu: self.this_cpu,
            exiting: self.current.is_some_and(|task| self.tasks[task.0 as usize].exiting),
            local_nr: self.rqs[self.this_cpu as usize].local_dsq.nr(),
        };
        let cpu = self.idle.select_cpu_dfl(&asks, prev_cpu, wake_flags, within, flags);
        self.spend_on_words_since(words);
        cpu
    }

    /// `scx_pick_idle_cpu()`, for this CPU.
    pub fn pick_idle_cpu(&mut self, allowed: &CpuMask, node: usize, flags: u64) -> Option<Cpu> {
        let words = self.idle.words;
        let cpu = self.idle.pick(self.this_cpu, allowed, node, flags);
        self.spend_on_words_since(words);
        cpu
    }

    /// Takes the time of the words of masks that were read since `Idle::words` was `before`.
    fn spend_on_words_since(&mut self, before: u64) {
        self.spent += (self.idle.words - before) * self.costs.mask_words / 64;
    }

    /// `select_cpu_from_kfunc()`: `scx_bpf_select_cpu_dfl()` and `scx_bpf_select_cpu_and()`.
    ///
    /// # Errors
    /// Fails if no CPU is idle, or with what ends the scheduler.
    pub fn select_cpu_from_kfunc(
        &mut self,
        p: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Result<Cpu, IdleError> {
        let prev_cpu = self.check_cpu(prev_cpu)?;
        self.idle.check_enabled()?;
        const NAME: &str = "scx_bpf_select_cpu_dfl";
        match (self.rules.select_cpu_kfunc, self.running, self.locked_rq) {
            (ExtSelectCpuKfunc::SelectCpu, ..) => {
                // ops.select_cpu() is not called for pinned tasks.
                if !self.kf_allowed(KF_SELECT_CPU, NAME) {
                    return Err(IdleError::Busy);
                }
                return self.select_cpu_dfl(p, prev_cpu, wake_flags, None, 0).ok_or(IdleError::Busy);
            }
            (ExtSelectCpuKfunc::Enqueue, ..) => {
                let may = self.kf_mask() == 0 || self.kf_allowed(KF_SELECT_CPU | KF_ENQUEUE, NAME);
                if !may {
                    return Err(IdleError::Busy);
                }
            }
            (_, Some(Call::SelectCpu { p: of, .. }), _) if of != p => {
                return Err(IdleError::Scx("called on a task not being operated on".to_owned()));
            }
            (_, Some(Call::SelectCpu { .. }), _) | (_, _, None) => {}
            (_, _, Some(rq)) if self.task(p).cpu != rq => {
                return Err(IdleError::Scx(format!("select_cpu kfunc called cross-task on {}", self.named(p))));
            }
            _ => {}
        }
        if self.cpus_ptr(p).weight() == 1 {
            let may = within.unwrap_or(self.cpus_ptr(p)).test(prev_cpu);
            return if may && self.idle.test_and_clear(prev_cpu) { Ok(prev_cpu) } else { Err(IdleError::Busy) };
        }
        self.select_cpu_dfl(p, prev_cpu, wake_flags, within, flags).ok_or(IdleError::Busy)
    }

    /// `scx_cpu_arg()`: a CPU as an operation gets it.
    pub fn cpu_arg(&self, cpu: Cpu) -> u32 {
        if self.declared.cid_form { self.cids.cid_of(cpu) } else { cpu }
    }

    /// `scx_cpu_ret()`: the CPU that a scheduler means; negative for none, of which an invalid cid ends it.
    fn cpu_ret(&mut self, cpu_or_cid: i64) -> i64 {
        if cpu_or_cid < 0 || !self.declared.cid_form {
            return cpu_or_cid;
        }
        match self.cids.cpu_of(cpu_or_cid as i32) {
            Ok(cpu) => i64::from(cpu),
            Err(error) => {
                if let IdleError::Scx(message) = error {
                    self.error(message);
                }
                EINVAL
            }
        }
    }

    /// `scx_cpu_valid()`.
    ///
    /// # Errors
    /// Fails with what ends the scheduler.
    pub fn check_cpu(&self, cpu: i32) -> Result<Cpu, IdleError> {
        match Cpu::try_from(cpu) {
            Ok(cpu) if (cpu as usize) < self.rqs.len() => Ok(cpu),
            _ => Err(IdleError::Scx(format!("invalid CPU {cpu}"))),
        }
    }

    // --- Run queues -------------------------------------------------------------------------------------------------

    fn refill_slice(&mut self, ops: &mut dyn Ops, p: TaskId) {
        ops.set_slice(p, SCX_SLICE_DFL);
        self.stats.refill_slice_dfl += 1;
    }

    /// `update_curr_scx()`: charges the running task up to now, ns of its CPU's `rq_clock_task()`.
    pub fn update_curr(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64) {
        let Curr::Ext(curr) = self.rqs[cpu as usize].curr else { return };
        let task = self.task_mut(curr);
        let delta = clock_task.saturating_sub(task.exec_start);
        // A task that was picked begins when the interrupt is over that asked for it.
        task.exec_start = task.exec_start.max(clock_task);
        task.sum_exec_runtime += delta;
        let slice = ops.slice(curr);
        if slice != SCX_SLICE_INF && delta != 0 {
            ops.set_slice(curr, slice - slice.min(delta));
        }
    }

    fn set_runnable(&mut self, p: TaskId) {
        let now = self.now;
        self.runnable_seq += 1;
        let seq = self.runnable_seq;
        let task = self.task_mut(p);
        if std::mem::take(&mut task.reset_runnable_at) {
            task.runnable_at = now;
        }
        task.runnable = Some(seq);
    }

    /// `sched_info_enqueue()`.
    fn sched_info_enqueue(&mut self, p: TaskId) {
        let now = self.now;
        self.task_mut(p).sched_info.last_queued.get_or_insert(now);
    }

    /// `enqueue_task_scx()`: a wake-up or a fork puts a task on a run queue.
    pub fn enqueue_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.task_mut(p).cpu = cpu;
        self.note(p, What::Joins { cpu });
        self.enqueue(ops, cpu, p, enq_flags, None, false);
        // wakeup_preempt() follows, which asks an idle CPU to reschedule.
        self.rqs[cpu as usize].next_ext = true;
        if enq_flags & u64::from(self.rules.enq_cpu_selected) != 0 && cpu != self.task(p).selected_cpu {
            self.stats.select_cpu_fallback += 1;
        }
    }

    /// `migrating`: it comes from another CPU's run queue (`task_on_rq_migrating()`).
    fn enqueue(
        &mut self,
        ops: &mut dyn Ops,
        cpu: Cpu,
        p: TaskId,
        enq_flags: u64,
        sticky: Option<Cpu>,
        migrating: bool,
    ) {
        if self.task(p).queued {
            return;
        }
        self.set_runnable(p);
        // ENQUEUE_RESTORE
        if enq_flags & DEQUEUE_SAVE == 0 {
            self.sched_info_enqueue(p);
        }
        let task = self.task_mut(p);
        (task.queued, task.state) = (true, TASK_RUNNING);
        self.rqs[cpu as usize].nr_running += 1;
        if !migrating {
            self.call(ops, Some(cpu), Call::Runnable { p, enq_flags });
        }
        self.do_enqueue_task(ops, cpu, p, enq_flags, sticky);
    }

    /// The tasks that wait on a CPU (`rq->scx.runnable_list`), in the order in which they joined it.
    pub(crate) fn runnable_list(&self, cpu: Cpu) -> Vec<TaskId> {
        let waits = (0..).zip(&self.tasks).filter(|(_, task)| task.cpu == cpu);
        let mut list: Vec<(u64, TaskId)> = waits.filter_map(|(at, task)| Some((task.runnable?, TaskId(at)))).collect();
        list.sort_unstable_by_key(|&(seq, _)| seq);
        list.into_iter().map(|(_, p)| p).collect()
    }

    pub(crate) fn push_request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// `do_enqueue_task()`.
    fn do_enqueue_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64, sticky: Option<Cpu>) {
        if sticky == Some(cpu) {
            return self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, enq_flags);
        }
        self.task_mut(p).immed = false;
        if !self.scx_rq_online(cpu) {
            // The scheduler was told that the CPU is offline.
            return self.enqueue_builtin(ops, cpu, p, Dsq::Local(cpu), enq_flags);
        }
        if self.task(p).ddsp_dsq_id != SCX_DSQ_INVALID {
            self.placed_by = Some(Op::SelectCpu);
            return self.direct_dispatch(ops, cpu, p, enq_flags);
        }
        if self.declared.flags & SCX_OPS_ENQ_EXITING == 0 && self.task(p).exiting {
            self.stats.enq_skip_exiting += 1;
            return self.enqueue_builtin(ops, cpu, p, Dsq::Local(cpu), enq_flags);
        }
        if !self.declared.ops.has(Op::Enqueue) || self.exit.is_some() {
            let dsq = self.global_of(cpu);
            return self.enqueue_builtin(ops, cpu, p, dsq, enq_flags);
        }
        let task = self.task_mut(p);
        task.ops_qseq += 1;
        let qseq = task.ops_qseq;
        task.ops_state = OpsState::Queueing(qseq);
        let outer = self.direct.replace(Direct::May(p));
        self.call(ops, Some(cpu), Call::Enqueue { p, enq_flags });
        self.direct = outer;
        if self.task(p).ddsp_dsq_id != SCX_DSQ_INVALID {
            self.placed_by = Some(Op::Enqueue);
            return self.direct_dispatch(ops, cpu, p, enq_flags);
        }
        let task = self.task_mut(p);
        task.in_custody = true;
        task.ops_state = OpsState::Queued(qseq);
        self.note(p, What::Held);
    }

    /// The core's own queues, with a new slice.
    fn enqueue_builtin(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, dsq: Dsq, enq_flags: u64) {
        self.refill_slice(ops, p);
        self.clear_direct_dispatch(p);
        self.dispatch_enqueue(ops, Some(cpu), dsq, p, enq_flags);
    }

    fn clear_direct_dispatch(&mut self, p: TaskId) {
        let task = self.task_mut(p);
        (task.ddsp_dsq_id, task.ddsp_enq_flags) = (SCX_DSQ_INVALID, 0);
    }

    /// `direct_dispatch()`. The local queue of another CPU has to wait until this one's lock can be given up.
    fn direct_dispatch(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.stats.direct += 1;
        let dsq = self.find_dsq_for_dispatch(cpu, self.task(p).ddsp_dsq_id, p);
        let task = self.task_mut(p);
        task.ddsp_enq_flags |= enq_flags;
        task.ops_state = OpsState::None;
        if let Dsq::Local(other) = dsq
            && other != cpu
        {
            task.deferred = true;
            self.placed_by = None;
            self.rqs[cpu as usize].ddsp_deferred_locals.push_back(p);
            return self.schedule_deferred(cpu);
        }
        let flags = task.ddsp_enq_flags;
        self.clear_direct_dispatch(p);
        self.dispatch_enqueue(ops, Some(cpu), dsq, p, flags);
    }

    /// `schedule_deferred()`: the CPU does what has to wait until its lock can be given up.
    fn schedule_deferred(&mut self, cpu: Cpu) {
        if !self.deferred.contains(&cpu) {
            self.deferred.push(cpu);
        }
    }

    /// `find_dsq_for_dispatch()`, for a dispatch that `cpu` makes of a task.
    fn find_dsq_for_dispatch(&mut self, cpu: Cpu, dsq_id: u64, p: TaskId) -> Dsq {
        if dsq_id == SCX_DSQ_LOCAL {
            return Dsq::Local(cpu);
        }
        if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let on = self.cpu_ret(i64::from((dsq_id & SCX_DSQ_LOCAL_CPU_MASK) as i32));
            match self.check_cpu(on as i32) {
                Ok(cpu) => return Dsq::Local(cpu),
                Err(_) => self.error(format!("invalid CPU {on} in SCX_DSQ_LOCAL_ON dispatch verdict")),
            }
        } else if dsq_id != SCX_DSQ_GLOBAL {
            if self.user.contains_key(&dsq_id) {
                return Dsq::User(dsq_id);
            }
            let of = if self.rules.old_messages { format!(" for {}", self.named(p)) } else { String::new() };
            self.error(format!("non-existent DSQ {dsq_id:#x}{of}"));
        }
        self.global_of(self.task(p).cpu)
    }

    /// `dispatch_enqueue()`. `rq` is whose lock the caller has.
    fn dispatch_enqueue(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, dsq: Dsq, p: TaskId, enq_flags: u64) {
        debug_assert!(self.task(p).dsq.is_none(), "a task is on one queue at a time");
        self.lock_dsq(dsq);
        let mut priq = enq_flags & SCX_ENQ_DSQ_PRIQ != 0;
        if priq && !matches!(dsq, Dsq::User(_)) {
            self.error("cannot use vtime ordering for built-in DSQs");
            priq = false;
        }
        let head = enq_flags & (u64::from(self.rules.enq_head) | SCX_ENQ_PREEMPT) != 0;
        let vtime = ops.dsq_vtime(p);
        let queue = self.dsq_mut(dsq);
        let joined = if priq { queue.push_vtime(p, vtime) } else { queue.push(p, head) };
        let key = match joined {
            Ok(key) => key,
            Err(mixed) => {
                let had = if mixed == Mixed::Fifo { "FIFO" } else { "PRIQ" };
                let Dsq::User(id) = dsq else { unreachable!("built-in queues have one order") };
                self.error(format!("DSQ ID {id:#018x} already had {had}-enqueued tasks"));
                // So that the task is on some queue: the scheduler has ended.
                let queue = self.dsq_mut(dsq);
                let either = if priq { queue.push(p, false) } else { queue.push_vtime(p, vtime) };
                either.expect("a queue takes one of two orders")
            }
        };
        let seq = self.dsq(dsq).seq();
        let task = self.task_mut(p);
        (task.dsq, task.dsq_seq) = (Some((dsq, key)), seq);
        task.ops_state = OpsState::None;
        let op = self.placed_by.take().or(self.running.map(|call| call.op()));
        let queued = self.dsq(dsq).nr() - 1;
        self.note(p, What::Queued { dsq, op, queued });
        match dsq {
            Dsq::Local(cpu) => {
                self.stats.local += 1;
                self.joins_local_dsq(cpu, p, enq_flags);
                self.local_dsq_post_enq(ops, cpu, p, enq_flags);
            }
            Dsq::Global(_) => {
                self.stats.global += 1;
                self.leave_custody(ops, rq, p, 0);
            }
            Dsq::User(_) => {
                self.stats.user += 1;
                self.task_mut(p).in_custody = true;
            }
        }
    }

    /// `task_leave_custody()`, and `ops.dequeue()` where kernels call it then.
    fn leave_custody(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, p: TaskId, deq_flags: u64) {
        if std::mem::take(&mut self.task_mut(p).in_custody) && self.rules.dequeue_on_custody {
            self.call(ops, rq, Call::Dequeue { p, deq_flags });
        }
    }

    /// `dsq_inc_nr()` of a local queue: whether the task has to run at once.
    fn joins_local_dsq(&mut self, cpu: Cpu, p: TaskId, enq_flags: u64) {
        if enq_flags & SCX_ENQ_IMMED != 0 && self.has_immed() {
            self.task_mut(p).immed = true;
        }
        if self.task(p).immed {
            self.rqs[cpu as usize].nr_immed += 1;
            if self.rqs[cpu as usize].local_dsq.nr() > 1 || !self.rq_is_open(cpu, enq_flags) {
                self.schedule_reenq_local(cpu, 0);
            }
        }
    }

    /// Whether the kernel knows SCX_ENQ_IMMED (7.1). Others take no notice of the bit.
    fn has_immed(&self) -> bool {
        u64::from(self.rules.ops_flags) & SCX_OPS_ALWAYS_ENQ_IMMED != 0
    }

    /// `scx_vet_enq_flags()`. Returns the flags, unless they end the scheduler.
    fn vet_enq_flags(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        if !self.has_immed() {
            return Some(enq_flags);
        }
        let local = dsq_id == SCX_DSQ_LOCAL || dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON;
        if enq_flags & SCX_ENQ_IMMED != 0 && !local {
            self.error(format!("SCX_ENQ_IMMED on a non-local DSQ {dsq_id:#x}"));
            return None;
        }
        let always = local && self.declared.flags & SCX_OPS_ALWAYS_ENQ_IMMED != 0;
        Some(if always { enq_flags | SCX_ENQ_IMMED } else { enq_flags })
    }

    /// `rq_is_open()`: whether a task of a CPU's local queue runs at once.
    fn rq_is_open(&self, cpu: Cpu, enq_flags: u64) -> bool {
        let rq = &self.rqs[cpu as usize];
        match rq.curr {
            Curr::Above => false,
            Curr::Idle if !rq.next_ext => true,
            Curr::Idle | Curr::Ext(_) => rq.in_balance || enq_flags & SCX_ENQ_PREEMPT != 0,
        }
    }

    /// `schedule_reenq_local()`.
    fn schedule_reenq_local(&mut self, cpu: Cpu, flags: u64) {
        *self.rqs[cpu as usize].reenq_local.get_or_insert(0) |= flags;
        self.schedule_deferred(cpu);
    }

    /// `local_dsq_post_enq()`.
    fn local_dsq_post_enq(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, enq_flags: u64) {
        self.leave_custody(ops, Some(cpu), p, 0);
        let rq = &mut self.rqs[cpu as usize];
        let (curr, in_balance) = (rq.curr, rq.in_balance);
        rq.next_ext = true;
        if in_balance {
            return;
        }
        if curr == Curr::Idle {
            self.resched_curr(cpu);
        }
        if let Curr::Ext(curr) = curr
            && enq_flags & SCX_ENQ_PREEMPT != 0
            && curr != p
        {
            ops.set_slice(curr, 0);
            self.resched_curr(cpu);
        }
    }

    /// `dispatch_dequeue()`.
    fn dispatch_dequeue(&mut self, p: TaskId) {
        if let Some((dsq, key)) = self.task_mut(p).dsq.take() {
            self.lock_dsq(dsq);
            let left = self.dsq_mut(dsq).remove(key);
            debug_assert_eq!(left, Some(p), "a task is where it joined");
            if let Dsq::Local(cpu) = dsq
                && self.task(p).immed
            {
                self.rqs[cpu as usize].nr_immed -= 1;
            }
        } else if std::mem::take(&mut self.task_mut(p).deferred) {
            let cpu = self.task(p).cpu;
            self.rqs[cpu as usize].ddsp_deferred_locals.retain(|&other| other != p);
        }
    }

    /// `ops_dequeue()`.
    fn ops_dequeue(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, deq_flags: u64) {
        let dequeue_on_custody = self.rules.dequeue_on_custody;
        let task = self.task_mut(p);
        task.runnable = None;
        let had = matches!(std::mem::take(&mut task.ops_state), OpsState::Queued(_));
        if dequeue_on_custody {
            self.leave_custody(ops, Some(cpu), p, deq_flags);
        } else if had {
            self.task_mut(p).in_custody = false;
            self.call(ops, Some(cpu), Call::Dequeue { p, deq_flags });
        }
    }

    /// `dequeue_task_scx()`: the task sleeps, or something about it is changed. A running task was charged up to now
    /// ([`update_curr`](Self::update_curr)).
    pub fn dequeue_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, deq_flags: u64) {
        let mut deq_flags = deq_flags;
        if deq_flags & SCX_DEQ_SLEEP == 0 && self.rules.dequeue_on_custody {
            deq_flags |= SCX_DEQ_SCHED_CHANGE;
        }
        if !self.task(p).queued {
            return;
        }
        if deq_flags & SCX_DEQ_SLEEP != 0 {
            // do_task_dead(), or what the task has set before it waits.
            let task = self.task_mut(p);
            task.state = if task.exiting { TASK_DEAD } else { TASK_INTERRUPTIBLE };
        }
        self.ops_dequeue(ops, cpu, p, deq_flags);
        if self.rqs[cpu as usize].curr == Curr::Ext(p) {
            self.call(ops, Some(cpu), Call::Stopping { p, runnable: false });
            self.task_mut(p).switches[0] += u64::from(deq_flags & SCX_DEQ_SLEEP != 0);
        }
        self.call(ops, Some(cpu), Call::Quiescent { p, deq_flags });
        let now = self.now;
        let task = self.task_mut(p);
        task.queued = false;
        if deq_flags & DEQUEUE_SAVE == 0 {
            // sched_info_dequeue()
            task.sched_info.run_delay += task.sched_info.last_queued.take().map_or(0, |since| now - since);
        }
        self.waits[p.0 as usize].clear();
        self.rqs[cpu as usize].nr_running -= 1;
        self.dispatch_dequeue(p);
        self.clear_direct_dispatch(p);
    }

    /// `yield_task_scx()` of the running task. Its time up to now is charged afterwards, to what `ops.yield()` leaves
    /// of its slice.
    pub fn yield_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) {
        if self.declared.ops.has(Op::Yield) {
            self.call(ops, Some(cpu), Call::Yield { from: p, to: None });
        } else {
            ops.set_slice(p, 0);
        }
    }

    // --- Dispatch ---------------------------------------------------------------------------------------------------

    /// `task_can_run_on_remote_rq()`.
    fn task_can_run_on_remote_rq(&mut self, p: TaskId, cpu: Cpu, enforce: bool) -> bool {
        let allowed = self.allowed(p, cpu);
        if !allowed && enforce {
            let named = self.named(p);
            self.error(format!("SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {named}"));
        }
        allowed && self.scx_rq_online(cpu)
    }

    /// `move_remote_task_to_local_dsq()`. The task is on no queue any more.
    fn move_remote_task_to_local_dsq(&mut self, ops: &mut dyn Ops, p: TaskId, enq_flags: u64, to: Cpu) {
        let from = self.task(p).cpu;
        let task = self.task_mut(p);
        // deactivate_task(): an operation sees it neither leave nor come (task_on_rq_migrating()).
        task.runnable = None;
        task.ops_state = OpsState::None;
        task.queued = false;
        task.cpu = to;
        self.rqs[from as usize].nr_running -= 1;
        self.clear_direct_dispatch(p);
        self.requests.push(Request::Moved { task: p, from, to });
        self.note(p, What::Moved { from, to });
        self.stats.remote += 1;
        self.spent += self.costs.remote;
        if to == self.this_cpu {
            // activate_task() brings the clock up to date.
            self.clock_valid = Some((to, self.clock()));
        }
        let enq_flags = if self.rules.enq_flags_truncated { enq_flags & 0xffff_ffff } else { enq_flags };
        self.enqueue(ops, to, p, enq_flags, Some(to), true);
    }

    /// `consume_dispatch_q()`: moves the first task of a queue that may run here to this CPU's local queue.
    fn consume_dispatch_q(&mut self, ops: &mut dyn Ops, cpu: Cpu, dsq: Dsq, enq_flags: u64) -> bool {
        let now = self.now;
        self.rqs[cpu as usize].lately.looks(now, dsq);
        if self.dsq(dsq).is_empty() {
            return false;
        }
        self.lock_dsq(dsq);
        let mut at = None;
        while let Some((key, p)) = self.dsq(dsq).next_after(at) {
            at = Some(key);
            let own = self.task(p).cpu == cpu;
            if !own && !self.task_can_run_on_remote_rq(p, cpu, false) {
                self.note_passed(p, cpu);
                continue;
            }
            let queue = self.dsq_mut(dsq);
            queue.remove(key);
            queue.taken = Some((now, cpu, p));
            self.task_mut(p).dsq = None;
            let op = self.running.map(|call| call.op());
            self.note(p, What::Taken { dsq, op });
            match own {
                true => self.move_local_task_to_local_dsq(ops, p, enq_flags, cpu),
                false => self.move_remote_task_to_local_dsq(ops, p, enq_flags, cpu),
            }
            return true;
        }
        false
    }

    /// `move_local_task_to_local_dsq()`.
    fn move_local_task_to_local_dsq(&mut self, ops: &mut dyn Ops, p: TaskId, enq_flags: u64, cpu: Cpu) {
        // It looks at no flag but where the task goes.
        self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, enq_flags & !SCX_ENQ_DSQ_PRIQ);
    }

    fn consume_global_dsq(&mut self, ops: &mut dyn Ops, cpu: Cpu) -> bool {
        let global = self.global_of(cpu);
        self.consume_dispatch_q(ops, cpu, global, 0)
    }

    /// `dispatch_to_local_dsq()`: to the local queue of any CPU. The task is on no queue.
    fn dispatch_to_local_dsq(&mut self, ops: &mut dyn Ops, rq: Cpu, to: Cpu, p: TaskId, enq_flags: u64) {
        let from = self.task(p).cpu;
        if from == to {
            self.dispatch_enqueue(ops, Some(to), Dsq::Local(to), p, enq_flags);
        } else if self.task_can_run_on_remote_rq(p, to, true) {
            self.move_remote_task_to_local_dsq(ops, p, enq_flags, to);
        } else {
            let global = self.global_of(from);
            return self.dispatch_enqueue(ops, Some(rq), global, p, enq_flags);
        }
        if !(rq == from && rq == to) && self.rqs[to as usize].curr == Curr::Idle {
            self.resched_curr(to);
        }
    }

    /// `finish_dispatch()`.
    fn finish_dispatch(&mut self, ops: &mut dyn Ops, cpu: Cpu, entry: DspEnt) {
        let p = entry.task;
        // A scheduler may dispatch a task that it does not have any more.
        if self.task(p).ops_state != OpsState::Queued(entry.qseq) {
            return;
        }
        self.task_mut(p).ops_state = OpsState::None;
        match self.find_dsq_for_dispatch(cpu, entry.dsq_id, p) {
            Dsq::Local(to) => self.dispatch_to_local_dsq(ops, cpu, to, p, entry.enq_flags),
            dsq => self.dispatch_enqueue(ops, Some(cpu), dsq, p, entry.enq_flags),
        }
    }

    /// `flush_dispatch_buf()`.
    fn flush_dispatch_buf(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        let entries = std::mem::take(&mut self.dsp.buf);
        self.dsp.nr_tasks += entries.len() as u32;
        for &entry in &entries {
            self.finish_dispatch(ops, cpu, entry);
        }
        // Its memory is used again.
        let mut entries = entries;
        entries.clear();
        if self.dsp.buf.is_empty() {
            self.dsp.buf = entries;
        }
    }

    /// `SCX_OPS_HAS_CPU_PREEMPT`: the scheduler hears of classes above that take a CPU or give it back.
    fn has_cpu_preempt(&self) -> bool {
        self.declared.ops.has(Op::CpuAcquire) || self.declared.ops.has(Op::CpuRelease)
    }

    /// `balance_one()` and `scx_dispatch_sched()`: makes sure that the local queue has a task, if there is one to run.
    fn balance_one(&mut self, ops: &mut dyn Ops, cpu: Cpu, prev: Option<TaskId>) -> Verdict {
        if self.has_cpu_preempt() && std::mem::take(&mut self.rqs[cpu as usize].cpu_released) {
            self.call(ops, Some(cpu), Call::CpuAcquire { cpu });
        }
        let goes_on = |ext: &Self, ops: &dyn Ops| prev.is_some_and(|p| ext.task(p).queued && ops.slice(p) != 0);
        if goes_on(self, ops) {
            return Verdict::Prev;
        }
        if !self.rqs[cpu as usize].local_dsq.is_empty() || self.consume_global_dsq(ops, cpu) {
            return Verdict::Local;
        }
        if self.declared.ops.has(Op::Dispatch) && self.rqs[cpu as usize].online && self.exit.is_none() {
            let outer = std::mem::take(&mut self.dsp);
            let mut found = None;
            for left in (0..SCX_DSP_MAX_LOOPS).rev() {
                (self.dsp.cpu, self.dsp.nr_tasks) = (cpu, 0);
                let now = self.now;
                self.rqs[cpu as usize].lately.dispatches(now);
                self.call(ops, Some(cpu), Call::Dispatch { cpu, prev });
                self.flush_dispatch_buf(ops, cpu);
                if goes_on(self, ops) {
                    found = Some(Verdict::Prev);
                } else if !self.rqs[cpu as usize].local_dsq.is_empty() || self.consume_global_dsq(ops, cpu) {
                    found = Some(Verdict::Local);
                }
                if found.is_some() || self.exit.is_some() {
                    break;
                }
                // What it dispatches does not come here: the CPU starts a new cycle.
                if left == 0 {
                    self.kick_cpu(cpu, 0);
                }
                if self.dsp.nr_tasks == 0 {
                    break;
                }
            }
            self.dsp = outer;
            if let Some(found) = found {
                return found;
            }
        }
        let keeps = self.declared.flags & SCX_OPS_ENQ_LAST == 0;
        if keeps && prev.is_some_and(|p| self.task(p).queued) {
            self.stats.dispatch_keep_last += 1;
            return Verdict::Prev;
        }
        Verdict::None
    }

    /// `pick_task_scx()`, `put_prev_task_scx()` and `set_next_task_scx()`: whom a CPU is to run, if nobody of a class
    /// above wants to. The previous task was charged up to now, and dequeued if it sleeps. `clock_task` is the CPU's
    /// `rq_clock_task()`, ns. Without a task, the CPU `idles`, or picks one of a class above: this is for the class's
    /// server then (`ext_server_pick_task()`).
    pub fn pick_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64, idles: bool) -> Option<TaskId> {
        if self.rules.kick_wait == ExtKickWait::AfterPass {
            self.advance_kick_sync(cpu);
        }
        self.update_curr(ops, cpu, clock_task);
        let prev = match self.rqs[cpu as usize].curr {
            Curr::Ext(prev) => Some(prev),
            Curr::Idle | Curr::Above => None,
        };
        // dispatch_pick() (7.2) and balance_scx() (up to 6.18) unpin the lock: rq_unpin_lock() makes the clock invalid.
        self.clock_valid = None;
        self.rqs[cpu as usize].in_balance = true;
        let verdict = self.balance_one(ops, cpu, prev);
        // There balance_scx() comes before pick_task_scx().
        if self.rules.kick_wait == ExtKickWait::IrqUntilPick {
            self.advance_kick_sync(cpu);
        }
        let rq = &mut self.rqs[cpu as usize];
        // dispatch_pick() queues kick_sync_wait_bal_cb().
        rq.kick_sync_waits |= std::mem::take(&mut rq.kick_sync_pending);
        // What joined its queue during the dispatch may have to run at once.
        let linger = verdict != Verdict::None && rq.local_dsq.nr() > 1 && rq.nr_immed != 0;
        if linger {
            self.schedule_reenq_local(cpu, 0);
        }
        self.rqs[cpu as usize].in_balance = false;
        let next = match verdict {
            Verdict::Prev => prev,
            _ => self.rqs[cpu as usize].local_dsq.first(),
        };
        if let Some(next) = next
            && ops.slice(next) == 0
        {
            self.refill_slice(ops, next);
        }
        if next.is_some() && next == prev {
            self.rqs[cpu as usize].next_ext = true;
            return next;
        }
        if next.is_none() && !idles {
            return None;
        }
        let was_idle = self.rqs[cpu as usize].curr == Curr::Idle;
        if let Some(prev) = prev {
            self.put_prev_task(ops, cpu, prev, next.map_or(Curr::Idle, Curr::Ext));
            if next.is_none() {
                self.switch_class(ops, cpu, None);
            }
        }
        match next {
            Some(next) => {
                if was_idle {
                    self.scx_update_idle(ops, cpu, false, true);
                }
                self.set_next_task(ops, cpu, next, clock_task);
            }
            None => {
                self.scx_update_idle(ops, cpu, true, !was_idle);
                let now = self.now;
                let rq = &mut self.rqs[cpu as usize];
                rq.curr = Curr::Idle;
                if !was_idle {
                    rq.lately.since = now;
                }
            }
        }
        self.rqs[cpu as usize].next_ext = next.is_some();
        next
    }

    /// A task of a class above takes the CPU, for a reason of `enum scx_cpu_preempt_reason`. The previous task was
    /// charged up to now.
    pub fn preempted_by_class(&mut self, ops: &mut dyn Ops, cpu: Cpu, reason: u32) {
        // wakeup_preempt_scx(): the wake-up of that task.
        if self.rqs[cpu as usize].nr_immed != 0 {
            self.schedule_reenq_local(cpu, 0);
        }
        let was = self.rqs[cpu as usize].curr;
        if let Curr::Ext(prev) = was {
            self.put_prev_task(ops, cpu, prev, Curr::Above);
            self.switch_class(ops, cpu, Some(reason));
        }
        if was == Curr::Idle {
            self.scx_update_idle(ops, cpu, false, true);
        }
        let now = self.now;
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.lately.since) = (Curr::Above, now);
    }

    /// `switch_class()`: the CPU leaves the class, for the idle task, or for a class above, with the reason.
    fn switch_class(&mut self, ops: &mut dyn Ops, cpu: Cpu, reason: Option<u32>) {
        if !self.rules.kick_wait.until_pick() {
            self.advance_kick_sync(cpu);
        }
        let Some(reason) = reason.filter(|_| self.has_cpu_preempt()) else { return };
        if !std::mem::replace(&mut self.rqs[cpu as usize].cpu_released, true) {
            self.call(ops, Some(cpu), Call::CpuRelease { cpu, reason });
        }
    }

    /// `put_prev_task_scx()`.
    fn put_prev_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, next: Curr) {
        if self.rules.kick_wait.until_pick() {
            self.advance_kick_sync(cpu);
        }
        if !self.task(p).queued {
            return;
        }
        self.call(ops, Some(cpu), Call::Stopping { p, runnable: true });
        self.task_mut(p).switches[1] += 1;
        self.set_runnable(p);
        // sched_info_depart()
        self.sched_info_enqueue(p);
        self.note(p, What::Stopped { slice_left: ops.slice(p) != 0 });
        if ops.slice(p) != 0 {
            if self.task(p).immed {
                self.task_mut(p).reenq_reason = SCX_TASK_REENQ_PREEMPTED;
                self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
                self.task_mut(p).reenq_reason = 0;
            } else {
                let head = u64::from(self.rules.enq_head);
                self.dispatch_enqueue(ops, Some(cpu), Dsq::Local(cpu), p, head);
            }
        } else {
            let flags = if next == Curr::Idle { SCX_ENQ_LAST } else { 0 };
            self.do_enqueue_task(ops, cpu, p, flags, None);
            let waits_here = self.task(p).dsq.is_some_and(|(dsq, _)| dsq == Dsq::Local(cpu));
            if next == Curr::Idle && waits_here && self.rules.enq_last_resched {
                self.requests.push(Request::ReschedNext(cpu));
            }
        }
    }

    /// `set_next_task_scx()`.
    fn set_next_task(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId, clock_task: u64) {
        if self.task(p).queued {
            self.ops_dequeue(ops, cpu, p, 0);
            self.dispatch_dequeue(p);
        }
        self.task_mut(p).exec_start = clock_task;
        // rq->curr is still the previous task.
        if self.task(p).queued {
            self.call(ops, Some(cpu), Call::Running { p });
        }
        let now = self.now;
        let task = self.task_mut(p);
        task.runnable = None;
        task.reset_runnable_at = true;
        // sched_info_arrive(), which comes after ops.running()
        let info = &mut task.sched_info;
        info.run_delay += info.last_queued.take().map_or(0, |since| now - since);
        (info.pcount, info.last_arrival) = (info.pcount + 1, now);
        self.note_picked(p);
        let now = self.now;
        let rq = &mut self.rqs[cpu as usize];
        (rq.curr, rq.lately.since) = (Curr::Ext(p), now);
    }

    /// `task_tick_scx()`: the running task's tick. Asks for a reschedule if its slice is over.
    pub fn task_tick(&mut self, ops: &mut dyn Ops, cpu: Cpu, clock_task: u64) {
        let Curr::Ext(curr) = self.rqs[cpu as usize].curr else { return };
        self.update_curr(ops, cpu, clock_task);
        self.call(ops, Some(cpu), Call::Tick { p: curr });
        if ops.slice(curr) == 0 {
            self.resched_curr(cpu);
        }
    }

    /// `scx_update_idle()`. `notify` says that the CPU goes idle or leaves it; else an idle CPU has found nothing and
    /// stays idle.
    fn scx_update_idle(&mut self, ops: &mut dyn Ops, cpu: Cpu, idle: bool, notify: bool) {
        if self.rules.idle_masks_first {
            self.idle.update(cpu, idle);
        }
        if notify {
            self.call(ops, Some(cpu), Call::UpdateIdle { cpu, idle });
        }
        if !self.rules.idle_masks_first {
            self.idle.update(cpu, idle);
        }
    }

    /// `run_deferred()`: what CPUs can do when they may give up their locks; and the kicks of this one. The kernel runs
    /// it at the end of the wake-up or of the pick, or by an irq_work.
    pub fn run_deferred(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        self.clock_valid = None;
        let mut served = 0;
        while !self.deferred.is_empty() && self.exit.is_none() {
            let rq = self.deferred.remove(0);
            served += 1;
            if served > DEFERRED_MAX {
                let last = self.last_call();
                let message = format!(
                    "the work that {last} leaves for later makes new work each time: tasks go back to the scheduler \
                     {served} times without any time passing"
                );
                return self.end(ExitKind::Fault, message, 0);
            }
            self.process_ddsp_deferred_locals(ops, rq);
            self.process_deferred_reenq_locals(ops, rq);
            for dsq_id in std::mem::take(&mut self.rqs[rq as usize].reenq_users) {
                self.reenq_user(ops, dsq_id);
            }
        }
        self.kick_cpus(ops, cpu);
    }

    /// `kick_cpus_irq_workfn()`.
    fn kick_cpus(&mut self, ops: &mut dyn Ops, this_cpu: Cpu) {
        let mut kicks = std::mem::take(&mut self.rqs[this_cpu as usize].kicks);
        kicks.retain(|&(other, _)| other == this_cpu || self.online.test(other));
        let waits = std::mem::take(&mut self.rqs[this_cpu as usize].cpus_to_wait);
        let mut should_wait = false;
        for &(cpu, kick) in kicks.iter().filter(|(_, kick)| *kick != Kick::IfIdle) {
            should_wait |= self.kick_one_cpu(ops, this_cpu, cpu, kick, waits.contains(&cpu));
        }
        for (cpu, _) in kicks.into_iter().filter(|(_, kick)| *kick == Kick::IfIdle) {
            if self.rqs[cpu as usize].curr == Curr::Idle {
                self.resched_curr(cpu);
            }
        }
        match (should_wait, self.rules.kick_wait.in_irq()) {
            (false, _) => {}
            (true, true) => self.rqs[this_cpu as usize].kick_sync_waits = true,
            (true, false) => {
                self.rqs[this_cpu as usize].kick_sync_pending = true;
                self.resched_curr(this_cpu);
            }
        }
    }

    /// `kick_one_cpu()`. Returns whether the CPU that kicks is to wait for it.
    fn kick_one_cpu(&mut self, ops: &mut dyn Ops, this_cpu: Cpu, cpu: Cpu, kick: Kick, wait: bool) -> bool {
        let curr = self.rqs[cpu as usize].curr;
        if self.rules.kick_spares_above && curr == Curr::Above {
            return false;
        }
        let mut should_wait = !self.rules.kick_wait.until_pick();
        if let Curr::Ext(curr) = curr {
            should_wait = true;
            if kick == Kick::Preempt {
                ops.set_slice(curr, 0);
            }
        }
        if wait && should_wait {
            let seq = self.rqs[cpu as usize].kick_sync;
            let syncs = &mut self.rqs[this_cpu as usize].cpus_to_sync;
            syncs.retain(|&(other, _)| other != cpu);
            syncs.push((cpu, seq));
            self.advance_while_waiting(cpu);
        }
        self.resched_curr(cpu);
        wait && should_wait
    }

    /// Advances a CPU's `kick_sync` (`smp_store_release()`), which may end the waits of others.
    fn advance_kick_sync(&mut self, cpu: Cpu) {
        self.rqs[cpu as usize].kick_sync += 1;
        let of = |&waits: &Cpu| self.rqs[waits as usize].cpus_to_sync.iter().any(|&(other, _)| other == cpu);
        let waiting = self.kick_waiting.iter().copied().filter(of);
        self.requests.extend(waiting.map(Request::KickSynced));
    }

    /// `kick_sync_wait_bal_cb()`, up to 6.18 the end of `kick_cpus_irq_workfn()`: whether the CPU, which has come to
    /// the place where it waits for those that it kicked with `SCX_KICK_WAIT`, has to wait (on). A later
    /// [`Request::KickSynced`] says when to ask again.
    pub fn kick_waits(&mut self, cpu: Cpu) -> bool {
        if !self.rqs[cpu as usize].kick_sync_waits {
            return false;
        }
        let mut syncs = std::mem::take(&mut self.rqs[cpu as usize].cpus_to_sync);
        syncs.retain(|&(other, seq)| other != cpu && self.rqs[other as usize].kick_sync == seq);
        let waits = !syncs.is_empty();
        let rq = &mut self.rqs[cpu as usize];
        (rq.cpus_to_sync, rq.kick_sync_waits) = (syncs, waits);
        let waited = self.kick_waiting.contains(&cpu);
        if !waits {
            self.kick_waiting.retain(|&other| other != cpu);
        } else if !waited {
            self.kick_waiting.push(cpu);
            self.advance_while_waiting(cpu);
        }
        waits
    }

    /// A CPU that waits keeps advancing its own `kick_sync`, so that CPUs cannot wait for each other in a circle.
    fn advance_while_waiting(&mut self, cpu: Cpu) {
        if !self.rules.kick_wait.in_irq() && self.kick_waiting.contains(&cpu) {
            self.advance_kick_sync(cpu);
        }
    }

    /// Whether a CPU waits with interrupts disabled (up to 6.18).
    pub fn kick_waits_in_irq(&self, cpu: Cpu) -> bool {
        self.rules.kick_wait.in_irq() && self.rqs[cpu as usize].kick_sync_waits
    }

    /// `process_ddsp_deferred_locals()`.
    fn process_ddsp_deferred_locals(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        while let Some(p) = self.rqs[cpu as usize].ddsp_deferred_locals.pop_front() {
            let task = self.task_mut(p);
            task.deferred = false;
            let (dsq_id, enq_flags) = (task.ddsp_dsq_id, task.ddsp_enq_flags);
            self.clear_direct_dispatch(p);
            if let Dsq::Local(to) = self.find_dsq_for_dispatch(cpu, dsq_id, p) {
                self.dispatch_to_local_dsq(ops, cpu, to, p, enq_flags);
            }
        }
    }

    /// `process_deferred_reenq_locals()`.
    fn process_deferred_reenq_locals(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        const SCX_REENQ_LOCAL_MAX_REPEAT: u32 = 256;
        let mut count = 0;
        while let Some(flags) = self.rqs[cpu as usize].reenq_local.take() {
            if count > SCX_REENQ_LOCAL_MAX_REPEAT {
                return self.error(format!("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated {count} times"));
            }
            count += 1;
            self.reenq_local(ops, cpu, flags);
        }
    }

    /// `reenq_local()`: gives tasks of a local queue back to the scheduler; those that have to run at once and do not,
    /// and with `SCX_REENQ_ANY` all. Returns how many.
    fn reenq_local(&mut self, ops: &mut dyn Ops, cpu: Cpu, flags: u64) -> u32 {
        let open = self.rq_is_open(cpu, 0);
        let waits: Vec<TaskId> = self.rqs[cpu as usize].local_dsq.iter().collect();
        let mut leave = Vec::new();
        for (at, p) in waits.into_iter().enumerate() {
            let reason = if self.task(p).immed && (at != 0 || !open) {
                SCX_TASK_REENQ_IMMED
            } else if flags & SCX_REENQ_ANY != 0 {
                SCX_TASK_REENQ_KFUNC
            } else {
                continue;
            };
            self.dispatch_dequeue(p);
            // Kernels without SCX_ENQ_IMMED tell no reason.
            self.task_mut(p).reenq_reason = if self.has_immed() { reason } else { 0 };
            leave.push(p);
        }
        for &p in &leave {
            self.note(p, What::Reenqueued);
            self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
            self.task_mut(p).reenq_reason = 0;
        }
        leave.len() as u32
    }

    /// `reenq_user()`: gives all tasks of a queue back to the scheduler.
    fn reenq_user(&mut self, ops: &mut dyn Ops, dsq_id: u64) {
        let Some(mut iter) = self.dsq_iter(dsq_id, false) else { return };
        while let Some(p) = self.dsq_iter_next(&mut iter) {
            self.dispatch_dequeue(p);
            let cpu = self.task(p).cpu;
            self.task_mut(p).reenq_reason = SCX_TASK_REENQ_KFUNC;
            self.note(p, What::Reenqueued);
            self.do_enqueue_task(ops, cpu, p, SCX_ENQ_REENQ, None);
            self.task_mut(p).reenq_reason = 0;
        }
    }

    /// How often the watchdog looks, ns: `scx_watchdog_interval`, half of what `ops.timeout_ms` says.
    pub fn watchdog_interval(&self) -> u64 {
        u64::from(self.timeout_ms()) * 1_000_000 / 2
    }

    fn timeout_ms(&self) -> u32 {
        match self.declared.timeout_ms {
            0 => SCX_WATCHDOG_MAX_TIMEOUT_MS,
            ms => ms,
        }
    }

    /// `check_rq_for_timeouts()` of each CPU: ends the scheduler if a task has been runnable for too long, with how it
    /// came to that ([`Exit::chain`]).
    pub fn check_for_timeouts(&mut self) {
        let limit = u64::from(self.timeout_ms()) * 1_000_000;
        let late = |task: &Entity| self.now > task.runnable_at + limit;
        // The first of a CPU's list, of the first CPU that has one.
        let waits = self.tasks.iter().enumerate().filter_map(|(at, task)| Some((task.cpu, task.runnable?, at, task)));
        let first = waits.filter(|(.., task)| late(task)).min_by_key(|&(cpu, seq, ..)| (cpu, seq));
        if let Some((cpu, _, at, task)) = first {
            let ms = (self.now - task.runnable_at) / 1_000_000;
            let named = self.named(TaskId(at as u32));
            let message = format!("{named} failed to run for {}.{:03}s", ms / 1000, ms % 1000);
            let chain = self.chain_of(TaskId(at as u32));
            self.this_cpu = cpu;
            self.end(ExitKind::Stall, message, 0);
            if let Some(exit) = self.exit.as_mut().filter(|exit| exit.kind == ExitKind::Stall) {
                exit.chain = chain;
            }
        }
    }

    // --- Kernel functions of schedulers -----------------------------------------------------------------------------

    /// `scx_bpf_create_dsq()` in the memory of a node; -1 for any. Returns 0, or the error.
    pub fn create_dsq_on_node(&mut self, id: u64, node: i32) -> i64 {
        let valid = node == -1 || u32::try_from(node).is_ok_and(|node| node < self.idle.topology().nr_nodes());
        if valid { self.create_dsq(id) } else { EINVAL }
    }

    /// The same in the memory of any node.
    pub fn create_dsq(&mut self, id: u64) -> i64 {
        const EEXIST: i64 = -17;
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            return EINVAL;
        }
        match self.user.contains_key(&id) {
            true => EEXIST,
            false => {
                self.user.insert(id, DispatchQ::default());
                0
            }
        }
    }

    /// `scx_bpf_destroy_dsq()`. Returns whether there was such a queue, and is none now.
    pub fn destroy_dsq(&mut self, id: u64) -> bool {
        match self.user.get(&id).map(DispatchQ::nr) {
            None => false,
            Some(0) => self.user.remove(&id).is_some(),
            Some(nr) => {
                self.error(format!("attempting to destroy in-use dsq {id:#018x} (nr={nr})"));
                false
            }
        }
    }

    /// `scx_bpf_dsq_nr_queued()`: how many tasks wait, or `-ENOENT`.
    pub fn dsq_nr_queued(&mut self, id: u64) -> i64 {
        const ENOENT: i64 = -2;
        if id == SCX_DSQ_LOCAL {
            let locked = self.locked_rq.filter(|_| self.rules.local_is_locked);
            let cpu = locked.unwrap_or(self.this_cpu);
            return i64::from(self.rqs[cpu as usize].local_dsq.nr());
        }
        if id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let on = self.cpu_ret(i64::from((id & SCX_DSQ_LOCAL_CPU_MASK) as i32));
            return match self.check_cpu(on as i32) {
                Ok(cpu) => i64::from(self.rqs[cpu as usize].local_dsq.nr()),
                Err(error) => {
                    if let IdleError::Scx(message) = error {
                        self.error(message);
                    }
                    ENOENT
                }
            };
        }
        self.user.get(&id).map_or(ENOENT, |dsq| i64::from(dsq.nr()))
    }

    /// `scx_bpf_dsq_peek()`.
    pub fn dsq_peek(&mut self, id: u64) -> Option<TaskId> {
        if id & SCX_DSQ_FLAG_BUILTIN != 0 {
            self.error(format!("peek disallowed on builtin DSQ {id:#x}"));
            return None;
        }
        match self.user.get(&id) {
            Some(dsq) => dsq.first(),
            None => {
                self.error(format!("peek on non-existent DSQ {id:#x}"));
                None
            }
        }
    }

    /// `scx_bpf_dsq_insert()`; with a `vtime`, `scx_bpf_dsq_insert_vtime()`. Returns whether the task was taken.
    pub fn dsq_insert(
        &mut self,
        ops: &mut dyn Ops,
        p: TaskId,
        dsq_id: u64,
        slice: u64,
        vtime: Option<u64>,
        enq_flags: u64,
    ) -> bool {
        if !self.kf_allowed(KF_ENQUEUE | KF_DISPATCH, "scx_bpf_dsq_insert") {
            return false;
        }
        if enq_flags & SCX_ENQ_INTERNAL_MASK != 0 {
            self.error(format!("invalid enq_flags {enq_flags:#x}"));
            return false;
        }
        // SCX_EV_INSERT_NOT_OWNED, 7.1: a task that has gone, or is not initialized yet.
        if self.has_immed() && !self.tasks.get(p.0 as usize).is_some_and(|task| task.ready) {
            return false;
        }
        let Some(mut enq_flags) = self.vet_enq_flags(dsq_id, enq_flags) else { return false };
        if slice != 0 {
            ops.set_slice(p, slice);
        } else if ops.slice(p) == 0 {
            ops.set_slice(p, 1);
        }
        if let Some(vtime) = vtime {
            ops.set_dsq_vtime(p, vtime);
            enq_flags |= SCX_ENQ_DSQ_PRIQ;
        }
        match self.direct.replace(Direct::Done) {
            Some(Direct::May(task)) if task == p => {
                let task = self.task_mut(p);
                (task.ddsp_dsq_id, task.ddsp_enq_flags) = (dsq_id, enq_flags);
            }
            Some(Direct::May(task)) => {
                let (of, named) = (self.named(task), self.named(p));
                self.error(format!("scheduling for {of} but trying to direct-dispatch {named}"));
            }
            Some(Direct::Done) => {
                let named = self.named(p);
                self.error(format!("{named} already direct-dispatched"));
            }
            None => {
                self.direct = None;
                if self.dsp.buf.len() >= self.dsp_max_batch() as usize {
                    self.error("dispatch buffer overflow");
                    return true;
                }
                let qseq = match self.task(p).ops_state {
                    OpsState::Queued(qseq) | OpsState::Queueing(qseq) => qseq,
                    OpsState::None => 0,
                };
                self.dsp.buf.push(DspEnt { task: p, qseq, dsq_id, enq_flags });
            }
        }
        true
    }

    /// `scx_bpf_dispatch_nr_slots()`.
    pub fn dispatch_nr_slots(&mut self) -> u32 {
        if !self.kf_allowed(KF_DISPATCH, "scx_bpf_dispatch_nr_slots") {
            return 0;
        }
        self.dsp_max_batch() - self.dsp.buf.len() as u32
    }

    fn dsp_max_batch(&self) -> u32 {
        match self.declared.dispatch_max_batch {
            0 => SCX_DSP_DFL_MAX_BATCH,
            max => max,
        }
    }

    /// `scx_bpf_dispatch_cancel()`.
    pub fn dispatch_cancel(&mut self) {
        if self.kf_allowed(KF_DISPATCH, "scx_bpf_dispatch_cancel") && self.dsp.buf.pop().is_none() {
            self.error("dispatch buffer underflow");
        }
    }

    /// `scx_bpf_dsq_move_to_local()`: returns whether a task was moved.
    pub fn dsq_move_to_local(&mut self, ops: &mut dyn Ops, dsq_id: u64, enq_flags: u64) -> bool {
        if !self.kf_allowed(KF_DISPATCH, "scx_bpf_dsq_move_to_local") {
            return false;
        }
        let Some(enq_flags) = self.vet_enq_flags(SCX_DSQ_LOCAL, enq_flags) else { return false };
        let cpu = self.dsp.cpu;
        self.flush_dispatch_buf(ops, cpu);
        if !self.user.contains_key(&dsq_id) {
            self.error(format!("invalid DSQ ID {dsq_id:#018x}"));
            return false;
        }
        let moved = self.consume_dispatch_q(ops, cpu, Dsq::User(dsq_id), enq_flags);
        self.dsp.nr_tasks += u32::from(moved);
        moved
    }

    /// `bpf_iter_scx_dsq_new()`: an iterator over a queue of the scheduler; `None` if there is no such queue.
    pub fn dsq_iter(&self, dsq_id: u64, reverse: bool) -> Option<DsqIter> {
        let seq = self.user.get(&dsq_id)?.seq();
        Some(DsqIter { dsq: dsq_id, reverse, seq, at: None, slice: None, vtime: None })
    }

    /// `bpf_iter_scx_dsq_next()`. After the last task it begins anew.
    pub fn dsq_iter_next(&self, iter: &mut DsqIter) -> Option<TaskId> {
        let queue = self.user.get(&iter.dsq)?;
        loop {
            let next = if iter.reverse { queue.next_before(iter.at) } else { queue.next_after(iter.at) };
            iter.at = next.map(|(key, _)| key);
            let (_, p) = next?;
            // Those that have joined since the iterator began are left out.
            if self.task(p).dsq_seq <= iter.seq {
                return Some(p);
            }
        }
    }

    /// `scx_bpf_dsq_move()`; with `priq`, `scx_bpf_dsq_move_vtime()`. Returns whether the task was moved.
    pub fn dsq_move(
        &mut self,
        ops: &mut dyn Ops,
        iter: &mut DsqIter,
        p: TaskId,
        dsq_id: u64,
        enq_flags: u64,
        priq: bool,
    ) -> bool {
        if self.kf_mask() != 0 && !self.kf_allowed(KF_DISPATCH, "scx_bpf_dsq_move") {
            return false;
        }
        let flags = if priq { enq_flags | SCX_ENQ_DSQ_PRIQ } else { enq_flags };
        let Some(flags) = self.vet_enq_flags(dsq_id, flags) else { return false };
        if self.exit.is_some() {
            return false;
        }
        let (slice, vtime) = (iter.slice.take(), iter.vtime.take());
        let from = Dsq::User(iter.dsq);
        let Some((_, key)) = self.task(p).dsq.filter(|&(dsq, _)| dsq == from) else { return false };
        if self.task(p).dsq_seq > iter.seq {
            return false;
        }
        let task_cpu = self.task(p).cpu;
        let cpu = self.locked_rq.unwrap_or(self.this_cpu);
        let to = self.find_dsq_for_dispatch(cpu, dsq_id, p);
        if let Some(vtime) = vtime {
            ops.set_dsq_vtime(p, vtime);
        }
        if let Some(slice) = slice {
            ops.set_slice(p, slice);
        }
        self.lock_dsq(from);
        let now = self.now;
        let queue = self.dsq_mut(from);
        queue.remove(key);
        queue.taken = Some((now, cpu, p));
        self.task_mut(p).dsq = None;
        let op = self.running.map(|call| call.op());
        self.note(p, What::Taken { dsq: from, op });
        match to {
            Dsq::Local(to) if to == task_cpu => self.move_local_task_to_local_dsq(ops, p, flags, to),
            Dsq::Local(to) if self.task_can_run_on_remote_rq(p, to, true) => {
                self.move_remote_task_to_local_dsq(ops, p, flags, to);
            }
            Dsq::Local(_) => {
                let global = self.global_of(task_cpu);
                self.dispatch_enqueue(ops, self.locked_rq, global, p, flags);
            }
            to => self.dispatch_enqueue(ops, self.locked_rq, to, p, flags),
        }
        true
    }

    /// `scx_bpf_reenqueue_local()` of `ops.cpu_release()`: gives the tasks of this CPU's local queue back to the
    /// scheduler. Returns how many.
    pub fn reenqueue_local(&mut self, ops: &mut dyn Ops) -> u32 {
        if !self.kf_allowed(KF_CPU_RELEASE, "scx_bpf_reenqueue_local") {
            return 0;
        }
        self.reenq_local(ops, self.this_cpu, SCX_REENQ_ANY)
    }

    /// `scx_bpf_dsq_reenq()`: the same of any local queue or one of the scheduler, soon.
    pub fn dsq_reenq(&mut self, dsq_id: u64, reenq_flags: u64) {
        if reenq_flags & !SCX_REENQ_ANY != 0 {
            return self.error(format!("invalid SCX_REENQ flags {reenq_flags:#x}"));
        }
        let rq = self.locked_rq.unwrap_or(self.this_cpu);
        if dsq_id == SCX_DSQ_LOCAL {
            return self.schedule_reenq_local(rq, SCX_REENQ_ANY);
        }
        if dsq_id & SCX_DSQ_LOCAL_ON == SCX_DSQ_LOCAL_ON {
            let on = self.cpu_ret(i64::from((dsq_id & SCX_DSQ_LOCAL_CPU_MASK) as i32)) as i32;
            return match self.check_cpu(on) {
                Ok(cpu) => self.schedule_reenq_local(cpu, SCX_REENQ_ANY),
                Err(_) => self.error(format!("invalid CPU {on} in SCX_DSQ_LOCAL_ON dispatch verdict")),
            };
        }
        if dsq_id == SCX_DSQ_GLOBAL {
            return self.error(format!("DSQ {dsq_id:#x} not allowed for reenq"));
        }
        if !self.user.contains_key(&dsq_id) {
            return self.error(format!("non-existent DSQ {dsq_id:#x}"));
        }
        let users = &mut self.rqs[self.this_cpu as usize].reenq_users;
        if !users.contains(&dsq_id) {
            users.push(dsq_id);
        }
        self.schedule_deferred(self.this_cpu);
    }

    /// `scx_bpf_kick_cpu()`.
    pub fn kick_cpu(&mut self, cpu: Cpu, flags: u64) {
        if flags & SCX_KICK_IDLE != 0 && flags & (SCX_KICK_PREEMPT | SCX_KICK_WAIT) != 0 {
            return self.error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
        }
        let kick = if flags & SCX_KICK_IDLE != 0 {
            let rq = &self.rqs[cpu as usize];
            // Where the CPU's lock is held, nobody can look, and the kick is left to run_deferred().
            if self.locked_rq != Some(cpu) && rq.curr != Curr::Idle && !rq.in_balance {
                return;
            }
            Kick::IfIdle
        } else if flags & SCX_KICK_PREEMPT != 0 {
            Kick::Preempt
        } else {
            Kick::Resched
        };
        let (now, by) = (self.now, self.this_cpu);
        self.rqs[cpu as usize].lately.kicked(now, by, kick);
        self.rqs[cpu as usize].kicker = Some((self.running.map(|call| call.op()), by));
        let kicks = &mut self.rqs[self.this_cpu as usize].kicks;
        match kicks.binary_search_by_key(&cpu, |&(cpu, _)| cpu) {
            Err(at) => kicks.insert(at, (cpu, kick)),
            // The masks of what each is to do add up.
            Ok(at) if kick == Kick::Preempt || kicks[at].1 == Kick::IfIdle => kicks[at].1 = kick,
            Ok(_) => {}
        }
        let waits = &mut self.rqs[self.this_cpu as usize].cpus_to_wait;
        if flags & SCX_KICK_WAIT != 0
            && let Err(at) = waits.binary_search(&cpu)
        {
            waits.insert(at, cpu);
        }
    }

    /// `scx_bpf_cpuperf_set()`: the target that schedutil follows, 0 to 1024 (`scx_cpuperf_target()`).
    pub fn cpuperf_set(&mut self, cpu: i32, perf: u32) {
        if perf > SCX_CPUPERF_ONE {
            return self.error(format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        }
        let cpu = match self.check_cpu(cpu) {
            Ok(cpu) => cpu,
            Err(IdleError::Scx(message)) => return self.error(message),
            Err(IdleError::Busy) => return,
        };
        if self.rules.cpuperf_of_locked && self.locked_rq.is_some_and(|locked| locked != cpu) {
            return self.error(format!("Invalid target CPU {cpu}"));
        }
        self.rqs[cpu as usize].cpuperf_target = perf;
        self.requests.push(Request::CpuPerf(cpu));
    }

    /// `scx_allow_ttwu_queue()`: whether wakees may go by the wakelist.
    pub fn allow_ttwu_queue(&self) -> bool {
        self.rules.queued_wakeup && self.declared.flags & SCX_OPS_ALLOW_QUEUED_WAKEUP != 0
    }

    /// Whether a CPU has something to do when it finishes what it does now.
    pub fn has_deferred(&self, cpu: Cpu) -> bool {
        !self.rqs[cpu as usize].kicks.is_empty() || !self.deferred.is_empty()
    }
}

/// `sched_weight_to_cgroup()`.
fn weight_to_cgroup(weight: u64) -> u32 {
    ((weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}
