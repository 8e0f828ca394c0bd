//! The model's load balancer compared with the kernel's, pass by pass: the CPUs and groups of a domain are given to the
//! model as they were recorded, and its own `find_busiest_group()` is asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_events::stream::{BalancePass, BalancePasses, CpuLoad, Found, LlcLoad, SchedCachePass, Source};
use wakelab_events::{ReadError, TopoFile};
use wakelab_kernel::Feature;
use wakelab_sched::balance::{
    Balance, BalanceTunables, BalanceView, CpuIdleType, LbEnv, LlcStats, MigrationType, SchedCache, SdBalance,
    find_busiest_group,
};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{SchedGroup, SdFlags};
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{AsymView, EnergyView, GroupView, IdleView, RqView, UtilView};

/// The name of what a CPU does.
pub fn idle_name(idle: CpuIdleType) -> &'static str {
    match idle {
        CpuIdleType::Idle => "idle",
        CpuIdleType::NotIdle => "not idle",
        CpuIdleType::NewlyIdle => "newly idle",
    }
}

/// The name of what a pass is to move, or that it moves nothing.
pub fn found_name(found: Option<&Found>) -> &'static str {
    match found.map(|found| found.imbalance.migration_type) {
        None => "balanced",
        Some(MigrationType::Load) => "load",
        Some(MigrationType::Util) => "util",
        Some(MigrationType::Task) => "task",
        Some(MigrationType::Misfit) => "misfit",
        Some(MigrationType::LlcTask) => "llc_task",
    }
}

/// How passes compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceAgreement {
    /// The passes that were compared.
    pub rows: u64,
    /// Those that are equal: the same group, migration type and imbalance, or none, and with cache-aware balancing the
    /// same loads of LLCs.
    pub equal: u64,
    /// Those in which the kernel found a group to pull from.
    pub pulls: u64,
    /// Those in which the model finds another group, or none, or one where the kernel found none.
    pub group: u64,
    /// Those of one group in which the model moves something else, or another amount.
    pub imbalance: u64,
    /// Those in which the model leaves other loads of LLCs behind.
    pub llcs: u64,
    /// Those above the LLC in which tasks prefer the LLC of the pass's CPU, with cache-aware balancing.
    pub preferring: u64,
}

impl BalanceAgreement {
    fn add(&mut self, model: &Answer, row: &BalancePass, preferring: bool) {
        let group = |found: Option<Found>| found.map(|found| found.group);
        let same_llcs = model.same_llcs(row);
        let (model, kernel) = (model.found, row.found);
        self.rows += 1;
        self.equal += u64::from(model == kernel && same_llcs);
        self.llcs += u64::from(!same_llcs);
        self.preferring += u64::from(preferring);
        self.pulls += u64::from(kernel.is_some());
        self.group += u64::from(group(model) != group(kernel));
        self.imbalance += u64::from(group(model) == group(kernel) && model != kernel);
    }

    fn merge(&mut self, other: &BalanceAgreement) {
        self.rows += other.rows;
        self.equal += other.equal;
        self.pulls += other.pulls;
        self.group += other.group;
        self.imbalance += other.imbalance;
        self.llcs += other.llcs;
        self.preferring += other.preferring;
    }
}

/// A pass that differs.
#[derive(Clone, Debug)]
pub struct BalanceDisagreement {
    /// The recording.
    pub folder: PathBuf,
    /// The machine and its kernel.
    pub topo: Arc<TopoFile>,
    /// The level of the domain.
    pub level: usize,
    /// The row.
    pub row: BalancePass,
    /// The model's finding.
    pub model: Option<Found>,
    /// By group of the ring: the load of the LLC of its first CPU, as the model leaves it.
    pub llcs: Vec<Option<LlcLoad>>,
}

/// The passes of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceKernel {
    /// The passes that were compared.
    pub scored: BalanceAgreement,
    /// Those that are not stable.
    pub unstable: u64,
    /// Those of a domain above the LLC in which queued tasks prefer the LLC of the pass's CPU, in recordings before
    /// 1.8: what cache-aware balancing reads of LLCs is not in them.
    pub prefer_llc: u64,
}

/// The key by which passes are counted: the preset, what the CPU does, the name of the domain, and what the kernel
/// found.
pub type BalanceCase = (&'static str, &'static str, String, &'static str);

/// The result of the comparison.
#[derive(Clone, Debug, Default)]
pub struct BalanceConformance {
    /// By preset and release.
    pub kernels: BTreeMap<(&'static str, String), BalanceKernel>,
    /// By case.
    pub cases: BTreeMap<BalanceCase, BalanceAgreement>,
    /// The first passes that differ.
    pub disagreements: Vec<BalanceDisagreement>,
}

impl BalanceConformance {
    /// The sum over all kernels.
    pub fn total(&self) -> BalanceKernel {
        let mut total = BalanceKernel::default();
        for kernel in self.kernels.values() {
            total.scored.merge(&kernel.scored);
            total.unstable += kernel.unstable;
            total.prefer_llc += kernel.prefer_llc;
        }
        total
    }

    /// Whether there were passes.
    pub fn any(&self) -> bool {
        !self.kernels.is_empty()
    }
}

/// Compares all stable passes of the recordings at `paths`, and keeps the first `limit` that differ. Also returns the
/// errors of files that could not be read to their end, or are of a machine that is not modelled.
pub fn conform_balance(paths: &[PathBuf], limit: usize) -> (BalanceConformance, Vec<ReadError>) {
    let (mut found, mut errors) = (BalanceConformance::default(), Vec::new());
    // What cannot be listed is reported by the reader of decisions.
    for source in super::sources::sources(paths).0 {
        if !source.balance().is_empty() {
            errors.extend(of_recording(&source, limit, &mut found).err());
        }
    }
    (found, errors)
}

fn of_recording(source: &Source, limit: usize, found: &mut BalanceConformance) -> Result<(), ReadError> {
    let mut rows = BalancePasses::new(source.balance().to_vec());
    while let Some((row, topo)) = rows.next_pass()? {
        let kernel = found.kernels.entry((topo.preset.name, topo.release.clone())).or_default();
        let Some(level) = row.level.filter(|_| row.stable) else {
            kernel.unstable += 1;
            continue;
        };
        let sd = &topo.domains.domains[row.dst_cpu as usize][level];
        let above = !sd.flags.contains(SdFlags::SHARE_LLC) && row.loads.iter().any(|load| load.prefer != 0);
        if above && row.sched_cache.is_none() {
            kernel.prefer_llc += 1;
            continue;
        }
        let preferring = above && row.sched_cache.as_ref().is_some_and(|cache| cache.enabled);
        let model = ask(&row, &topo, level).map_err(|what| ReadError::of_file(source.path(), what))?;
        kernel.scored.add(&model, &row, preferring);
        let name = format!("{:?}", sd.level);
        let case = (topo.preset.name, idle_name(row.idle), name, found_name(row.found.as_ref()));
        found.cases.entry(case).or_default().add(&model, &row, preferring);
        if (model.found != row.found || !model.same_llcs(&row)) && found.disagreements.len() < limit {
            let folder = source.path().to_owned();
            let Answer { found: model, llcs } = model;
            found.disagreements.push(BalanceDisagreement { folder, topo, level, row, model, llcs });
        }
    }
    Ok(())
}

/// What the model finds, and the loads of LLCs that it leaves behind, by group.
struct Answer {
    found: Option<Found>,
    llcs: Vec<Option<LlcLoad>>,
}

impl Answer {
    fn same_llcs(&self, row: &BalancePass) -> bool {
        row.sched_cache.as_ref().is_none_or(|cache| cache.llcs_after == self.llcs)
    }
}

/// Asks the model. The error says why it does not have the machine.
fn ask(row: &BalancePass, topo: &TopoFile, level: usize) -> Result<Answer, String> {
    // find_busiest_group() reads none of them.
    let tunables = BalanceTunables { migration_cost: 0, nr_migrate: 0, preemption: true, hz: topo.preset.hz.value };
    let balance = Balance::new(topo.preset.balance, row.features.set, tunables, &topo.domains)
        .map_err(|error| error.to_string())?;
    let balance = match row.sched_cache.as_ref().and_then(|cache| sched_cache(cache, topo)) {
        Some(cache) => balance.with_sched_cache(cache),
        None => balance,
    };
    let view = Recorded { row, topo, level };
    let sd = balance.sd(row.dst_cpu, level);
    let nr_balance_failed = row.sched_cache.as_ref().map_or(0, |cache| cache.nr_balance_failed);
    let state = SdBalance { nr_balance_failed, ..SdBalance::new(sd, 0) };
    let mut env = LbEnv::new(&view, &balance, row.dst_cpu, level, row.idle, &state).with_cpus(&row.cpus);
    let (_, found) = find_busiest_group(&mut env);
    let written = |group: &SchedGroup| {
        let llc = topo.domains.sd_llc_id[group.span.first()? as usize];
        let written = env.llc_written().iter().rev().find(|(written, _)| *written == llc);
        written.map(|(_, stats)| (stats.util, stats.capacity))
    };
    let llcs = match &row.sched_cache {
        Some(cache) => sd.groups().zip(&cache.llcs).map(|(group, before)| written(group).or(*before)).collect(),
        None => Vec::new(),
    };
    Ok(Answer { found: found.map(|(group, imbalance)| Found { group: view.place(group), imbalance }), llcs })
}

/// Cache-aware balancing as the pass had it; `None` if it was off, and if the model's kernel has none.
fn sched_cache(cache: &SchedCachePass, topo: &TopoFile) -> Option<SchedCache> {
    let rules = topo.preset.balance.sched_cache.filter(|_| cache.enabled)?;
    Some(SchedCache {
        rules,
        overaggr_pct: cache.overaggr_pct,
        imb_pct: cache.imb_pct,
        smt_num_threads: topo.domains.smt_mask.iter().map(|core| core.weight()).max().unwrap_or(1),
        // What processes prefer follows from these; find_busiest_group() reads the outcome.
        aggr_tolerance: 0,
        epoch_period: 0,
        epoch_affinity_timeout: 0,
        numa_balancing: false,
    })
}

/// A recorded pass as the system that balancing reads.
struct Recorded<'a> {
    row: &'a BalancePass,
    topo: &'a TopoFile,
    level: usize,
}

impl Recorded<'_> {
    fn load(&self, cpu: Cpu) -> &CpuLoad {
        &self.row.loads[cpu as usize]
    }

    /// The place of a group in the ring.
    fn place(&self, group: &SchedGroup) -> usize {
        let sd = &self.topo.domains.domains[self.row.dst_cpu as usize][self.level];
        sd.groups().position(|other| std::ptr::eq(other, group)).expect("a group of the domain of the pass")
    }
}

impl IdleView for Recorded<'_> {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        let load = self.load(cpu);
        load.curr_idle && load.nr_running == 0 && !load.ttwu_pending
    }

    fn sched_idle_cpu(&self, _cpu: Cpu) -> bool {
        unreachable!("find_busiest_group() does not ask for it")
    }
}

impl RqView for Recorded<'_> {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.load(cpu).nr_running
    }

    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.load(cpu).h_nr_delayed
    }

    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.load(cpu).ttwu_pending
    }

    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.load(cpu).load_avg
    }

    fn cpu_runnable_load(&self, _cpu: Cpu) -> u64 {
        unreachable!("kernels up to 5.4 cannot be recorded")
    }

    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.load(cpu).capacity
    }
}

impl UtilView for Recorded<'_> {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.load(cpu).runnable_avg
    }

    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.load(cpu).util_avg
    }

    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.row.features.set.has(Feature::UTIL_EST).then(|| self.load(cpu).util_est)
    }
}

impl GroupView for Recorded<'_> {
    fn group_capacity(&self, _level: usize, group: &SchedGroup) -> u64 {
        self.row.groups[self.place(group)].0
    }

    fn group_imbalance(&self, _level: usize, group: &SchedGroup) -> bool {
        self.row.groups[self.place(group)].1
    }
}

impl AsymView for Recorded<'_> {}
impl EnergyView for Recorded<'_> {}

/// What follows is of the tasks that the pass then takes, which `find_busiest_group()` does not read.
impl BalanceView for Recorded<'_> {
    fn h_nr_running(&self, cpu: Cpu) -> u32 {
        self.load(cpu).h_nr_queued
    }

    fn llc_counts(&self, cpu: Cpu, llc: Cpu) -> u32 {
        debug_assert_eq!(llc, self.topo.domains.sd_llc_id[self.row.dst_cpu as usize]);
        self.load(cpu).prefer
    }

    fn llc_stats(&self, cpu: Cpu) -> Option<LlcStats> {
        let (cache, ids) = (self.row.sched_cache.as_ref()?, &self.topo.domains.sd_llc_id);
        let load = if ids[cpu as usize] == ids[self.row.dst_cpu as usize] {
            cache.dst_llc
        } else {
            let sd = &self.topo.domains.domains[self.row.dst_cpu as usize][self.level];
            let mut groups = sd.groups().zip(&cache.llcs);
            *groups.find(|(group, _)| group.span.first() == Some(cpu)).map(|(_, load)| load)?
        };
        load.map(|(util, capacity)| LlcStats { util, capacity })
    }

    fn cfs_tasks(&self, _cpu: Cpu) -> impl Iterator<Item = TaskId> {
        std::iter::empty()
    }

    fn rq_clock_task(&self, _cpu: Cpu) -> u64 {
        unreachable!("no task is recorded")
    }

    fn active_balance(&self, _cpu: Cpu) -> bool {
        unreachable!("no task is recorded")
    }

    fn curr_may_run_on(&self, _cpu: Cpu, _dst: Cpu) -> bool {
        unreachable!("no task is recorded")
    }

    fn cpus_ptr(&self, _task: TaskId) -> &CpuMask {
        unreachable!("no task is recorded")
    }

    fn task_on_cpu(&self, _task: TaskId) -> bool {
        unreachable!("no task is recorded")
    }

    fn kthread_is_per_cpu(&self, _task: TaskId) -> bool {
        unreachable!("no task is recorded")
    }

    fn task_has_idle_policy(&self, _task: TaskId) -> bool {
        unreachable!("no task is recorded")
    }

    fn is_buddy(&self, _cpu: Cpu, _task: TaskId) -> bool {
        unreachable!("no task is recorded")
    }

    fn exec_start(&self, _task: TaskId) -> u64 {
        unreachable!("no task is recorded")
    }

    fn task_h_load(&self, _task: TaskId) -> u64 {
        unreachable!("no task is recorded")
    }

    fn task_util_est(&self, _task: TaskId) -> u64 {
        unreachable!("no task is recorded")
    }
}
