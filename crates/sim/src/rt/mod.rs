//! Realtime and deadline tasks: what `struct rq` has beside the fair run queue; and what else leaves the fair class
//! less of a CPU. Only runs with something of it have it, so that the others read one `None` where a class is asked
//! for.
//!
//! | file | kernel functions |
//! |---|---|
//! | `deadline` | `enqueue_task_dl()`, `update_curr_dl()`, `dl_task_timer()`, `sched_dl_overflow()`, `push_dl_task()` |
//! | `setscheduler` | `__sched_setscheduler()` of the running task |
//! | `interrupts` | `irqtime_account_irq()`, `update_irq_load_avg()` |
//! | `pressure` | `cpufreq_update_pressure()`, `update_hw_load_avg()` |
//! | `schedule` | `enqueue_task_rt()`, `put_prev_task_rt()`, `wakeup_preempt()`, `task_tick_rt()` |
//! | `push_pull` | `select_task_rq_rt()`, `push_rt_task()`, `pull_rt_task()`, `rto_push_irq_work_func()` |
//! | `bandwidth` | `sched_rt_period_timer()`, the fair server's accounting and timer |
//! | `cpu_capacity` | `update_group_capacity()`, `cpu_util_rt()` |

mod bandwidth;
mod cpu_capacity;
pub(crate) mod deadline;
mod interrupts;
mod pressure;
mod push_pull;
mod schedule;
mod setscheduler;

pub use self::deadline::DlEnqueue;
use self::deadline::DlTask;
pub use self::interrupts::IrqTime;
pub use self::pressure::Pressure;
use crate::model::Model;
use crate::numbered::{PerCpu, PerTask};
use crate::system::System;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use wakelab_kernel::{Feature, Preset, PressureForm, RtBandwidthForm};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::SchedAvg;
use wakelab_sched::rt::{DlBw, DlRq, FairServer, NO_RT_PRIO, RtBandwidth, RtRq, ServerParams, to_ratio};
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::Realtime;

/// `struct sched_rt_entity` of a task.
#[derive(Clone, Copy, Debug)]
pub struct RtTask {
    /// `p->prio`, 0 to 98.
    pub prio: u8,
    /// The rest of its slice, ticks; `None` for SCHED_FIFO.
    pub time_slice: Option<u32>,
}

/// The part of a CPU's `struct rq` for the classes above the fair one.
#[derive(Clone, Debug)]
pub struct RtCpu {
    /// `rq->rt`.
    pub rq: RtRq,
    /// `rq->dl`.
    pub dl: DlRq,
    /// `rq->avg_hw`, up to 6.9 `avg_thermal`.
    pub avg_hw: SchedAvg,
    /// The time of its interrupts.
    pub irq: IrqTime,
    /// `rq->fair_server`.
    pub server: FairServer,
    /// Up to when fair and idle time were accounted to the fair server, ns.
    pub accounted: u64,
    /// The CPU that `cpumask_any_and_distribute()` gave last on this CPU.
    pub distributed: Cpu,
    /// `rq->cpu_capacity`.
    pub cpu_capacity: u64,
}

/// `struct sched_group_capacity`, as far as it changes.
#[derive(Clone, Copy, Debug)]
pub struct Sgc {
    /// `capacity`.
    pub capacity: u64,
    /// `next_update`, jiffies.
    pub next_update: u64,
}

/// The walk of IPIs over overloaded CPUs (`rd->rto_*`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rto {
    /// `rto_cpu`: the CPU that pushes; `None` while no walk is under way.
    pub cpu: Option<Cpu>,
    /// `rto_loop` and `rto_loop_next`: a CPU has asked since the walk began.
    pub again: bool,
}

/// The realtime class of all CPUs.
#[derive(Clone, Debug)]
pub struct RtState {
    pub cpus: PerCpu<RtCpu>,
    /// What makes tasks realtime tasks.
    tasks: PerTask<Option<RtTask>>,
    /// By task: what makes it a deadline task.
    dl_tasks: BTreeMap<u32, DlTask>,
    /// `rd->dl_bw`.
    dl_bw: DlBw,
    /// HRTICK_DL.
    dl_hrtick: bool,
    /// No realtime task goes where a deadline task is queued (`CPUPRI_HIGHER`).
    dl_is_higher: bool,
    /// NONTASK_CAPACITY.
    nontask_capacity: bool,
    /// How limited frequencies reach the capacities of CPUs.
    pub pressure: PressureForm,
    /// RT throttling; `None` with the fair server.
    pub bandwidth: Option<RtBandwidth>,
    /// The fair server; `None` with RT throttling.
    pub server: Option<ServerParams>,
    /// `sched_rr_timeslice`, ticks.
    rr_timeslice: u32,
    /// `rt_period_active`.
    pub period_active: bool,
    /// `find_lowest_rq()` takes CPUs in turn.
    pub distributes: bool,
    /// RT_PUSH_IPI.
    pub push_ipi: bool,
    /// RT_RUNTIME_SHARE.
    runtime_share: bool,
    pub rto: Rto,
    /// By the CPU that balances for a group and its number of CPUs: `group->sgc`.
    pub sgc: BTreeMap<(Cpu, u32), Sgc>,
}

impl RtState {
    /// The state at the start, if the run has anything of it.
    pub fn new(model: &Model<'_>, kernel: &Preset) -> Option<Box<Self>> {
        if !model.leaves_less() {
            return None;
        }
        let (tunables, form) = (&kernel.tunables, kernel.core.rt_bandwidth);
        let has = |tunable: Option<u64>| tunable.expect("kernels with this form have the tunable");
        let runtime_us = has(tunables.sched_rt_runtime_us);
        let (bandwidth, server) = match form {
            RtBandwidthForm::Throttling => {
                let period = has(tunables.sched_rt_period_us) * 1000;
                (Some(RtBandwidth { runtime: Some(runtime_us * 1000), period }), None)
            }
            RtBandwidthForm::FairServer => {
                let runtime = has(tunables.fair_server_runtime);
                let stops_idle = kernel.core.fair_server_stops_idle;
                let period = has(tunables.fair_server_period);
                (None, model.above_fair.then_some(ServerParams { runtime, period, stops_idle }))
            }
        };
        let slice_ms = has(tunables.sched_rr_timeslice_ms);
        let period_us = has(tunables.sched_rt_period_us);
        // dl_server_attach_bw(): each CPU's server has its share.
        let servers = server.map_or(0, |server| to_ratio(server.period, server.runtime));
        let dl_bw = DlBw {
            bw: Some(to_ratio(period_us, runtime_us.min(period_us))),
            total: servers * model.capacity.len() as u64,
        };
        let cpu = |&capacity: &u64| RtCpu {
            rq: RtRq::new(runtime_us * 1000),
            dl: DlRq::default(),
            avg_hw: SchedAvg::default(),
            irq: IrqTime::default(),
            server: FairServer::default(),
            accounted: 0,
            distributed: 0,
            cpu_capacity: capacity,
        };
        Some(Box::new(RtState {
            cpus: model.capacity.iter().map(cpu).collect(),
            tasks: PerTask::default(),
            dl_tasks: BTreeMap::new(),
            dl_bw,
            dl_hrtick: model.features.has(Feature::HRTICK_DL),
            dl_is_higher: kernel.core.dl_is_higher,
            nontask_capacity: model.features.has(Feature::NONTASK_CAPACITY),
            pressure: kernel.core.pressure,
            bandwidth,
            server,
            // msecs_to_jiffies() rounds up.
            rr_timeslice: (slice_ms * model.hz).div_ceil(1000) as u32,
            period_active: false,
            distributes: kernel.core.rt_distributes,
            push_ipi: model.features.has(Feature::RT_PUSH_IPI),
            runtime_share: model.features.has(Feature::RT_RUNTIME_SHARE),
            rto: Rto::default(),
            sgc: BTreeMap::new(),
        }))
    }

    /// Gives a task its realtime policy; nothing if it is one of SCHED_DEADLINE.
    pub fn add(&mut self, id: TaskId, realtime: Realtime) {
        let (priority, time_slice) = match realtime {
            Realtime::Fifo(priority) => (priority, None),
            Realtime::Rr(priority) => (priority, Some(self.rr_timeslice)),
            Realtime::Deadline(_) => return,
        };
        self.set(id, Some(RtTask { prio: NO_RT_PRIO - priority, time_slice }));
    }

    /// A forked task inherits the policy of its parent.
    pub fn inherit(&mut self, child: TaskId, parent: TaskId) {
        let slice = self.rr_timeslice;
        let of = self.task(parent).map(|rt| RtTask { time_slice: rt.time_slice.map(|_| slice), ..*rt });
        self.set(child, of);
    }

    /// Sets the realtime state of a task from now on; `None` for another task.
    pub fn set(&mut self, id: TaskId, rt: Option<RtTask>) {
        *self.tasks.reach(id, None) = rt;
    }

    /// Returns the realtime state of a task; `None` for a fair one.
    #[inline]
    pub fn task(&self, id: TaskId) -> Option<&RtTask> {
        self.tasks.get(id).and_then(Option::as_ref)
    }

    fn task_mut(&mut self, id: TaskId) -> Option<&mut RtTask> {
        self.tasks.get_mut(id).and_then(Option::as_mut)
    }

    /// `balance_runtime()`: with RT_RUNTIME_SHARE a CPU whose tasks have run for too long borrows from all others.
    pub fn balance_runtime(&mut self, cpu: Cpu) {
        let Some(bandwidth) = self.bandwidth.filter(|_| self.runtime_share) else { return };
        if !self.cpus[cpu].rq.wants_more() {
            return;
        }
        let nr_cpus = self.cpus.len() as u32;
        for other in (0..nr_cpus).filter(|&other| other != cpu) {
            let [of, other] = self.cpus.two(cpu, other);
            of.rq.borrow_from(&mut other.rq, nr_cpus, &bandwidth);
        }
    }

    /// The CPUs that have pushable tasks (`rd->rto_mask`).
    pub fn overloaded(&self) -> SmallVec<[Cpu; 8]> {
        (0..self.cpus.len() as Cpu).filter(|&cpu| self.cpus[cpu].rq.overloaded()).collect()
    }
}

impl System<'_> {
    /// `rt_task()`.
    #[inline]
    pub fn is_rt(&self, id: TaskId) -> bool {
        self.rt.as_ref().is_some_and(|rt| rt.task(id).is_some())
    }

    /// `rt_or_dl_task()`: it is above the fair class, or was when it exited.
    #[inline]
    pub fn rt_or_dl(&self, id: TaskId) -> bool {
        self.rt.as_ref().is_some_and(|rt| rt.task(id).is_some() || rt.is_or_died_dl(id))
    }

    /// `p->prio` of the task that a CPU runs, if that is a realtime task; of a deadline task 0, which is as urgent as a
    /// realtime task can be.
    pub fn curr_rt_prio(&self, cpu: Cpu) -> Option<u8> {
        let curr = self.cpus[cpu].curr?;
        let rt = self.rt.as_ref()?;
        rt.task(curr).map(|rt| rt.prio).or(rt.dl_task(curr).map(|_| 0))
    }

    /// `rt_rq_is_runnable()`.
    pub fn rt_runnable(&self, cpu: Cpu) -> bool {
        let rq = self.rt.as_ref().map(|rt| &rt.cpus[cpu].rq);
        rq.is_some_and(|rq| rq.nr_running() != 0 && !rq.throttled())
    }
}
