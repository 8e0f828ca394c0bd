//! Snapshots of a run: what CPUs, run queues and tasks hold at chosen times, read only.
//!
//! A [`Sink`] receives what happens; a snapshot shows what is, such as PELT's averages, which change without an event.
//! It is how the model is checked against what must hold at every moment.

pub use crate::cpu::{Doing, Waking};

use crate::engine::Sim;
use crate::model::{self, Model};
use crate::system::System;
use crate::task::IoWait;
use crate::{Setup, SimError};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;
use wakelab_sched::balance::cpu_util_cfs;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{CfsRqPelt, CfsRqState, SchedAvg};
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{IdleView, Uclamp};

/// Runs `setup` and calls `look` at each of `times`, ns from the start, which ascend. The events of such a time itself
/// have not happened yet. The run ends at the last of them; `setup.until` is not read.
///
/// # Errors
/// As [`run`](crate::run): the kernel or the machine is not modelled, the workload is at odds with the machine or with
/// itself. A deadlock is no error: nothing changes any more.
pub fn observe<S: Sink>(
    setup: &Setup<'_>,
    sink: &mut S,
    times: impl IntoIterator<Item = u64>,
    mut look: impl FnMut(&Snapshot<'_>, &S),
) -> Result<(), SimError> {
    let with_autogroup = crate::task_group::with_autogroup(setup.kernel, setup.workload);
    let setup = &Setup { workload: with_autogroup.as_ref().unwrap_or(setup.workload), ..*setup };
    let domains = model::domains(setup.machine, setup.kernel, setup.features)?;
    let model = Model::new(setup, &domains)?;
    let mut sim = Sim::new(&model, setup, sink);
    let never = AtomicBool::new(false);
    for time in times {
        sim.advance(time, &never)?;
        look(&Snapshot { sys: &sim.sys }, sim.sink);
    }
    Ok(())
}

/// The simulated system at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    sys: &'a System<'a>,
}

/// A CPU and its run queue at a moment.
#[derive(Clone, Debug)]
pub struct CpuSnapshot {
    /// The CPU's number.
    pub cpu: Cpu,
    /// Its state.
    pub doing: Doing,
    /// The task that it runs or switches to; `None` for the idle task.
    pub curr: Option<TaskId>,
    /// `rq->curr == rq->idle`, which holds while the CPU leaves idle, too.
    pub curr_idle: bool,
    /// `available_idle_cpu()`, as searches on other CPUs see it.
    pub available_idle: bool,
    /// `sched_idle_cpu()`, as searches on other CPUs see it; `None` if no task of the run can have policy SCHED_IDLE.
    pub sched_idle: Option<bool>,
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// How many of its tasks have policy SCHED_IDLE (`cfs_rq->h_nr_idle`).
    pub nr_idle: u32,
    /// The summed weight of the queued tasks (`cfs_rq->load.weight`, the running task included).
    pub weight: u64,
    /// The queued tasks, the running one included (`rq->cfs_tasks`).
    pub cfs_tasks: Vec<TaskId>,
    /// The run queue's averages as they were last updated.
    pub pelt: CfsRqPelt,
    /// The values that PELT reads of the run queue besides its averages.
    pub queue: CfsRqState,
    /// `rq_clock_task()`, ns.
    pub clock_task: u64,
    /// Until when the run queue's lock is taken, ns.
    pub lock_free: u64,
    /// Tasks on the wakelist (`rq->wake_list`).
    pub wakelist: usize,
    /// `rq->idle_stamp`, ns; 0 while the CPU is not idle.
    pub idle_stamp: u64,
    /// `rq->avg_idle`, ns.
    pub avg_idle: u64,
    /// `rq->next_balance`, jiffies.
    pub next_balance: u64,
    /// By level of its domains: `sd->last_balance`, jiffies.
    pub last_balance: Vec<u64>,
    /// `rq->misfit_task_load`.
    pub misfit_task_load: u64,
    /// `rq->nr_iowait`.
    pub nr_iowait: u32,
    /// Its utilisation clamps (`rq->uclamp[]`); [`Uclamp::UNUSED`] before a task has set one.
    pub uclamp: Uclamp,
}

/// An LLC at a moment: what wake-ups read of it (`sd_llc_shared`), and what periodic balancing would read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LlcSnapshot {
    /// Its lowest CPU.
    pub first: Cpu,
    /// How many CPUs it has.
    pub weight: u32,
    /// The sum of its CPUs' `cpu_util_cfs()`, 1024 for each CPU, by their averages as they were last updated.
    pub sum_util: u64,
    /// `has_idle_cores`.
    pub has_idle_cores: bool,
    /// `nr_idle_scan`, which only SIS_UTIL reads and writes.
    pub nr_idle_scan: i32,
}

/// A task at a moment.
#[derive(Clone, Debug)]
pub struct TaskSnapshot {
    /// Its number.
    pub id: TaskId,
    /// `task_cpu()`.
    pub cpu: Cpu,
    /// It has been forked and has not exited.
    pub alive: bool,
    /// `se.on_rq`: it is on a run queue, or runs.
    pub on_rq: bool,
    /// `se.sched_delayed`: it sleeps, and is still on its run queue.
    pub sched_delayed: bool,
    /// It has policy SCHED_IDLE.
    pub idle_policy: bool,
    /// `se.load.weight`.
    pub weight: u64,
    /// Its averages as they were last updated.
    pub avg: SchedAvg,
    /// It waits for I/O, and a CPU counts it in `rq->nr_iowait`.
    pub in_iowait: bool,
    /// `p->wakee_flips`.
    pub wakee_flips: u32,
    /// Its effective utilisation clamps; [`Uclamp::UNUSED`] before a task has set one.
    pub uclamp: Uclamp,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn of(sys: &'a System<'a>) -> Self {
        Snapshot { sys }
    }
}

impl Snapshot<'_> {
    /// The time, ns from the start.
    pub fn now(&self) -> u64 {
        self.sys.now
    }

    /// `jiffies`.
    pub fn jiffies(&self) -> u64 {
        self.sys.jiffies
    }

    /// `rd->overutilized`; false without an energy model.
    pub fn overutilized(&self) -> bool {
        self.sys.rd.overutilized
    }

    /// All CPUs, by number.
    pub fn cpus(&self) -> impl Iterator<Item = CpuSnapshot> {
        (0..self.sys.model.nr_cpus()).map(|cpu| self.cpu(cpu))
    }

    /// One CPU. Panics if the machine does not have it.
    pub fn cpu(&self, cpu: Cpu) -> CpuSnapshot {
        let (sys, c) = (self.sys, &self.sys.cpus[cpu]);
        CpuSnapshot {
            cpu,
            doing: c.doing,
            curr: c.curr,
            curr_idle: c.curr_idle,
            available_idle: sys.available_idle_cpu(cpu),
            sched_idle: sys.idle.may_be_sched_idle().then(|| sys.sched_idle_cpu(cpu)),
            nr_running: c.nr_running,
            nr_idle: c.rq.nr_idle(),
            weight: c.weight,
            cfs_tasks: c.cfs_tasks.iter().collect(),
            pelt: c.pelt,
            queue: sys.queue(cpu),
            clock_task: sys.clock_task(cpu),
            lock_free: c.lock_free,
            wakelist: c.wakelist.len(),
            idle_stamp: c.idle_stamp,
            avg_idle: c.avg_idle,
            next_balance: c.next_balance,
            last_balance: c.sd.iter().map(|sd| sd.last_balance).collect(),
            misfit_task_load: c.misfit_task_load,
            nr_iowait: c.nr_iowait,
            uclamp: sys.uclamp.as_ref().map_or(Uclamp::UNUSED, |uclamp| uclamp.rq_uclamp(cpu)),
        }
    }

    /// All LLCs, by their lowest CPU.
    pub fn llcs(&self) -> Vec<LlcSnapshot> {
        let model = self.sys.model;
        let empty = self.sys.llcs.iter().zip(&model.llc_first).map(|(llc, &first)| LlcSnapshot {
            first,
            weight: 0,
            sum_util: 0,
            has_idle_cores: llc.has_idle_cores,
            nr_idle_scan: llc.nr_idle_scan,
        });
        let mut llcs: Vec<LlcSnapshot> = empty.collect();
        for (cpu, &llc) in (0..).zip(&model.llc_of) {
            let llc = &mut llcs[llc as usize];
            llc.weight += 1;
            llc.sum_util += cpu_util_cfs(self.sys, cpu);
        }
        llcs
    }

    /// How many tasks there are, kworkers among them.
    pub fn nr_tasks(&self) -> u32 {
        self.sys.tasks.len() as u32
    }

    /// A task's name: that of the workload, or its program's with a number if another task forked it.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn task_name(&self, id: TaskId) -> String {
        self.sys.task_name(id)
    }

    /// All tasks, by number: kworkers and those of the workload, forked or not.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = TaskSnapshot> {
        (0..self.nr_tasks()).map(TaskId).map(|id| {
            let (task, entity) = (&self.sys.tasks[id], &self.sys.es[id]);
            TaskSnapshot {
                id,
                cpu: task.cpu,
                alive: task.lives(),
                on_rq: entity.on_rq,
                sched_delayed: entity.sched_delayed,
                idle_policy: entity.is_idle(),
                weight: u64::from(entity.load.weight),
                avg: task.avg,
                in_iowait: task.iowait == IoWait::Waits,
                wakee_flips: task.flips.wakee_flips,
                uclamp: self.sys.uclamp_of(id),
            }
        })
    }

    /// Checks the order, the sums and the links of a CPU's run queue.
    ///
    /// # Errors
    /// What does not hold.
    pub fn validate_run_queue(&self, cpu: Cpu) -> Result<(), String> {
        self.sys.cpus[cpu].rq.validate(&self.sys.es)
    }
}
