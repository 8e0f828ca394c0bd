//! What balancing keeps of the system and reads of it: `struct root_domain`, `sgc->imbalance`, and sums over the groups
//! of domains.

use crate::model::Model;
use crate::numbered::PerCpu;
use crate::system::System;
use smallvec::SmallVec;
use wakelab_sched::CpuMask;
use wakelab_sched::balance::{BalanceView, CacheGroup, LlcStats};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedGroup;
use wakelab_sched::group_sums::{DomainSums, GroupTable};
use wakelab_sched::runqueue::{FairRq, TaskId};
use wakelab_sched::select::{GroupView, Uclamp};
use wakelab_sched::util_est_faster::FasterSite;

/// Whose groups are to be read.
#[derive(Clone, Copy, Debug)]
pub enum GroupsRead {
    /// Those of a CPU's domain at a level: a balance pass.
    Domain(Cpu, usize),
    /// Those of any domains: a fork or an exec.
    All,
}

/// The root domain.
#[derive(Debug)]
pub struct RootDomain {
    /// `rd->overload`: some run queue has more than one task.
    pub overload: bool,
    /// `rd->overutilized`; false without an energy model.
    pub overutilized: bool,
    /// Groups whose tasks could not be moved because of their affinities (`sgc->imbalance`), by the CPU that balances
    /// for them: how many CPUs each has. A CPU's groups grow from level to level, so that the size identifies a group.
    imbalanced: PerCpu<SmallVec<[u32; 2]>>,
    /// The number of those groups.
    nr_imbalanced: usize,
    /// Sums over the groups of domains; `None` if CPUs differ in capacity. Whatever changes a CPU in a way that
    /// [`System::refresh_groups`] reads calls [`System::touch`].
    sums: Option<Box<GroupTable>>,
}

impl RootDomain {
    /// Of a machine at rest.
    pub fn new(model: &Model<'_>) -> Self {
        RootDomain {
            overload: false,
            overutilized: false,
            imbalanced: vec![SmallVec::new(); model.nr_cpus() as usize].into(),
            nr_imbalanced: 0,
            sums: keeps_group_sums(model).then(|| Box::new(GroupTable::new(model.domains, model.balance.rules()))),
        }
    }

    /// Nothing is balanced.
    pub fn keep_no_sums(&mut self) {
        self.sums = None;
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
}

/// Whether sums over groups are kept. What leaves the fair class less changes the capacities of groups. With
/// UTIL_EST_FASTER a CPU's utilisation changes while nothing happens there, and with control groups its load
/// (`tg->load_avg`).
fn keeps_group_sums(model: &Model<'_>) -> bool {
    let faster = [FasterSite::Lb, FasterSite::SlowPath].iter().any(|site| site.is_on(model.features));
    let realtime = model.leaves_less();
    let control_groups = !model.workload.groups.is_empty();
    !model.domains.asym_cpucap_active && !faster && !realtime && !control_groups
}

impl System<'_> {
    /// Notes that the sums of groups are to be brought up to date with this CPU.
    #[inline]
    pub fn touch(&mut self, cpu: Cpu) {
        if let Some(sums) = &mut self.rd.sums {
            sums.touch(cpu);
        }
    }

    /// Brings the sums of groups up to date, for a balance pass, a fork or an exec, and the order of groups that it
    /// reads.
    pub fn refresh_groups(&mut self, reads: GroupsRead) {
        // The view has no sums meanwhile.
        if let Some(mut sums) = self.rd.sums.take() {
            let balance = &self.model.balance;
            sums.refresh(|cpu| balance.cpu_sums(self, cpu));
            match reads {
                GroupsRead::Domain(cpu, level) => sums.rank_domain(cpu, level),
                GroupsRead::All => sums.rank_all(),
            }
            debug_assert!(sums.is_count(|cpu| balance.cpu_sums(self, cpu)), "a CPU has changed without a touch");
            self.rd.sums = Some(sums);
        }
    }
}

impl GroupView for System<'_> {
    #[inline]
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        if self.rt.is_some() { self.sgc_capacity(group) } else { group.capacity }
    }

    #[inline]
    fn group_imbalance(&self, _: usize, group: &SchedGroup) -> bool {
        self.rd.nr_imbalanced != 0 && self.rd.imbalanced[group.group_balance_cpu()].contains(&group.weight)
    }

    #[inline]
    fn may_be_imbalanced(&self) -> bool {
        self.rd.nr_imbalanced != 0
    }

    #[inline]
    fn group_sums(&self, cpu: Cpu, level: usize) -> Option<DomainSums<'_>> {
        self.rd.sums.as_ref()?.domain(cpu, level)
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
