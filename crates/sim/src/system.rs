//! The state of the simulated system, and how placement sees it.

use crate::channel::Channel;
use crate::cpu::{CpuState, Doing};
use crate::ext::ExtState;
use crate::futex::Sync;
use crate::model::Model;
use crate::numbered::{Numbered, PerCpu, PerTask};
use crate::pm::Pm;
use crate::rcu_gp_kthread::RcuState;
use crate::rt::RtState;
use crate::sched_cache::CacheState;
use crate::search::{PositionEntry, SearchEntry};
use crate::task::Task;
use crate::task_group::TaskGroups;
use crate::uclamp::UclampState;
use crate::workqueue::Workqueue;
use smallvec::SmallVec;
use wakelab_sched::CpuMask;
use wakelab_sched::balance::{BalanceView, CacheGroup, LlcStats};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedGroup;
use wakelab_sched::energy::RqUtil;
use wakelab_sched::group_sums::{DomainSums, GroupTable};
use wakelab_sched::pelt::util_est::_task_util_est;
use wakelab_sched::pelt::{RqClock, SCHED_CAPACITY_SCALE, Scale};
use wakelab_sched::runqueue::{Entities, FairRq, TaskId};
use wakelab_sched::select::policy::PolicyStates;
use wakelab_sched::select::{
    AsymView, EnergyView, GroupView, IdleCores, IdleStateView, IdleView, LlcIdle, LlcView, MaskView, PolicyView,
    RqView, Rules, ScanClock, Uclamp, UtilView,
};
use wakelab_sched::util_est_faster::{FasterSite, util_est_faster};

/// The value of the CPUs' clocks when the run begins, ns. It is not 0, because PELT takes an average that was last
/// updated at 0 for one that no run queue has yet. A multiple of 1024 ns keeps PELT's periods in place.
pub const BOOT_NS: u64 = 1 << 32;

/// `sd_llc_shared`.
#[derive(Clone, Debug)]
pub struct Llc {
    /// `has_idle_cores`.
    pub has_idle_cores: bool,
    /// `nr_idle_scan`.
    pub nr_idle_scan: i32,
    /// Searches under way that may probe CPUs of this LLC, except those that are positions.
    pub searches: Vec<SearchEntry>,
    /// Searches under way that are positions in this LLC.
    pub positions: Vec<PositionEntry>,
}

/// The values that SIS_SHORT reads of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnlyTask {
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// `se.dur_avg` of the running task, ns; 0 if nothing runs.
    pub dur_avg: u64,
}

/// Whose groups are to be read.
#[derive(Clone, Copy, Debug)]
pub enum GroupsRead {
    /// Those of a CPU's domain at a level: a balance pass.
    Domain(Cpu, usize),
    /// Those of any domains: a fork or an exec.
    All,
}

/// The system now.
#[derive(Debug)]
pub struct System<'m> {
    /// The constant data of the run.
    pub model: &'m Model<'m>,
    /// [`Model::rules`](crate::model::Model::rules), which each wake-up reads several times.
    pub rules: Rules<'m>,
    /// The time, ns.
    pub now: u64,
    /// The jiffies counter.
    pub jiffies: u64,
    /// All CPUs.
    pub cpus: PerCpu<CpuState>,
    /// All tasks.
    pub tasks: PerTask<Task>,
    /// Their entities.
    pub es: Entities,
    /// All channels.
    pub channels: Numbered<Channel>,
    /// All mutexes, conditions, barriers, semaphores and lists, by the same numbers.
    pub syncs: Numbered<Sync>,
    /// All workqueues.
    pub workqueues: Vec<Workqueue>,
    /// All LLCs.
    pub llcs: Numbered<Llc>,
    /// CPUs for which `available_idle_cpu()` is true.
    pub idle: CpuMask,
    /// The cores all of whose CPUs are idle.
    pub idle_cores: IdleCores,
    /// The idle CPUs by LLC.
    pub llc_idle: Numbered<LlcIdle>,
    /// CPUs for which `sched_idle_cpu()` is true; `None` if no task can have policy SCHED_IDLE.
    pub sched_idle: Option<CpuMask>,
    /// With SIS_SHORT and its forms: the CPUs' tasks, as their searches see them. Nothing else reads it, so that a
    /// policy that is on changes nothing but its own decisions.
    pub only_tasks: Option<PerCpu<OnlyTask>>,
    /// `rd->overload`: some run queue has more than one task.
    pub overload: bool,
    /// Groups whose tasks could not be moved because of their affinities (`sgc->imbalance`), by the CPU that balances
    /// for them: how many CPUs each has. A CPU's groups grow from level to level, so that the size identifies a group.
    pub imbalanced: PerCpu<SmallVec<[u32; 2]>>,
    /// The number of those groups.
    pub nr_imbalanced: usize,
    /// The search that reads the system at present: when it began, and the time between two probes, ns.
    pub probing: (u64, u64),
    /// The CPU on which the kernel's code of the present event runs.
    pub this_cpu: Cpu,
    /// Frequencies, idle states and power; `None` without governors.
    pub pm: Option<Box<Pm>>,
    /// The run queues' clocks; `None` if all are the same.
    pub clocks: Option<PerCpu<RqClock>>,
    /// `rd->overutilized`; false without an energy model.
    pub overutilized: bool,
    /// Sums over the groups of domains; `None` if CPUs differ in capacity. Whatever changes a CPU in a way that
    /// [`System::refresh_groups`] reads calls [`System::touch`].
    pub groups: Option<Box<GroupTable>>,
    /// The search policies' state of LLCs and CPUs.
    pub policies: PolicyStates,
    /// Tasks that have left run queues, and which, until the policies' hook is called; empty if no policy has it.
    pub dequeued: SmallVec<[(Cpu, TaskId); 2]>,
    /// `nr_idle_scan` of the domain with all capacities, for kernels that keep one there.
    pub asym_nr_idle_scan: i32,
    /// The state of cache-aware balancing; `None` if it is off.
    pub sched_cache: Option<Box<CacheState>>,
    /// Utilisation clamps; `None` in a run that sets none.
    pub uclamp: Option<Box<UclampState>>,
    /// The state of everything that leaves the fair class less of a CPU; `None` without any of it.
    pub rt: Option<Box<RtState>>,
    /// The scheduler of sched_ext; `None` for the fair class.
    pub ext: Option<Box<ExtState>>,
    /// The state that the groups' run queues share; `None` without control groups.
    pub task_groups: Option<Box<TaskGroups>>,
    /// Grace periods; `None` in a run that has no daemons.
    pub rcu: Option<Box<RcuState>>,
    /// Something wants timers: frequency governors, or groups' bandwidth.
    pub requests: bool,
}

impl System<'_> {
    /// `rq_clock_task()` of a CPU, ns.
    #[inline]
    pub fn clock_task(&self, cpu: Cpu) -> u64 {
        BOOT_NS + self.now - self.irq_time(cpu)
    }

    /// Notes that the sums of groups are to be brought up to date with this CPU.
    #[inline]
    pub fn touch(&mut self, cpu: Cpu) {
        if let Some(groups) = &mut self.groups {
            groups.touch(cpu);
        }
    }

    /// Brings the sums of groups up to date, for a balance pass, a fork or an exec, and the order of groups that it
    /// reads.
    pub fn refresh_groups(&mut self, reads: GroupsRead) {
        // The view has no sums meanwhile.
        if let Some(mut groups) = self.groups.take() {
            let balance = &self.model.balance;
            groups.refresh(|cpu| balance.cpu_sums(self, cpu));
            match reads {
                GroupsRead::Domain(cpu, level) => groups.rank_domain(cpu, level),
                GroupsRead::All => groups.rank_all(),
            }
            debug_assert!(groups.is_count(|cpu| balance.cpu_sums(self, cpu)), "a CPU has changed without a touch");
            self.groups = Some(groups);
        }
    }

    /// Returns the result of `available_idle_cpu()` for the CPU's present state.
    #[inline]
    pub fn available_idle_now(&self, cpu: Cpu) -> bool {
        let c = &self.cpus[cpu];
        let claimed = !self.model.mechanisms.window && c.claims != 0;
        c.curr_idle && c.nr_running == 0 && !c.ttwu_pending && !claimed
    }

    /// Returns the values that SIS_SHORT would read of the CPU in its present state.
    pub fn only_task_now(&self, cpu: Cpu) -> OnlyTask {
        let c = &self.cpus[cpu];
        let dur_avg = c.curr.map_or(0, |task| self.tasks[task].dur.dur_avg);
        OnlyTask { nr_running: c.nr_running, dur_avg }
    }

    /// The class's choice as `select_task_rq()` corrects it: if the task may not use that CPU, it gets the first CPU
    /// that it may use on the node where it was, or else anywhere (`select_fallback_rq()`).
    #[inline]
    pub fn allowed_or_fallback(&self, task: TaskId, cpu: Cpu) -> Cpu {
        let mask = &self.model.masks[self.tasks[task].mask];
        if mask.test(cpu) {
            return cpu;
        }
        let node = &self.model.domains.node;
        let own = node[self.tasks[task].cpu as usize];
        let near = mask.iter().find(|&cpu| node[cpu as usize] == own);
        near.or(mask.first()).expect("a mask has a CPU")
    }

    /// Whether the task's CPU is switching from it to another. A pass of balancing takes tasks under the run queue's
    /// lock, which the switch holds until the task has left the CPU.
    pub fn being_switched_out(&self, task: TaskId) -> bool {
        let t = &self.tasks[task];
        let doing = self.cpus[t.cpu].doing;
        t.on_cpu && doing == Doing::Switch(Some(task)) && self.model.mechanisms.lock_wait
    }

    /// Sets or clears `sgc->imbalance` of a group: affinities kept its tasks from being moved.
    pub fn set_group_imbalance(&mut self, group: &SchedGroup, imbalanced: bool) {
        let of_cpu = &mut self.imbalanced[group.group_balance_cpu()];
        self.nr_imbalanced -= of_cpu.len();
        of_cpu.retain(|weight| *weight != group.weight);
        if imbalanced {
            of_cpu.push(group.weight);
        }
        self.nr_imbalanced += of_cpu.len();
    }

    /// How many tasks are not the workload's. They come first.
    pub fn nr_background(&self) -> u32 {
        self.tasks.iter().position(Task::workload).unwrap_or(0) as u32
    }

    /// The task's name: that of the workload, or the program's name with a number if another task forked it.
    pub fn task_name(&self, id: TaskId) -> String {
        if let Some(name) = self.kworker_name(id) {
            return name;
        }
        let tasks = &self.model.workload.tasks;
        match tasks.get(id.0.wrapping_sub(self.nr_background()) as usize) {
            Some(task) => task.name.clone(),
            None => {
                let program = &self.model.programs[self.tasks[id].program];
                format!("{}#{}", program.name, id.0)
            }
        }
    }

    /// `_task_util_est()`, 0 with UTIL_EST off.
    #[inline]
    pub fn task_util_est(&self, task: TaskId) -> u64 {
        match self.model.util_est {
            Some(_) => u64::from(_task_util_est(&self.tasks[task].avg)),
            None => 0,
        }
    }
}

impl IdleView for System<'_> {
    #[inline]
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }

    #[inline]
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.sched_idle.as_ref().is_some_and(|cpus| cpus.test(cpu))
    }
}

impl RqView for System<'_> {
    #[inline]
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].nr_running
    }

    #[inline]
    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].rq.nr_delayed()
    }

    #[inline]
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.load_avg
    }

    #[inline]
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.runnable_load.avg
    }

    #[inline]
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        match &self.rt {
            None => self.model.capacity[cpu],
            Some(rt) => rt.cpus[cpu].cpu_capacity,
        }
    }

    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].ttwu_pending
    }
}

impl LlcView for System<'_> {
    #[inline]
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.llcs[self.model.idle_cores_of[cpu]].has_idle_cores
    }

    #[inline]
    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.llcs[self.model.llc_of[cpu]].nr_idle_scan
    }

    fn asym_nr_idle_scan(&self, cpu: Cpu) -> i32 {
        if self.model.asym_idle_scan { self.asym_nr_idle_scan } else { self.nr_idle_scan(cpu) }
    }
}

impl AsymView for System<'_> {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        self.model.capacity[cpu]
    }

    fn thermal_pressure(&self, cpu: Cpu) -> u64 {
        self.present_pressure(cpu)
    }

    fn thermal_load_avg(&self, cpu: Cpu) -> u64 {
        self.rt.as_ref().map_or(0, |rt| rt.cpus[cpu].avg_hw.load_avg)
    }
}

impl PolicyView for System<'_> {
    #[inline]
    fn policies(&self) -> Option<&PolicyStates> {
        Some(&self.policies)
    }

    #[inline]
    fn scan_clock(&self, cpu: Cpu) -> ScanClock {
        let c = &self.cpus[cpu];
        ScanClock {
            jiffies: self.jiffies,
            wake_stamp: c.wake_stamp,
            wake_avg_idle: c.wake_avg_idle,
            avg_idle: c.avg_idle,
            avg_scan_cost: c.avg_scan_cost,
        }
    }

    #[inline]
    fn cpu_clock(&self, _: Cpu, looks: u32) -> u64 {
        BOOT_NS + self.probing.0 + self.probing.1 * u64::from(looks)
    }

    fn target_nr_running(&self, cpu: Cpu) -> u32 {
        match &self.only_tasks {
            Some(tasks) => tasks[cpu].nr_running,
            None => self.cpus[cpu].nr_running,
        }
    }

    fn curr_dur_avg(&self, cpu: Cpu) -> u64 {
        match &self.only_tasks {
            Some(tasks) => tasks[cpu].dur_avg,
            None => self.only_task_now(cpu).dur_avg,
        }
    }

    fn claimed(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].claims != 0
    }
}

impl MaskView for System<'_> {
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        Some(&self.idle)
    }

    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        self.sched_idle.as_ref()
    }

    #[inline]
    fn idle_cores(&self) -> Option<&IdleCores> {
        self.sched_idle.is_none().then_some(&self.idle_cores)
    }
}

impl UtilView for System<'_> {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.runnable_avg
    }

    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.util_avg
    }

    fn util_est_faster(&self, cpu: Cpu, site: FasterSite) -> u64 {
        if !site.is_on(self.model.features) {
            return 0;
        }
        let Some(task) = self.cpus[cpu].curr else { return 0 };
        let slept = self.tasks[task].dur.prev_sum_exec_runtime_vol;
        let ran = self.es[task].sum_exec_runtime.saturating_sub(slept);
        let freq = self.pm.as_ref().map_or(SCHED_CAPACITY_SCALE, |pm| pm.cpus[cpu].freq_scale);
        util_est_faster(self.model.features, ran, Scale { cpu: self.model.capacity[cpu], freq })
    }

    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.model.util_est.map(|_| u64::from(self.cpus[cpu].pelt.avg.util_est))
    }
}

impl GroupView for System<'_> {
    #[inline]
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        if self.rt.is_some() { self.sgc_capacity(group) } else { group.capacity }
    }

    #[inline]
    fn group_imbalance(&self, _: usize, group: &SchedGroup) -> bool {
        self.nr_imbalanced != 0 && self.imbalanced[group.group_balance_cpu()].contains(&group.weight)
    }

    #[inline]
    fn may_be_imbalanced(&self) -> bool {
        self.nr_imbalanced != 0
    }

    #[inline]
    fn group_sums(&self, cpu: Cpu, level: usize) -> Option<DomainSums<'_>> {
        self.groups.as_ref()?.domain(cpu, level)
    }
}

impl IdleStateView for System<'_> {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].curr_idle
    }

    #[inline]
    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].idle_stamp
    }

    #[inline]
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        self.idle_latency(cpu).map(|ns| (ns / 1000) as u32)
    }
}

impl EnergyView for System<'_> {
    fn rq_util(&self, cpu: Cpu) -> RqUtil {
        let clamps = self.uclamp.as_ref().map_or_else(RqUtil::default, |uclamp| uclamp.rq(cpu).rq_util());
        let Some(rt) = &self.rt else { return clamps };
        let of = &rt.cpus[cpu];
        RqUtil {
            rt: self.cpu_util_rt(cpu),
            rt_runnable: self.rt_runnable(cpu),
            dl: self.cpu_util_dl(cpu),
            bw_dl: (of.dl.running_bw * SCHED_CAPACITY_SCALE) >> 20,
            irq: of.irq.avg.util_avg,
            ..clamps
        }
    }

    fn overutilized(&self) -> bool {
        self.overutilized
    }
}

impl BalanceView for System<'_> {
    fn h_nr_running(&self, cpu: Cpu) -> u32 {
        self.cpus[cpu].h_nr_queued()
    }

    fn cfs_tasks(&self, cpu: Cpu) -> impl Iterator<Item = TaskId> {
        self.cpus[cpu].cfs_tasks.iter()
    }

    fn rq_clock_task(&self, cpu: Cpu) -> u64 {
        self.clock_task(cpu)
    }

    fn active_balance(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].active_balance.is_some()
    }

    fn curr_may_run_on(&self, cpu: Cpu, dst: Cpu) -> bool {
        let c = &self.cpus[cpu];
        let curr = if c.nr_rt == 0 { c.rq.curr() } else { c.curr };
        curr.is_some_and(|task| self.cpus_ptr(task).test(dst))
    }

    fn cpus_ptr(&self, task: TaskId) -> &CpuMask {
        &self.model.masks[self.tasks[task].mask]
    }

    fn task_on_cpu(&self, task: TaskId) -> bool {
        self.tasks[task].on_cpu && !self.being_switched_out(task)
    }

    fn kthread_is_per_cpu(&self, task: TaskId) -> bool {
        let task = &self.tasks[task];
        task.pinned && !task.workload()
    }

    fn task_has_idle_policy(&self, task: TaskId) -> bool {
        self.es[task].is_idle()
    }

    fn is_buddy(&self, cpu: Cpu, task: TaskId) -> bool {
        match &self.cpus[cpu].rq {
            FairRq::Cfs(rq) => [rq.next(), rq.last()].contains(&Some(task)),
            FairRq::Eevdf(rq) => rq.next() == Some(task),
            FairRq::Groups(rq) => rq.is_buddy(&self.es, task),
        }
    }

    fn exec_start(&self, task: TaskId) -> u64 {
        self.es[task].exec_start
    }

    fn task_h_load(&self, task: TaskId) -> u64 {
        self.h_load_now(task)
    }

    fn task_util_est(&self, task: TaskId) -> u64 {
        self.tasks[task].avg.util_avg.max(System::task_util_est(self, task))
    }

    fn task_uclamp(&self, task: TaskId) -> Uclamp {
        self.uclamp_of(task)
    }

    fn uclamp_is_used(&self) -> bool {
        self.uclamp.as_ref().is_some_and(|uclamp| uclamp.is_used())
    }

    fn misfit_task_load(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].misfit_task_load
    }

    fn sched_delayed(&self, task: TaskId) -> bool {
        self.es[task].sched_delayed
    }

    fn entity_eligible(&self, cpu: Cpu, task: TaskId) -> bool {
        match &self.cpus[cpu].rq {
            FairRq::Cfs(_) => true,
            FairRq::Eevdf(rq) => rq.entity_eligible(&self.es, task),
            FairRq::Groups(rq) => rq.entity_eligible(&self.es, task),
        }
    }

    fn group_nr_queued(&self, cpu: Cpu, task: TaskId) -> u32 {
        match &self.cpus[cpu].rq {
            FairRq::Groups(rq) => rq.hierarchy().counts(self.es[task].group)[1] as u32,
            _ => self.h_nr_running(cpu),
        }
    }

    fn throttled_lb_pair(&self, src_cpu: Cpu, dst_cpu: Cpu, task: TaskId) -> bool {
        self.task_groups.is_some() && self.group_throttled_lb_pair(src_cpu, dst_cpu, task)
    }

    fn fair_curr(&self, cpu: Cpu) -> Option<TaskId> {
        self.cpus[cpu].rq.curr()
    }

    fn task_util(&self, task: TaskId) -> u64 {
        self.tasks[task].avg.util_avg
    }

    fn preferred_llc(&self, task: TaskId) -> Option<Cpu> {
        self.cache_preferred_llc(task)
    }

    fn cache_group(&self, task: TaskId) -> Option<CacheGroup> {
        self.cache_group_of(task)
    }

    fn llc_counts(&self, cpu: Cpu, llc: Cpu) -> u32 {
        self.cache_counts(cpu, llc)
    }

    fn llc_is_preferred(&self, llc: Cpu) -> bool {
        self.cache_preferred_elsewhere(llc)
    }

    fn llc_stats(&self, cpu: Cpu) -> Option<LlcStats> {
        self.cache_llc_stats(cpu)
    }

    fn llc_bytes(&self, cpu: Cpu) -> Option<u64> {
        self.cache_llc_bytes(cpu)
    }

    fn curr_on_rq(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].curr.is_none_or(|task| self.es[task].on_rq)
    }
}
