//! Tasks under a scheduler of sched_ext: where the core of `wakelab-scx-core` meets CPUs and their time.
//!
//! All tasks that are not realtime or deadline tasks are the scheduler's (`scx_switch_all()`). The fair class has none
//! then, so that neither its averages nor its balancing are simulated. Those above run before the scheduler's, which
//! hears of it by `ops.cpu_release()` and `ops.cpu_acquire()`; the class's server (`ext_server`), which keeps a share
//! of each CPU for it, is the fair server's code with its own tasks.
//!
//! An operation runs at one moment, and its time passes afterwards: that of `ops.select_cpu()` before the wakee is on
//! its way to the chosen CPU, that of `ops.enqueue()` while the run queue's lock is held, that of `ops.dispatch()` with
//! the switch.

use crate::cpu::{Doing, Irq, Waking};
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::model::Model;
use crate::numbered::PerTask;
use crate::system::{BOOT_NS, System};
use crate::task::{Of, State};
use crate::{Setup, SimError};
use std::collections::VecDeque;
use std::fmt;
use wakelab_events::sim::{Event, ScxDsq, ScxStep, Sink};
use wakelab_kernel::{ExtRules, Preset};
use wakelab_machine::{Machine, ScxCosts};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::NO_RT_PRIO;
use wakelab_sched::runqueue::{LoadWeight, Policy, Prev, Resched, TaskId};
use wakelab_sched::select::WakeFlags;
use wakelab_scx_core::cgroup::{Bandwidth, TaskGroup};
use wakelab_scx_core::entity::{Clocks, Curr, Dsq};
use wakelab_scx_core::ext::{Declared, Ext, ExtCosts, Joins, LineCost, OpTime, Request};
use wakelab_scx_core::flags::{
    DEQUEUE_NOCLOCK, HARDIRQ_OFFSET, SCX_CPU_PREEMPT_DL, SCX_CPU_PREEMPT_RT, SCX_CPU_PREEMPT_STOP, SCX_DEQ_SLEEP,
    SCX_ENQ_WAKEUP, SCX_WAKE_FORK, SCX_WAKE_SYNC, SCX_WAKE_TTWU, SOFTIRQ_OFFSET,
};
use wakelab_scx_core::idle::IdleTopology;
use wakelab_scx_core::ops::{self as scx, ExitKind, Host, Ops, Priorities, ProgramCosts, Scheduler, TaskInfo};
use wakelab_scx_core::stall::{Step, What, seconds};
use wakelab_workload::{Call, Changed, CpuMax, Group, Op, Realtime};

/// The shell that forks the workload's tasks (`add_launcher()`).
const SHELL: TaskId = TaskId(0);

// `p->policy` (include/uapi/linux/sched.h).
const SCHED_NORMAL: u32 = 0;
const SCHED_FIFO: u32 = 1;
const SCHED_RR: u32 = 2;
const SCHED_BATCH: u32 = 3;
const SCHED_IDLE: u32 = 5;
const SCHED_DEADLINE: u32 = 6;

/// How often a CPU may go through `__schedule()` without running its task in between. The kernel would go on for ever:
/// its loop in `schedule()` has no bound, and none of its watchdogs sees it.
const PASSES_MAX: u32 = 100_000;

/// How many timers of the scheduler a CPU may serve in a row, each of which has expired before the one before was over.
/// The kernel would report a soft lockup after 20 s.
const TIMERS_IN_ROW_MAX: u32 = 100_000;

/// Timers of a scheduler as a CPU serves them, in softirqs.
#[derive(Clone, Debug, Default)]
pub struct TimerSoftirq {
    /// Those that have expired and wait to be served.
    expired: VecDeque<u32>,
    /// It is to serve one.
    raised: bool,
    /// When the function of the last one is over, ns.
    until: u64,
    /// How many in a row had to wait for each other, and since when, ns.
    in_row: u32,
    since: u64,
}

/// How a CPU waits for CPUs that it kicked with `SCX_KICK_WAIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KickWait {
    /// It does not.
    No,
    /// In the kick's interrupt: nothing else happens on it meanwhile.
    InIrq,
    /// Once it has scheduled, with interrupts enabled.
    AfterPass,
}

/// The scheduler of a run.
pub struct ExtState {
    /// The core.
    pub ext: Ext,
    /// CPUs that are on their way offline.
    pub leaving: Vec<Cpu>,
    /// Kernel threads that have lost their affinity with their CPU, and that affinity's number.
    pub unbound: Vec<(TaskId, u32)>,
    ops: Box<dyn Ops>,
    /// The CPU and the task that forks there, if its own program is not at a fork.
    forker: Option<(Cpu, TaskId)>,
    /// The CPU from whose run queue a task was moved last, and when that run queue's lock is free, ns.
    moved: PerTask<(Cpu, u64)>,
}

impl fmt::Debug for ExtState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtState").field("scheduler", &self.ext.declared().name).finish_non_exhaustive()
    }
}

impl ExtState {
    /// Loads the scheduler of a run, if it has one.
    pub fn new(setup: &Setup<'_>, model: &Model<'_>) -> Result<Option<Box<Self>>, SimError> {
        let Some(scheduler) = setup.scheduler else { return Ok(None) };
        if let Some(what) = not_modelled(model) {
            return Err(refused(what));
        }
        let topology = &setup.machine.topology;
        let (rules, declared, ops) = load(setup.machine, setup.kernel, scheduler, setup.seed)?;
        let named = |error| SimError::Scheduler(format!("{}: {error}", scheduler.name()));
        let distance = |a: u32, b: u32| topology.node_distance[a as usize][b as usize];
        let idle = IdleTopology::new(model.domains, distance);
        let ext = Ext::new(rules, declared, ext_costs(&setup.machine.scx_costs), idle, model.masks.to_vec())
            .map_err(named)?;
        let ext = ext.with_line_cost(line_cost(setup.machine, model));
        let (leaving, unbound, moved) = (Vec::new(), Vec::new(), PerTask::default());
        Ok(Some(Box::new(ExtState { ext, leaving, unbound, ops, forker: None, moved })))
    }
}

/// Returns the time that the core takes on a machine.
fn ext_costs(costs: &ScxCosts) -> ExtCosts {
    let [op, dsq, remote, mask_words] =
        [&costs.scx_op, &costs.scx_dsq, &costs.scx_move, &costs.scx_idle_words].map(|cost| cost.value);
    ExtCosts { op, dsq, remote, mask_words }
}

/// Returns the cost of a cache line of a dispatch queue by its origin.
fn line_cost(machine: &Machine, model: &Model<'_>) -> LineCost {
    let (lines, distances) = (machine.scx_costs.line_by_distance(&machine.costs.cluster_line), model.distances.clone());
    let lines = if model.mechanisms.distance { lines } else { lines.without_distance() };
    LineCost::new(move |from, to| lines.at(distances.between(from, to)))
}

/// Returns the time that programs take on a machine.
fn program_costs(costs: &ScxCosts) -> ProgramCosts {
    let [insn_ps, call, map, atomic] =
        [&costs.bpf_insn, &costs.bpf_call, &costs.bpf_map, &costs.bpf_atomic].map(|cost| cost.value);
    ProgramCosts { insn_ps, call, map, atomic }
}

/// Loads a scheduler: the kernel's rules, what the scheduler declares, and its operations.
pub fn load(
    machine: &Machine,
    kernel: &Preset,
    scheduler: &dyn Scheduler,
    seed: u64,
) -> Result<(ExtRules, Declared, Box<dyn Ops>), SimError> {
    let rules = rules(kernel, scheduler)?;
    let named = |error| SimError::Scheduler(format!("{}: {error}", scheduler.name()));
    let (declared, ops) = scheduler.load(&host(machine, kernel, &rules, seed)).map_err(named)?;
    Ok((rules, declared, ops))
}

/// Returns warnings about the parts of a scheduler that can be loaded but do not run here.
pub fn warnings(machine: &Machine, kernel: &Preset, scheduler: &dyn Scheduler) -> Result<Vec<String>, SimError> {
    Ok(scheduler.warnings(&host(machine, kernel, &rules(kernel, scheduler)?, 0)))
}

fn rules(kernel: &Preset, scheduler: &dyn Scheduler) -> Result<ExtRules, SimError> {
    kernel.core.ext.ok_or_else(|| {
        let with: Vec<&str> = Preset::all().iter().filter(|of| of.core.ext.is_some()).map(|of| of.name).collect();
        SimError::Kernel(format!(
            "{} has no sched_ext that is modelled, so {} cannot be loaded; expected one of {}",
            kernel.name,
            scheduler.name(),
            with.join(", ")
        ))
    })
}

fn host<'a>(machine: &'a Machine, kernel: &'a Preset, rules: &'a ExtRules, seed: u64) -> Host<'a> {
    let hz = u64::from(kernel.hz.value);
    let costs = program_costs(&machine.scx_costs);
    Host { topology: &machine.topology, rules, kernel: kernel.name, hz, seed, costs }
}

/// A step of a task, as an event.
fn scx_event(task: TaskId, step: Step) -> Event {
    let queue = |dsq| match dsq {
        Dsq::Local(cpu) => ScxDsq::Local(cpu),
        Dsq::Global(node) => ScxDsq::Global(node),
        Dsq::User(id) => ScxDsq::User(id),
    };
    let none = (None, None, None, None);
    let (kind, (op, dsq, queued, to_cpu)) = match step.what {
        What::Selected { cpu, .. } => (ScxStep::Selected, (None, None, None, Some(cpu))),
        What::Joins { cpu } => (ScxStep::Joins, (None, None, None, Some(cpu))),
        What::Stopped { .. } => (ScxStep::Stopped, none),
        What::Held => (ScxStep::Held, (Some(scx::Op::Enqueue), None, None, None)),
        What::Queued { dsq, op, queued } => (ScxStep::Queued, (op, Some(queue(dsq)), Some(queued), None)),
        What::Taken { dsq, op } => (ScxStep::Taken, (op, Some(queue(dsq)), None, None)),
        What::Moved { to, .. } => (ScxStep::Moved, (None, None, None, Some(to))),
        What::Reenqueued => (ScxStep::Reenqueued, none),
        What::Picked => (ScxStep::Picked, none),
    };
    Event::Scx { task: task.0, cpu: step.on, step: kind, op: op.map(scx::Op::name), dsq, queued, to_cpu }
}

/// `cpu.max` of a group, as the core knows it.
pub fn bandwidth(max: Option<CpuMax>) -> Bandwidth {
    max.map_or_else(Bandwidth::default, |CpuMax { quota, period, burst }| Bandwidth {
        period_us: period / 1000,
        quota_us: quota / 1000,
        burst_us: burst / 1000,
    })
}

/// A group of a workload, as the core knows it.
pub fn scx_task_group(group: &Group) -> TaskGroup {
    let name = group.name.rsplit('/').next().unwrap_or_default();
    TaskGroup {
        name: name.to_owned(),
        parent: group.parent,
        autogroup: group.autogroup,
        weight: group.weight,
        idle: group.idle,
        bandwidth: bandwidth(group.max),
    }
}

/// That a workload does what is not modelled under a scheduler.
pub fn refused(what: &str) -> SimError {
    SimError::Workload(format!("{what} under a sched_ext scheduler is not modelled"))
}

/// Returns the part of a run that is not modelled together with a sched_ext scheduler.
pub fn not_modelled(model: &Model<'_>) -> Option<&'static str> {
    let workload = model.workload;
    let sets = |op: &Op| matches!(op, Op::Call(Call::Realtime(_)));
    let realtime = |&task: &u32| {
        let task = &workload.tasks[task as usize];
        task.realtime.is_some() || workload.programs[task.program as usize].ops.iter().any(sets)
    };
    for change in &workload.changes {
        match &change.what {
            Changed::Offline { .. } if model.above_fair => {
                return Some("a CPU that goes offline while there are realtime tasks");
            }
            Changed::Move { tasks, .. } if tasks.iter().any(realtime) => {
                return Some("a realtime task that moves to another control group");
            }
            _ => {}
        }
    }
    if model.uclamp.is_some() {
        return Some("a utilisation clamp");
    }
    None
}

impl System<'_> {
    /// Whether tasks are a scheduler's of sched_ext.
    #[inline]
    pub fn scx_enabled(&self) -> bool {
        self.ext.is_some()
    }

    /// Whether a task is of sched_ext's class (`p->sched_class == &ext_sched_class`): all are that are not of a class
    /// above the fair one.
    #[inline]
    pub fn is_ext(&self, id: TaskId) -> bool {
        self.scx_enabled() && !self.rt_or_dl(id)
    }

    /// The policy and the priorities of a task, as a scheduler of sched_ext sees them.
    fn priorities(&self, id: TaskId) -> Priorities {
        let rt = self.rt.as_ref();
        let above = match rt.and_then(|rt| rt.task(id)) {
            Some(rt) => Some((if rt.time_slice.is_some() { SCHED_RR } else { SCHED_FIFO }, rt.prio.into())),
            None => self.is_dl(id).then_some((SCHED_DEADLINE, -1)),
        };
        self.priorities_of(id, above)
    }

    /// The same as they will be with another policy, above the fair class.
    fn priorities_with(&self, id: TaskId, to: Realtime) -> Priorities {
        let above = match to {
            Realtime::Fifo(priority) => (SCHED_FIFO, i32::from(NO_RT_PRIO - priority)),
            Realtime::Rr(priority) => (SCHED_RR, i32::from(NO_RT_PRIO - priority)),
            Realtime::Deadline(_) => (SCHED_DEADLINE, -1),
        };
        self.priorities_of(id, Some(above))
    }

    fn priorities_of(&self, id: TaskId, above: Option<(u32, i32)>) -> Priorities {
        let entity = &self.es[id];
        let static_prio = 120 + i32::from(entity.nice);
        let fair = match entity.policy {
            Policy::Normal => SCHED_NORMAL,
            Policy::Batch => SCHED_BATCH,
            Policy::Idle => SCHED_IDLE,
        };
        let (policy, prio) = above.unwrap_or((fair, static_prio));
        Priorities { policy, prio, static_prio: static_prio.cast_unsigned() }
    }

    /// Whether a wakee may not go by the wakelist (`scx_allow_ttwu_queue()`).
    #[inline]
    pub fn ext_forbids_wakelist(&self, wakee: TaskId) -> bool {
        let Some(state) = &self.ext else { return false };
        !state.ext.allow_ttwu_queue() && self.is_ext(wakee)
    }

    /// Whether a task is what another CPU runs, or switches to.
    pub fn runs_elsewhere(&self, cpu: Cpu, task: TaskId) -> bool {
        let other = self.tasks[task].cpu;
        other != cpu && self.cpus[other].curr == Some(task)
    }

    /// Whether an idle CPU has a task of its run queue to run. Under sched_ext those may wait in queues from which
    /// another CPU takes them: the CPU then waits to be asked.
    #[inline]
    pub fn has_queued(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].nr_running != 0 && self.ext.is_none()
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Calls the core, and does what it asks for.
    pub fn with_ext<R>(&mut self, f: impl FnOnce(&mut Ext, &mut dyn Ops) -> R) -> R {
        self.with_ext_in(None, f)
    }

    /// The same on the way to the next task of `picking`, whose own requests to reschedule the pick answers.
    pub fn with_ext_in<R>(&mut self, picking: Option<Cpu>, f: impl FnOnce(&mut Ext, &mut dyn Ops) -> R) -> R {
        let mut state = self.sys.ext.take().expect("a scheduler is loaded");
        let this_cpu = self.sys.this_cpu;
        state.ext.now = self.sys.now;
        state.ext.this_cpu = this_cpu;
        let forker = state.forker.filter(|&(cpu, _)| cpu == this_cpu).map(|(_, forker)| forker);
        state.ext.current = forker.or(self.sys.cpus[this_cpu].curr);
        state.ext.preempt_count = self.ext_preempt_count(this_cpu);
        let result = f(&mut state.ext, &mut *state.ops);
        let mut requests = state.ext.take_requests();
        if let Some(cpu) = picking {
            requests.retain(|request| *request != Request::Resched(cpu));
        }
        if state.ext.has_deferred(this_cpu) {
            state.ext.run_deferred(&mut *state.ops, this_cpu);
            state.ext.append_requests(&mut requests);
        }
        if S::INPUTS {
            state.ext.take_log().into_iter().for_each(|(task, step)| self.emit(|_| scx_event(task, step)));
        }
        if let Some(exit) = state.ext.exit()
            && self.failed.is_none()
        {
            let name = state.ext.declared().name.clone();
            self.failed = Some(SimError::SchedulerEnded { name, exit: Box::new(exit.clone()) });
        }
        self.sys.ext = Some(state);
        for request in requests.drain(..) {
            match request {
                Request::Moved { task, from, to } => {
                    self.emit(|_| Event::Migrate { task: task.0, from, to });
                    self.sys.tasks[task].cpu = to;
                    self.note_moved(task, from);
                    // deactivate_task() and activate_task() bring the clocks up to date.
                    for cpu in [from, to] {
                        self.ext_update_rq_clock(cpu);
                    }
                    self.sys.cpus[from].nr_running -= 1;
                    self.start_ext_server(to);
                    self.sys.cpus[to].nr_running += 1;
                    self.update_idle(from);
                    self.update_idle(to);
                }
                Request::AllCpus(id) => {
                    let task = &mut self.sys.tasks[id];
                    let mask = std::mem::replace(&mut task.mask, 0);
                    task.pinned = false;
                    if !task.workload()
                        && let Some(state) = &mut self.sys.ext
                    {
                        state.unbound.push((id, mask));
                    }
                }
                Request::CpuPerf(cpu) => {
                    if self.sys.pm.is_some() {
                        self.sys.cpufreq_update_util(cpu, false);
                    }
                }
                // The CPU that advances may be in the middle of its pick.
                Request::KickSynced(cpu) => self.at(self.sys.now, TimedEvent::ExtKickSynced(cpu)),
                Request::ReschedNext(cpu) => self.sys.cpus[cpu].need_resched = true,
                Request::Resched(cpu) => {
                    if self.sys.note_resched(cpu, Resched::Now).is_now() {
                        self.resched(this_cpu, cpu);
                    }
                }
            }
        }
        if let Some(state) = &mut self.sys.ext {
            state.ext.clock_valid = None;
            state.ext.reuse(requests);
            self.timed_events.extend(
                state.ext.take_started_timers().map(|timer| (timer.at, TimedEvent::ExtTimer(timer.number, timer.cpu))),
            );
            self.forget_stale_timers();
        }
        result
    }

    /// Timers that were started anew or cancelled again and again take no memory.
    fn forget_stale_timers(&mut self) {
        const STALE_MAX: usize = 1024;
        let Some(state) = &mut self.sys.ext else { return };
        if *state.ext.stale_timers() <= STALE_MAX.max(self.timed_events.len() / 2) {
            return;
        }
        *state.ext.stale_timers() = 0;
        let ops = &state.ops;
        self.timed_events.retain(|what| !matches!(what, TimedEvent::ExtTimer(of, _) if !ops.timer_is_set(*of)));
    }

    /// The scheduler does what never ends: as the kernel's watchdogs would, this ends it.
    pub fn ext_never_ends(&mut self, cpu: Cpu, message: impl FnOnce(&Ext) -> String) {
        self.sys.this_cpu = cpu;
        self.with_ext(|ext, _| {
            let message = message(ext);
            ext.end(ExitKind::Fault, message, 0);
        });
    }

    /// A CPU goes through `__schedule()` again before its task has run. Returns whether it may: one that does nothing
    /// else hangs.
    pub fn ext_schedules_again(&mut self, cpu: Cpu) -> bool {
        if !self.sys.scx_enabled() {
            return true;
        }
        let now = self.sys.now;
        let c = &mut self.sys.cpus[cpu];
        if c.passes == 0 {
            c.passes_since = now;
        }
        c.passes += 1;
        if c.passes <= PASSES_MAX {
            return true;
        }
        let (passes, since) = (c.passes, c.passes_since);
        self.ext_never_ends(cpu, |ext| {
            let by = ext.kicker(cpu).map_or_else(|| ext.last_call(), |by| format!("{by} kicks it (scx_bpf_kick_cpu)"));
            format!(
                "CPU {cpu} has gone through __schedule() {passes} times since {} without running a task: {by} each \
                 time",
                seconds(since)
            )
        });
        false
    }

    /// Whether and where a CPU that has finished something waits for CPUs that it kicked.
    #[inline]
    pub fn ext_kick_wait(&mut self, cpu: Cpu) -> KickWait {
        match &self.sys.ext {
            Some(state) if state.ext.rqs[cpu as usize].kick_sync_waits => self.ext_kick_waits(cpu),
            _ => KickWait::No,
        }
    }

    fn ext_kick_waits(&mut self, cpu: Cpu) -> KickWait {
        self.sys.this_cpu = cpu;
        self.with_ext(|ext, _| match ext.kick_waits(cpu) {
            false => KickWait::No,
            true if ext.kick_waits_in_irq(cpu) => KickWait::InIrq,
            true => KickWait::AfterPass,
        })
    }

    /// A CPU that waits for others may have nobody to wait for any more.
    pub fn ext_kick_synced(&mut self, cpu: Cpu) {
        if self.sys.cpus[cpu].doing == Doing::ExtKickWait {
            self.account(cpu);
            self.proceed(cpu);
        }
    }

    /// Whoever moves a task takes the lock of the run queue that it leaves (`unlink_dsq_and_lock_src_rq()`, 6.12 and
    /// 7.2). A CPU that still switches away from the task holds that lock.
    fn note_moved(&mut self, task: TaskId, from: Cpu) {
        let free = self.sys.cpus[from].lock_free;
        let Some(state) = &mut self.sys.ext else { return };
        let moved = state.moved.reach(task, (from, 0));
        // Who moves it on does not wait for less.
        if self.sys.cpus[moved.0].doing != Doing::Switch(Some(task)) {
            *moved = (from, free);
        }
    }

    /// How long a CPU that has picked a task waits until the CPU that it was moved from has switched away, ns.
    pub fn ext_waits_for_move(&mut self, next: Option<TaskId>) -> u64 {
        let (Some(state), Some(next)) = (&self.sys.ext, next) else { return 0 };
        let Some(&(rq, free)) = state.moved.get(next) else { return 0 };
        let c = &self.sys.cpus[rq];
        // What its pick has deferred, and moved so, was moved before the length of the switch was known.
        let switches = c.doing == Doing::Switch(Some(next));
        let ns = if switches { free.max(c.lock_free) } else { free }.saturating_sub(self.sys.now);
        if ns != 0 {
            self.emit(|_| Event::LockWait { rq, ns });
        }
        ns
    }

    /// `preempt_count()` of a CPU that wakes a task.
    fn ext_preempt_count(&self, cpu: Cpu) -> u32 {
        let c = &self.sys.cpus[cpu];
        match c.doing.waking().filter(|waking| !waking.in_task) {
            Some(_) if c.curr.is_some_and(|task| self.sys.tasks[task].in_softirq) => SOFTIRQ_OFFSET,
            Some(_) => HARDIRQ_OFFSET,
            None => 0,
        }
    }

    /// `update_rq_clock()` by whoever takes the run queue's lock. Returns `rq_clock_task()`, ns.
    pub fn ext_update_rq_clock(&mut self, cpu: Cpu) -> u64 {
        let (task, pelt) = (self.sys.clock_task(cpu), self.sys.clock_pelt(cpu));
        let now = self.sys.now;
        if let Some(state) = &mut self.sys.ext {
            let since = |clock: u64| clock.saturating_sub(BOOT_NS);
            state.ext.rqs[cpu as usize].clocks = Clocks { task: since(task), pelt: since(pelt) };
            state.ext.clock_valid = Some((cpu, now));
        }
        task
    }

    /// Returns the time that operations have taken since the last call, ns at full speed.
    #[inline]
    pub fn ext_spent(&mut self) -> u64 {
        self.sys.ext.as_mut().map_or(0, |state| state.ext.take_spent())
    }

    /// What operations have taken is done by this CPU before it goes on.
    #[inline]
    pub fn ext_owes(&mut self, cpu: Cpu) {
        self.sys.cpus[cpu].debt += self.ext_spent();
    }

    /// Returns the counts so far ([`Outcome::scheduler`](crate::Outcome::scheduler)).
    pub fn ext_counters(&mut self) -> Vec<(String, u64)> {
        let Some(state) = &mut self.sys.ext else { return Vec::new() };
        let core = state.ext.stats.list().map(|(name, count)| (name.to_owned(), count));
        core.into_iter().chain(state.ops.counters()).collect()
    }

    /// The calls of its operations so far ([`Outcome::scheduler_ops`](crate::Outcome::scheduler_ops)).
    pub fn ext_op_times(&self) -> Vec<(&'static str, OpTime)> {
        let Some(state) = &self.sys.ext else { return Vec::new() };
        state.ext.op_times().map(|(op, time)| (op.name(), time)).collect()
    }

    /// Enables the scheduler: `ops.init()`, then the tasks that exist already.
    pub fn enable_ext(&mut self) {
        if S::INPUTS
            && let Some(state) = &mut self.sys.ext
        {
            state.ext.log_steps();
        }
        if let (Some(pm), Some(state)) = (&self.sys.pm, &mut self.sys.ext) {
            let scales = pm.cpus.iter().map(|cpu| cpu.freq_scale as u32);
            state.ext.rqs.iter_mut().zip(scales).for_each(|(rq, scale)| rq.freq_capacity = scale);
        }
        self.add_changes();
        // Control groups are older than the scheduler, but for those that are made during the run.
        let workload = self.sys.model.workload;
        let there = workload.groups_at_start();
        for (number, group) in (1..).zip(&workload.groups) {
            let made = self.with_ext(|ext, ops| {
                ext.tg_reserve(scx_task_group(group));
                if there[number as usize] { ext.tg_online(ops, number) } else { Ok(()) }
            });
            debug_assert!(made.is_ok(), "no scheduler is asked before it is enabled");
        }
        self.set_ext_loads(true);
        self.with_ext(|ext, ops| ext.init(ops));
        if self.sys.pm.is_some() {
            // The CPUs' targets are the highest now, and the fair class loses its tasks, which tells governors.
            (0..self.sys.model.nr_cpus()).for_each(|cpu| self.sys.cpufreq_update_util(cpu, false));
        }
        // Nothing of the shell that forks the workload is simulated but its moments on its CPU.
        let exists = |id: &u32| *id == SHELL.0 || self.sys.tasks[TaskId(*id)].lives();
        let existing: Vec<u32> = (0..self.sys.tasks.len() as u32).filter(exists).collect();
        existing.iter().for_each(|&id| self.ext_prepare_task(TaskId(id), false));
        for id in existing {
            self.with_ext(|ext, ops| ext.enable_task(ops, TaskId(id), true));
        }
        if let (Some(rt), Some(state)) = (&mut self.sys.rt, &self.sys.ext)
            && !state.ext.rules().ext_server
        {
            rt.server = None;
        }
        self.with_ext(|ext, ops| ext.attached(ops));
        // A run begins on a machine that has been up for a while, and a load some time after its scheduler.
        self.with_ext(|ext, ops| ext.idle_cpus_have_run(ops));
        // Loading takes its time before the run begins.
        self.ext_spent();
        self.set_ext_loads(false);
        let interval = self.with_ext(|ext, _| ext.watchdog_interval());
        self.at(interval, TimedEvent::ExtWatchdog);
    }

    fn set_ext_loads(&mut self, loads: bool) {
        if let Some(state) = &mut self.sys.ext {
            state.ext.loads = loads;
        }
    }

    /// `scx_init_task()`.
    pub fn ext_prepare_task(&mut self, id: TaskId, fork: bool) {
        let (task, entity) = (&self.sys.tasks[id], &self.sys.es[id]);
        // Kworkers are bound to their CPUs, and named after them (`format_worker_id()`, 7.2).
        let program = match task.of {
            Of::Machine => self.sys.model.programs[task.program].name.as_str(),
            Of::Workload | Of::Workqueue => "",
        };
        let kworker = task.of == Of::Workqueue || program == "kworker";
        let comm = match task.of {
            Of::Workqueue => format!("kworker/{}:1", task.cpu),
            _ if kworker => format!("kworker/{}:0", task.cpu),
            _ if id == SHELL => "sh".to_owned(),
            _ => self.sys.task_name(id),
        };
        let info = TaskInfo {
            task: id,
            comm,
            process: task.process.unwrap_or(id.0 | 1 << 31),
            parent: task.parent.or(task.forker).or(task.workload().then_some(SHELL)),
            kthread: !task.workload() && program != "daemon" && id != SHELL,
            kworker,
            priorities: self.sys.priorities(id),
            cpus_ptr: self.sys.model.masks[task.mask].clone(),
        };
        let (cpu, mask, weight, group) = (task.cpu, task.mask, u64::from(entity.load.weight), entity.group);
        self.with_ext(|ext, ops| {
            ops.add_task(&info);
            ext.name_task(id, &info.comm);
            ext.join_group(id, group);
            ext.prepare_task(ops, id, cpu, mask, weight, fork);
        });
    }

    /// `select_task_rq_scx()` for a wake-up.
    pub fn ext_select(&mut self, cpu: Cpu, waking: Waking) {
        // The operation may ask for the context in which it is called.
        self.account(cpu);
        self.sys.cpus[cpu].doing = Doing::ExtSelect(waking);
        let mut flags = SCX_WAKE_TTWU;
        if waking.sync {
            flags |= SCX_WAKE_SYNC;
        }
        let prev_cpu = self.sys.tasks[waking.wakee].cpu;
        let chosen = self.with_ext(|ext, ops| ext.select_task_rq(ops, waking.wakee, prev_cpu, flags));
        let dest = self.ext_allowed_or_fallback(waking.wakee, chosen);
        let cost = self.sys.model.costs.wakeup + self.ext_spent();
        self.begin(cpu, Doing::ExtSelect(Waking { dest, ..waking }), cost);
    }

    /// What operations have taken while the waker held the lock of `dest`: others wait for it as much longer. Returns
    /// how long that is, ns.
    #[inline]
    pub fn ext_holds_lock(&mut self, cpu: Cpu, dest: Cpu) -> u64 {
        if !self.sys.scx_enabled() {
            return 0;
        }
        let spent = self.ext_spent();
        let held = self.slowed(cpu, spent);
        self.sys.cpus[dest].lock_free += held;
        held
    }

    /// `sched_fork()` and `wake_up_new_task()`.
    pub fn ext_fork(&mut self, this_cpu: Cpu, parent: Option<(Cpu, TaskId)>, id: TaskId) {
        self.sys.this_cpu = this_cpu;
        if parent.is_none() {
            let forker = self.sys.tasks[id].forker.unwrap_or(SHELL);
            self.ext_forker_runs(this_cpu, forker);
        }
        // scx_fork() and scx_post_fork()
        self.ext_prepare_task(id, true);
        self.with_ext(|ext, ops| ext.enable_task(ops, id, false));
        let cpu = self.ext_select_fork(this_cpu, id);
        self.sys.tasks[id].cpu = cpu;
        let resched = self.ext_activate(cpu, id, false, WakeFlags::FORK);
        self.emit(|_| Event::Enqueue { cpu, task: id.0 });
        self.update_idle(cpu);
        self.ext_forker_sleeps();
        let spent = self.ext_spent();
        match parent {
            Some((this_cpu, _)) => {
                self.sys.cpus[this_cpu].debt += spent;
                if self.sys.note_resched(cpu, resched).is_now() {
                    self.resched(this_cpu, cpu);
                }
            }
            // The launcher is not simulated, so that its CPU is kicked like any other.
            None if self.sys.note_resched(cpu, resched).is_now() => self.kick(cpu),
            None => {}
        }
    }

    /// Who forks a task of the workload without a fork in its program, as the shell does, runs for that moment if its
    /// CPU is idle: a scheduler sees that the CPU is not.
    fn ext_forker_runs(&mut self, cpu: Cpu, forker: TaskId) {
        self.ext_update_rq_clock(cpu);
        let runs = self.with_ext(|ext, ops| ext.runs_unseen(ops, cpu, forker));
        if let Some(state) = &mut self.sys.ext {
            state.forker = runs.then_some((cpu, forker));
        }
    }

    /// It sleeps again.
    fn ext_forker_sleeps(&mut self) {
        if let Some((cpu, forker)) = self.sys.ext.as_mut().and_then(|state| state.forker.take()) {
            self.ext_update_rq_clock(cpu);
            self.with_ext(|ext, ops| ext.sleeps_unseen(ops, cpu, forker));
        }
    }

    /// `select_task_rq_scx()` of a fork.
    fn ext_select_fork(&mut self, this_cpu: Cpu, id: TaskId) -> Cpu {
        let task = &self.sys.tasks[id];
        if task.pinned {
            return self.pinned_to(id);
        }
        let chosen = self.with_ext(|ext, ops| ext.select_task_rq(ops, id, this_cpu, SCX_WAKE_FORK));
        self.ext_allowed_or_fallback(id, chosen)
    }

    /// `set_task_cpu()` of a wakee.
    pub fn ext_set_task_cpu(&mut self, id: TaskId, cpu: Cpu) {
        if let Some(state) = &mut self.sys.ext {
            state.ext.set_task_cpu(id, cpu);
        }
    }

    /// `enqueue_task_scx()` and `wakeup_preempt()`: a wake-up or fork puts a task on a run queue, which asks an idle
    /// CPU to reschedule.
    pub fn ext_activate(&mut self, cpu: Cpu, id: TaskId, migrated: bool, wake_flags: WakeFlags) -> Resched {
        let wakes = !wake_flags.contains(WakeFlags::FORK);
        let selected = wake_flags.contains(crate::try_to_wake_up::WF_RQ_SELECTED);
        self.sys.es[id].on_rq = true;
        self.sys.tasks[id].state = State::Runnable;
        self.start_ext_server(cpu);
        self.sys.cpus[cpu].nr_running += 1;
        self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| {
            let mut flags = DEQUEUE_NOCLOCK;
            if wakes {
                flags |= SCX_ENQ_WAKEUP;
            } else {
                flags |= u64::from(ext.rules().enq_initial);
            }
            if selected {
                flags |= u64::from(ext.rules().enq_cpu_selected);
            }
            if migrated {
                flags |= u64::from(ext.rules().enq_migrated);
            }
            ext.enqueue_task(ops, cpu, id, flags);
        });
        if self.sys.cpus[cpu].curr_idle { Resched::Now } else { Resched::No }
    }

    /// The previous task of a schedule sleeps or exits (`dequeue_task_scx()`).
    pub fn ext_dequeue(&mut self, cpu: Cpu, id: TaskId) {
        let clock = self.ext_update_rq_clock(cpu);
        let ran = self.with_ext_in(Some(cpu), |ext, ops| {
            ext.update_curr(ops, cpu, clock);
            ext.dequeue_task(ops, cpu, id, SCX_DEQ_SLEEP | DEQUEUE_NOCLOCK);
            ext.task(id).sum_exec_runtime
        });
        let e = &mut self.sys.es[id];
        (e.on_rq, e.sum_exec_runtime) = (false, ran);
        self.sys.cpus[cpu].nr_running -= 1;
    }

    /// A task of the class joins a run queue: the first starts the class's server (`dl_server_start()`).
    fn start_ext_server(&mut self, cpu: Cpu) {
        if self.sys.rt.is_some() && self.sys.cpus[cpu].h_nr_queued() == 0 {
            self.start_fair_server(cpu);
        }
    }

    /// `__pick_next_task()`: realtime tasks come first, unless it is the turn of the class's server.
    pub fn ext_pick_next(&mut self, cpu: Cpu, prev: Prev) -> Option<TaskId> {
        if self.sys.rt.is_none() {
            return self.ext_pick(cpu, true);
        }
        if let Some(next) = self.sys.pick_rt(cpu, prev) {
            self.ext_preempted(cpu, next);
            return Some(next);
        }
        let above = self.sys.rt.as_ref().is_some_and(|rt| {
            let of = &rt.cpus[cpu];
            of.dl.pick().is_some() || of.rq.pick().is_some()
        });
        let next = self.ext_pick(cpu, !above);
        let Some(rt) = self.sys.rt.as_mut().filter(|_| next.is_none()) else { return next };
        // ext_server_pick_task() has found nobody, which stops the server (pick_task_dl()).
        rt.cpus[cpu].server.stop();
        let next = self.sys.pick_rt(cpu, prev)?;
        self.ext_preempted(cpu, next);
        Some(next)
    }

    /// A task of a class above takes the CPU.
    fn ext_preempted(&mut self, cpu: Cpu, by: TaskId) {
        let reason = if self.sys.is_dl(by) { SCX_CPU_PREEMPT_DL } else { SCX_CPU_PREEMPT_RT };
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext_in(Some(cpu), |ext, ops| {
            ext.rqs[cpu as usize].above = Some(by);
            if ext.rqs[cpu as usize].curr != Curr::Above {
                ext.update_curr(ops, cpu, clock);
                ext.preempted_by_class(ops, cpu, reason);
            }
        });
    }

    /// `pick_task_scx()`. Without a task, the CPU `idles`, or a class above has one.
    fn ext_pick(&mut self, cpu: Cpu, idles: bool) -> Option<TaskId> {
        let clock = self.ext_update_rq_clock(cpu);
        // A tick asks for the schedule before its handler is over, which the debt has: the next task begins only then,
        // so that a slice of whole ticks is not over at as many ticks, but at the one after.
        let debt = self.sys.cpus[cpu].debt;
        let clock = clock + self.slowed(cpu, debt);
        let c = &mut self.sys.cpus[cpu];
        (c.need_resched, c.need_resched_lazy) = (false, false);
        if self.ext_pick_offline(cpu, clock) {
            return None;
        }
        self.with_ext_in(Some(cpu), |ext, ops| ext.pick_task(ops, cpu, clock, idles))
    }

    /// `task_tick_scx()`.
    pub fn ext_tick(&mut self, cpu: Cpu) {
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| {
            ext.preempt_count = HARDIRQ_OFFSET;
            ext.task_tick(ops, cpu, clock);
        });
        self.ext_owes(cpu);
    }

    /// `yield_task_scx()`.
    pub fn ext_yield(&mut self, cpu: Cpu, id: TaskId) {
        self.ext_update_rq_clock(cpu);
        // The time up to now is charged afterwards, out of what ops.yield() has left.
        self.with_ext(|ext, ops| ext.yield_task(ops, cpu, id));
        self.reschedule(cpu, id);
    }

    /// `set_user_nice()`, or a change between the fair policies, of the running task. Neither does anything if nothing
    /// changes.
    pub fn ext_reweight(&mut self, cpu: Cpu, id: TaskId, policy: Policy, nice: i8) {
        let e = &mut self.sys.es[id];
        if (e.policy, e.nice) == (policy, nice) {
            return;
        }
        (e.policy, e.nice, e.load) = (policy, nice, LoadWeight::of(policy, nice));
        let weight = u64::from(e.load.weight);
        let priorities = self.sys.priorities(id);
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| ext.set_user_nice(ops, cpu, id, priorities, weight, clock));
        self.ext_owes(cpu);
    }

    /// The running task gets a policy above the class.
    pub fn ext_switched_from(&mut self, cpu: Cpu, id: TaskId, to: Realtime) {
        let priorities = self.sys.priorities_with(id, to);
        let clock = self.ext_update_rq_clock(cpu);
        let ran = self.with_ext(|ext, ops| {
            ext.switched_from(ops, cpu, id, priorities, clock);
            ext.task(id).sum_exec_runtime
        });
        let e = &mut self.sys.es[id];
        (e.on_rq, e.sum_exec_runtime) = (false, ran);
        self.sys.cpus[cpu].nr_running -= 1;
        self.ext_owes(cpu);
    }

    /// The running task, which was above the class and is on no run queue, becomes one of the class.
    pub fn ext_switching_to(&mut self, cpu: Cpu, id: TaskId) {
        let e = &self.sys.es[id];
        let joins = Joins {
            priorities: self.sys.priorities(id),
            weight: u64::from(e.load.weight),
            mask: self.sys.tasks[id].mask,
            sum_exec_runtime: e.sum_exec_runtime,
        };
        self.start_ext_server(cpu);
        self.sys.cpus[cpu].nr_running += 1;
        self.sys.es[id].on_rq = true;
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| ext.switching_to(ops, cpu, id, joins, clock));
        self.ext_owes(cpu);
    }

    /// A task of a class above has another policy or priority.
    pub fn ext_set_priorities(&mut self, id: TaskId) {
        let priorities = self.sys.priorities(id);
        self.with_ext(|_, ops| ops.set_priorities(id, priorities));
    }

    /// A forked task that has not been woken yet leaves the class for SCHED_DEADLINE.
    pub fn ext_forked_as_dl(&mut self, id: TaskId) {
        let priorities = self.sys.priorities(id);
        self.with_ext(|ext, ops| {
            ext.enable_task(ops, id, false);
            ext.disable_task(ops, id);
            ops.set_priorities(id, priorities);
        });
    }

    /// `sched_ext_dead()`: the last of a task that has exited.
    pub fn ext_dead(&mut self, id: TaskId) {
        self.with_ext(|ext, ops| ext.exit_task(ops, id));
    }

    /// The running task begins to exit (PF_EXITING, `sched_autogroup_exit_task()`).
    pub fn ext_exiting(&mut self, cpu: Cpu, id: TaskId) {
        if self.sys.is_ext(id) {
            let clock = self.ext_update_rq_clock(cpu);
            self.with_ext(|ext, ops| ext.exiting(ops, cpu, id, clock));
        }
    }

    /// `do_set_cpus_allowed()` of the running task.
    pub fn ext_set_affinity(&mut self, cpu: Cpu, id: TaskId, mask: u32) {
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| ext.setaffinity(ops, cpu, id, mask, clock));
        self.ext_owes(cpu);
    }

    /// `migration_cpu_stop()`: the stopper, a task of a class above, preempts the running task and moves it to another
    /// CPU, which costs two context switches.
    pub fn ext_stop_and_push(&mut self, cpu: Cpu, target: Cpu, id: TaskId) {
        let clock = self.ext_update_rq_clock(cpu);
        self.with_ext_in(Some(cpu), |ext, ops| {
            ext.update_curr(ops, cpu, clock);
            ext.rqs[cpu as usize].above = None;
            ext.preempted_by_class(ops, cpu, SCX_CPU_PREEMPT_STOP);
            ext.move_queued_task(ops, id, target);
        });
        let task = &mut self.sys.tasks[id];
        (task.on_cpu, task.cpu) = (false, target);
        self.emit(|_| Event::Migrate { task: id.0, from: cpu, to: target });
        let c = &mut self.sys.cpus[cpu];
        c.curr = None;
        c.nr_running -= 1;
        c.debt += 2 * self.sys.model.costs.context_switch;
        self.start_ext_server(target);
        self.sys.cpus[target].nr_running += 1;
        self.update_idle(cpu);
        self.update_idle(target);
        let next = self.ext_pick_next(cpu, Prev::Runs);
        if self.sys.cpus[target].curr_idle {
            self.kick(target);
        }
        self.picked(cpu, next);
    }

    /// A timer of the scheduler expires on its CPU, unless it was started anew or cancelled since.
    pub fn ext_timer_expires(&mut self, number: u32, cpu: Cpu) {
        let cpu = self.online_or_first(cpu);
        let Some(state) = &mut self.sys.ext else { return };
        if !state.ops.timer_is_set(number) {
            let stale = state.ext.stale_timers();
            *stale = stale.saturating_sub(1);
            return;
        }
        self.sys.cpus[cpu].timer_softirq.expired.push_back(number);
        self.ext_raise_timer_softirq(cpu);
    }

    /// `hrtimer_interrupt()` raises HRTIMER_SOFTIRQ, which serves one timer after the other: none while the function of
    /// another runs.
    fn ext_raise_timer_softirq(&mut self, cpu: Cpu) {
        let softirq = &mut self.sys.cpus[cpu].timer_softirq;
        if softirq.expired.is_empty() || std::mem::replace(&mut softirq.raised, true) {
            return;
        }
        let until = softirq.until;
        if until > self.sys.now {
            self.at(until, TimedEvent::ExtTimerSoftirq(cpu));
        } else {
            self.interrupt(cpu, Irq::ExtTimer);
        }
    }

    /// A CPU has run the function of a timer, and others have expired meanwhile.
    pub fn ext_timer_softirq(&mut self, cpu: Cpu) {
        let to = self.online_or_first(cpu);
        if to == cpu {
            return self.interrupt(cpu, Irq::ExtTimer);
        }
        // hrtimers_cpu_dying()
        let softirq = &mut self.sys.cpus[cpu].timer_softirq;
        softirq.raised = false;
        let expired = std::mem::take(&mut softirq.expired);
        self.sys.cpus[to].timer_softirq.expired.extend(expired);
        self.ext_raise_timer_softirq(to);
    }

    /// The CPU runs the function of the timer that has expired first.
    pub fn ext_timer(&mut self, cpu: Cpu) {
        let (now, before) = (self.sys.now, self.sys.cpus[cpu].debt);
        let softirq = &mut self.sys.cpus[cpu].timer_softirq;
        softirq.raised = false;
        let Some(number) = softirq.expired.pop_front() else { return };
        if softirq.until < now {
            (softirq.in_row, softirq.since) = (0, now);
        }
        softirq.in_row += 1;
        let (in_row, since) = (softirq.in_row, softirq.since);
        if in_row > TIMERS_IN_ROW_MAX {
            return self.ext_never_ends(cpu, |_| {
                format!(
                    "CPU {cpu} only runs the functions of its timers: {in_row} have expired since {}, each before the \
                     previous one was over; expected a bpf_timer_start() with the time until the next run",
                    seconds(since)
                )
            });
        }
        self.with_ext(|ext, ops| {
            // HRTIMER_MODE_REL_SOFT
            ext.preempt_count = SOFTIRQ_OFFSET;
            ops.timer(ext, number);
        });
        self.ext_owes(cpu);
        let took = self.slowed(cpu, self.sys.cpus[cpu].debt - before);
        let softirq = &mut self.sys.cpus[cpu].timer_softirq;
        softirq.until = now + took;
        if !softirq.expired.is_empty() {
            softirq.raised = true;
            self.at(now + took, TimedEvent::ExtTimerSoftirq(cpu));
        }
    }

    /// `scx_watchdog_workfn()`.
    pub fn ext_watchdog(&mut self) {
        let interval = self.with_ext(|ext, _| {
            ext.check_for_timeouts();
            ext.watchdog_interval()
        });
        self.at(self.sys.now + interval, TimedEvent::ExtWatchdog);
    }

    /// `__schedule()` takes off the previous task, if it sleeps or exits.
    pub fn ext_put_prev(&mut self, cpu: Cpu, id: TaskId, prev: Prev) {
        if prev != Prev::Runs {
            self.ext_dequeue(cpu, id);
        }
    }
}
