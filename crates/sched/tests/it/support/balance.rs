//! A system written down: what every CPU and every task is at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::balance::{Balance, BalanceView, CacheGroup, GroupType, LlcStats, MigrationType, SdBalance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{DomainOptions, SchedDomains, SchedGroup, Topology, build_sched_domains};
use wakelab_sched::energy::RqUtil;
use wakelab_sched::group_sums::{DomainSums, GroupTable};
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{AsymView, EnergyView, GroupView, IdleStateView, IdleView, RqView, UtilView};

/// One CPU.
#[derive(Clone, Debug)]
pub struct CpuState {
    /// `cfs_tasks` from the tail to the head.
    pub tasks: Vec<TaskId>,
    /// Tasks of other classes. If there are any, one of them runs, unless a fair one is `on_cpu`.
    pub other: u32,
    pub load: u64,
    pub util: u64,
    pub util_est: u64,
    pub runnable: u64,
    pub capacity: u64,
    pub capacity_orig: u64,
    pub ttwu_pending: bool,
    pub active_balance: bool,
    pub clock: u64,
    /// The running task is just being switched out for good.
    pub curr_leaves: bool,
    pub buddy: Option<TaskId>,
    pub misfit_task_load: u64,
    /// The run queue's utilisation clamps, minimum and maximum.
    pub uclamp: (u64, u64),
}

/// One task.
#[derive(Clone, Debug)]
pub struct TaskState {
    pub cpus: CpuMask,
    pub on_cpu: bool,
    pub kthread: bool,
    pub idle_policy: bool,
    pub exec_start: u64,
    pub h_load: u64,
    pub util_est: u64,
    /// Sleeps and is still queued.
    pub delayed: bool,
    pub eligible: bool,
}

/// What cache-aware balancing reads: LLCs by their lowest CPUs, and tasks.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// By LLC: `sd_llc_shared`.
    pub stats: BTreeMap<Cpu, LlcStats>,
    /// By task: the preferred LLC, and the process.
    pub tasks: BTreeMap<TaskId, (Option<Cpu>, CacheGroup)>,
    /// By CPU: its LLC.
    pub llc_of: Vec<Cpu>,
}

/// All.
#[derive(Clone, Debug)]
pub struct State {
    pub cpus: Vec<CpuState>,
    pub tasks: Vec<TaskState>,
    /// Groups with `sgc->imbalance`: level and balance CPU.
    pub imbalanced: BTreeSet<(usize, Cpu)>,
    pub util_est: bool,
    /// Another CPU balances a domain with SD_SERIALIZE.
    pub balance_running: bool,
    /// A utilisation clamp has been set since boot.
    pub uclamp_used: bool,
    /// What cache-aware balancing reads.
    pub cache: Cache,
    /// Sums over groups, if it keeps them.
    pub sums: Option<Rc<GroupTable>>,
}

pub const NOW: u64 = 10_000_000_000;

impl State {
    /// Nothing runs.
    pub fn idle(nr_cpus: u32) -> Self {
        let cpu = CpuState {
            tasks: Vec::new(),
            other: 0,
            load: 0,
            util: 0,
            util_est: 0,
            runnable: 0,
            capacity: 1024,
            capacity_orig: 1024,
            ttwu_pending: false,
            active_balance: false,
            clock: NOW,
            curr_leaves: false,
            buddy: None,
            misfit_task_load: 0,
            uclamp: (0, 1024),
        };
        State {
            cpus: vec![cpu; nr_cpus as usize],
            tasks: Vec::new(),
            imbalanced: BTreeSet::new(),
            util_est: true,
            balance_running: false,
            uclamp_used: false,
            cache: Cache::default(),
            sums: None,
        }
    }

    /// The same system with sums over groups, brought up to date since nothing ran. They are for CPUs with all of their
    /// capacity.
    pub fn with_sums(&self, balance: &Balance<'_>, domains: &SchedDomains) -> Self {
        // Small domains have an order, too.
        let mut sums = GroupTable::with_order_from(2, domains, balance.rules());
        let rank = |sums: &mut GroupTable| {
            for (cpu, chain) in (0..).zip(&domains.domains) {
                (0..chain.len()).for_each(|level| sums.rank_domain(cpu, level));
            }
        };
        let idle = State::idle(self.nr_cpus());
        sums.refresh(|cpu| balance.cpu_sums(&idle, cpu));
        rank(&mut sums);
        (0..self.nr_cpus()).for_each(|cpu| sums.touch(cpu));
        sums.refresh(|cpu| balance.cpu_sums(self, cpu));
        rank(&mut sums);
        assert!(sums.is_count(|cpu| balance.cpu_sums(self, cpu)));
        State { sums: Some(Rc::new(sums)), ..self.clone() }
    }

    pub fn nr_cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Adds a waiting, cache-cold task to the head of a CPU's list.
    pub fn add(&mut self, cpu: Cpu) -> TaskId {
        let id = TaskId(self.tasks.len() as u32);
        self.tasks.push(TaskState {
            cpus: CpuMask::full(self.nr_cpus()),
            on_cpu: false,
            kthread: false,
            idle_policy: false,
            exec_start: NOW - 100_000_000,
            h_load: 1024,
            util_est: 512,
            delayed: false,
            eligible: true,
        });
        self.cpus[cpu as usize].tasks.push(id);
        id
    }

    /// Adds a task that runs, and `waiting` more behind it; sets the averages of a CPU that is full with them. Returns
    /// those that wait, in the order in which they are taken.
    pub fn run(&mut self, cpu: Cpu, waiting: u32) -> Vec<TaskId> {
        let tasks: Vec<_> = (0..waiting).map(|_| self.add(cpu)).collect();
        let running = self.add(cpu);
        self.tasks[running.0 as usize].on_cpu = true;
        let c = &mut self.cpus[cpu as usize];
        (c.util, c.load, c.runnable) = (1024, 1024 * u64::from(waiting + 1), 1024 * u64::from(waiting + 1));
        tasks
    }

    pub fn task(&mut self, task: TaskId) -> &mut TaskState {
        &mut self.tasks[task.0 as usize]
    }

    fn at(&self, cpu: Cpu) -> &CpuState {
        &self.cpus[cpu as usize]
    }

    fn of(&self, task: TaskId) -> &TaskState {
        &self.tasks[task.0 as usize]
    }

    pub fn running(&self, cpu: Cpu) -> Option<TaskId> {
        self.at(cpu).tasks.iter().copied().find(|&task| self.of(task).on_cpu)
    }
}

/// The types of groups by the kernel's names without `group_`, in the kernel's order.
pub const GROUP_TYPES: [(GroupType, &str); 8] = [
    (GroupType::HasSpare, "has_spare"),
    (GroupType::FullyBusy, "fully_busy"),
    (GroupType::MisfitTask, "misfit_task"),
    (GroupType::SmtBalance, "smt_balance"),
    (GroupType::AsymPacking, "asym_packing"),
    (GroupType::Imbalanced, "imbalanced"),
    (GroupType::LlcBalance, "llc_balance"),
    (GroupType::Overloaded, "overloaded"),
];

/// The types of migration by the kernel's names without `migrate_`.
pub const MIGRATION_TYPES: [(MigrationType, &str); 5] = [
    (MigrationType::Load, "load"),
    (MigrationType::Util, "util"),
    (MigrationType::Task, "task"),
    (MigrationType::Misfit, "misfit"),
    (MigrationType::LlcTask, "llc_task"),
];

/// The states of a CPU's domains after so many failed passes that nothing is kept by its cache.
pub fn after_many_failures(balance: &Balance<'_>, cpu: Cpu) -> Vec<SdBalance> {
    let state = |level| SdBalance { nr_balance_failed: u32::MAX, ..SdBalance::new(balance.sd(cpu, level), 0) };
    (0..balance.nr_levels(cpu)).map(state).collect()
}

/// The domains of 6.1.
pub fn domains(topology: &Topology) -> SchedDomains {
    domains_of(topology, "v6.1")
}

/// The domains of a version.
pub fn domains_of(topology: &Topology, kernel: &str) -> SchedDomains {
    build_sched_domains(topology, &DomainOptions::of(Preset::get(kernel).unwrap())).expect("a machine")
}

impl IdleView for State {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        IdleView::idle_cpu(self, cpu)
    }
    fn idle_cpu(&self, cpu: Cpu) -> bool {
        self.nr_running(cpu) == 0 && !self.ttwu_pending(cpu)
    }
    fn sched_idle_cpu(&self, _: Cpu) -> bool {
        unreachable!("balancing does not ask")
    }
}

impl RqView for State {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.at(cpu).tasks.len() as u32 + self.at(cpu).other
    }
    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.at(cpu).tasks.iter().filter(|&&task| self.of(task).delayed).count() as u32
    }
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.at(cpu).load
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.at(cpu).capacity
    }
    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.at(cpu).ttwu_pending
    }
}

impl AsymView for State {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        self.at(cpu).capacity_orig
    }
}

impl UtilView for State {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.at(cpu).runnable
    }
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.at(cpu).util
    }
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.util_est.then_some(self.at(cpu).util_est)
    }
}

impl GroupView for State {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.span.iter().map(|cpu| self.at(cpu).capacity).sum()
    }
    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool {
        self.imbalanced.contains(&(level, group.group_balance_cpu()))
    }
    fn may_be_imbalanced(&self) -> bool {
        !self.imbalanced.is_empty()
    }
    fn group_sums(&self, cpu: Cpu, level: usize) -> Option<DomainSums<'_>> {
        self.sums.as_ref()?.domain(cpu, level)
    }
}

impl IdleStateView for State {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.nr_running(cpu) == 0
    }
    fn idle_stamp(&self, _: Cpu) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: Cpu) -> Option<u32> {
        None
    }
}

impl EnergyView for State {
    fn rq_util(&self, cpu: Cpu) -> RqUtil {
        let (uclamp_min, uclamp_max) = self.at(cpu).uclamp;
        RqUtil { uclamp_min, uclamp_max, ..RqUtil::default() }
    }
}

impl BalanceView for State {
    fn h_nr_running(&self, cpu: Cpu) -> u32 {
        self.at(cpu).tasks.len() as u32
    }
    fn cfs_tasks(&self, cpu: Cpu) -> impl Iterator<Item = TaskId> {
        self.at(cpu).tasks.iter().copied()
    }
    fn rq_clock_task(&self, cpu: Cpu) -> u64 {
        self.at(cpu).clock
    }
    fn active_balance(&self, cpu: Cpu) -> bool {
        self.at(cpu).active_balance
    }
    fn curr_may_run_on(&self, cpu: Cpu, dst: Cpu) -> bool {
        self.running(cpu).is_some_and(|task| self.of(task).cpus.test(dst))
    }
    fn cpus_ptr(&self, task: TaskId) -> &CpuMask {
        &self.of(task).cpus
    }
    fn task_on_cpu(&self, task: TaskId) -> bool {
        self.of(task).on_cpu
    }
    fn kthread_is_per_cpu(&self, task: TaskId) -> bool {
        self.of(task).kthread
    }
    fn task_has_idle_policy(&self, task: TaskId) -> bool {
        self.of(task).idle_policy
    }
    fn is_buddy(&self, cpu: Cpu, task: TaskId) -> bool {
        self.at(cpu).buddy == Some(task)
    }
    fn exec_start(&self, task: TaskId) -> u64 {
        self.of(task).exec_start
    }
    fn task_h_load(&self, task: TaskId) -> u64 {
        self.of(task).h_load
    }
    fn task_util_est(&self, task: TaskId) -> u64 {
        self.of(task).util_est
    }
    fn sched_delayed(&self, task: TaskId) -> bool {
        self.of(task).delayed
    }
    fn entity_eligible(&self, _: Cpu, task: TaskId) -> bool {
        self.of(task).eligible
    }
    fn misfit_task_load(&self, cpu: Cpu) -> u64 {
        self.at(cpu).misfit_task_load
    }
    fn uclamp_is_used(&self) -> bool {
        self.uclamp_used
    }
    fn task_util(&self, task: TaskId) -> u64 {
        // Not its estimate, which is util_est here.
        self.of(task).h_load / 2
    }
    fn preferred_llc(&self, task: TaskId) -> Option<Cpu> {
        self.cache.tasks.get(&task)?.0
    }
    fn cache_group(&self, task: TaskId) -> Option<CacheGroup> {
        self.cache.tasks.get(&task).map(|(_, group)| *group)
    }
    fn llc_counts(&self, cpu: Cpu, llc: Cpu) -> u32 {
        self.at(cpu).tasks.iter().filter(|&&task| self.preferred_llc(task) == Some(llc)).count() as u32
    }
    fn llc_stats(&self, cpu: Cpu) -> Option<LlcStats> {
        self.cache.stats.get(self.cache.llc_of.get(cpu as usize)?).copied()
    }
    fn llc_bytes(&self, _: Cpu) -> Option<u64> {
        Some(32 << 20)
    }
    fn balance_running(&self) -> bool {
        self.balance_running
    }
    fn curr_on_rq(&self, cpu: Cpu) -> bool {
        !self.at(cpu).curr_leaves
    }
}
