//! The constant data of a run: rules, masks, costs, programs.

use crate::numbered::{Numbered, PerCpu};
use crate::pm::PmModel;
use crate::rt::{Pressure, RtState};
use crate::uclamp::UclampModel;
use crate::{Mechanisms, Setup, SimError, asym_capacity};
use smallvec::SmallVec;
use wakelab_kernel::{Code, Feature, FeatureSet, GroupRules, HrtickForm, Preset, SchedCacheRules, Tunables};
use wakelab_machine::{ByDistance, Distances, Machine, Noise};
use wakelab_sched::CpuMask;
use wakelab_sched::balance::{Balance, BalanceTunables, SchedCache};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, build_sched_domains};
use wakelab_sched::energy::PerfDomains;
use wakelab_sched::pelt::PeltRules;
use wakelab_sched::pelt::util_est::UtilEstRules;
use wakelab_sched::runqueue::CFS_BANDWIDTH_SLICE;
use wakelab_sched::runqueue::FairRules;
use wakelab_sched::select::{IdleScanRules, Rules, SearchLlcs};
use wakelab_workload::{Call, Op, Program, Work, Workload};

/// The costs as plain numbers, ns (the two parts in per cent), with the mechanisms that are switched off taken out.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub context_switch: u64,
    /// The same between threads of one process.
    pub thread_switch: u64,
    pub wakeup: u64,
    pub probe: u64,
    pub enqueue: ByDistance,
    pub enqueue_visible: u64,
    pub wakelist: ByDistance,
    pub wakelist_flush: ByDistance,
    pub ipi: u64,
    pub ipi_far: u64,
    pub idle_exit: u64,
    pub idle_entry: u64,
    pub cold_task: ByDistance,
    pub cold_message: ByDistance,
    pub tick: u64,
    pub balance: u64,
    pub balance_cpu: u64,
    pub newidle_max_smt: u64,
    pub newidle_max_llc: u64,
    pub smt_slowdown: u64,
}

impl Costs {
    fn of(costs: &wakelab_machine::Costs, mechanisms: &Mechanisms) -> Self {
        let by_distance = costs.by_distance();
        let by = |cost: ByDistance| if mechanisms.distance { cost } else { cost.without_distance() };
        let cold = |cost: ByDistance| if mechanisms.cold_cache { by(cost) } else { ByDistance::default() };
        Costs {
            context_switch: costs.context_switch.value,
            thread_switch: costs.context_switch.value.saturating_sub(costs.switch_mm.value),
            wakeup: costs.wakeup.value,
            // A look takes time, or a search would have no moment of its own.
            probe: costs.probe.value.max(1),
            enqueue: by(by_distance.enqueue),
            enqueue_visible: costs.enqueue_visible.value,
            wakelist: by(by_distance.wakelist),
            wakelist_flush: by(by_distance.wakelist_flush),
            ipi: costs.ipi.value,
            ipi_far: costs.ipi_far.value,
            idle_exit: costs.idle_exit.value,
            idle_entry: costs.idle_entry.value,
            cold_task: cold(by_distance.cold_task),
            cold_message: cold(by_distance.cold_message),
            tick: costs.tick.value,
            balance: costs.balance.value,
            balance_cpu: costs.balance_cpu.value,
            newidle_max_smt: costs.newidle_max_smt.value,
            newidle_max_llc: costs.newidle_max_llc.value,
            smt_slowdown: if mechanisms.smt { costs.smt_slowdown.value } else { 100 },
        }
    }
}

/// The data of a run that does not change.
#[derive(Debug)]
pub struct Model<'a> {
    pub code: &'a Code,
    pub features: FeatureSet,
    pub domains: &'a SchedDomains,
    pub costs: Costs,
    pub mechanisms: Mechanisms,
    pub observer_cost: u64,
    pub hz: u64,
    pub tick_ns: u64,
    pub pelt: PeltRules,
    pub groups: GroupRules,
    /// `sysctl_sched_cfs_bandwidth_slice`, ns.
    pub bandwidth_slice: u64,
    /// By how many bits PELT's clock runs faster (`pelt_multiplier`).
    pub pelt_lshift: u32,
    /// `None` with UTIL_EST off.
    pub util_est: Option<UtilEstRules>,
    /// The rules of run queues.
    pub run_queue: FairRules,
    /// How hrticks are kept; `None` with HRTICK off.
    pub hrtick: Option<HrtickForm>,
    /// The rules for computing `nr_idle_scan`; `None` without SIS_UTIL.
    pub idle_scan: Option<IdleScanRules>,
    /// The rules of placement, but for energy.
    rules: Rules<'a>,
    /// What wake-ups go by, where they go by energy.
    energy: Option<PerfDomains>,
    /// The domain with all capacities has an `nr_idle_scan` of its own (7.2).
    pub asym_idle_scan: bool,
    /// `sysctl_sched_migration_cost`, ns.
    pub migration_cost: u64,
    /// The rules of balancing.
    pub balance: Balance<'a>,
    /// The workload's, then those of kworkers, of the RCU kthread that has timers only, of daemons, and of the RCU
    /// kthread that ends grace periods.
    pub programs: Numbered<Program>,
    pub workload: &'a Workload,
    /// By affinity number: the CPUs. 0 is all, then one mask for each CPU alone, then the workload's.
    pub masks: Numbered<CpuMask>,
    /// By task of the workload: its affinity number.
    pub task_masks: Vec<u32>,
    /// By the workload's `cpu_sets`: their affinity numbers.
    pub set_masks: Numbered<u32>,
    /// By CPU: the number of its LLC, 0 upwards.
    pub llc_of: PerCpu<u32>,
    /// By CPU: the LLC whose `has_idle_cores` it reads: its own, or the first of the domain with all capacities where
    /// that has the only one (`sd_balance_shared`, 7.2).
    pub idle_cores_of: PerCpu<u32>,
    /// By LLC: the lowest CPUs of the LLCs that read its `has_idle_cores`.
    pub idle_cores_readers: Numbered<SmallVec<[Cpu; 1]>>,
    /// By CPU: the LLC whose list has the searches that may probe it: its own, or 0 if searches go by capacity or
    /// through the node (SIS_NODE), because those may probe CPUs of any LLC.
    pub searches_of: PerCpu<u32>,
    /// How far lines come from one CPU to another.
    pub distances: Distances,
    /// By CPU: the CPUs of its core, in ascending order: `cpu_smt_mask()`, whose words are as wide as the machine.
    pub siblings: PerCpu<SmallVec<[Cpu; 2]>>,
    /// LLCs, for searches that are positions.
    pub search_llcs: SearchLlcs,
    /// By LLC: its lowest CPU.
    pub llc_first: Numbered<Cpu>,
    /// By CPU: its package.
    pub package_of: PerCpu<u32>,
    /// By CPU: `arch_scale_cpu_capacity()`.
    pub capacity: PerCpu<u64>,
    /// Each read from a full pipe wakes a writer, whether a page has become free or not: `pipe_read()` up to 6.13.
    pub pipe_wakes_while_full: bool,
    /// Mean time between two wake-ups of a kworker, ns (0: none), and its run time.
    pub noise: (u64, u64),
    /// How many daemons there are.
    pub daemons: u64,
    /// Frequencies, idle states and power, where a side asks for them.
    pub pm: Option<PmModel>,
    /// By CPU: `sd->llc_bytes`.
    pub llc_bytes: PerCpu<u64>,
    /// Utilisation clamps; `None` in a run that sets none.
    pub uclamp: Option<UclampModel>,
    /// A task is, or can become, one above the fair class.
    pub above_fair: bool,
    /// The time of interrupts is not that of tasks (IRQ_TIME_ACCOUNTING), and there are some.
    pub irq_accounting: bool,
    /// The capacity that CPUs lack because their frequency is limited.
    pub pressure: Pressure,
}

/// The scheduling domains of a machine under a kernel with these features on.
pub fn domains(machine: &Machine, kernel: &Preset, features: FeatureSet) -> Result<SchedDomains, SimError> {
    build_sched_domains(&machine.topology, &machine.domain_options(kernel).with_features(features))
        .map_err(|error| SimError::Machine(format!("{}: {error}", machine.name)))
}

/// What balances.
pub fn balance<'a>(
    machine: &Machine,
    kernel: &Preset,
    features: FeatureSet,
    domains: &'a SchedDomains,
) -> Result<Balance<'a>, SimError> {
    let tunables = kernel.tunables.scaled(domains.nr_cpus as usize);
    Balance::new(kernel.balance, features, balance_tunables(&tunables, kernel), domains)
        .map_err(|error| SimError::Machine(format!("{}: {error}", machine.name)))
}

impl<'a> Model<'a> {
    pub fn new(setup: &Setup<'a>, domains: &'a SchedDomains) -> Result<Self, SimError> {
        let Setup { machine, kernel, workload, mechanisms, .. } = *setup;
        let mut features = setup.features;
        if !mechanisms.idle_cores {
            features = features.with(Feature::SIS_CORE, false);
        }
        if !mechanisms.wake_affine {
            features = features.with(Feature::WA_IDLE, false).with(Feature::WA_WEIGHT, false);
        }
        let util_est = features.has(Feature::UTIL_EST) && mechanisms.util_est;
        let nr_cpus = machine.topology.nr_cpus();
        let (masks, task_masks, set_masks) = masks(workload, nr_cpus)?;
        let (llc_of, llc_first) = llcs(domains);
        let idle_cores_of = asym_capacity::idle_cores_of(kernel, features, domains, &llc_of);
        let package_of: PerCpu<u32> = machine.topology.cpus.iter().map(|cpu| cpu.package).collect();
        let tunables = kernel.tunables.scaled(nr_cpus as usize);
        let hz = u64::from(kernel.hz.value);
        let run_queue = FairRules::of(kernel, features, nr_cpus as usize)
            .map_err(|error| SimError::Kernel(format!("{}: {error}", kernel.name)))?;
        crate::task_group::check(kernel, workload, mechanisms.softirq_util)?;
        crate::change::check(workload, setup.scheduler.is_some())?;
        let rules = Rules::new(kernel, features, domains)
            .map_err(|error| SimError::Machine(format!("machine {}: {error}", machine.name)))?;
        let noise = machine.noise;
        let rcu = crate::pm::rcu::kthread(hz, nr_cpus);
        let daemons = crate::rcu_gp_kthread::programs(&noise);
        let pm = match setup.pm {
            Some(side) => Some(PmModel::new(machine, kernel, features, side)?),
            None => None,
        };
        let energy = asym_capacity::perf_domains(machine, kernel, domains, pm.as_ref())?.ok();
        let mut balance = balance(machine, kernel, features, domains)?;
        if let Some(cache) = sched_cache(kernel, features, &tunables, workload, domains) {
            balance = balance.with_sched_cache(cache);
        }
        let capacity: PerCpu<u64> = machine.topology.cpus.iter().map(|cpu| u64::from(cpu.capacity)).collect();
        let llc_bytes = crate::sched_cache::llc_bytes(machine, &domains.sd_llc_size);
        if workload.tasks.iter().any(|task| task.footprint != 0) && llc_bytes.contains(&0) {
            return Err(SimError::Machine(format!(
                "{}: the workload has processes with a footprint, but the machine does not give the size of its \
                 last-level caches; expected a [[cache]] for all CPUs",
                machine.name
            )));
        }
        Ok(Model {
            code: &kernel.code,
            features,
            domains,
            costs: Costs::of(&machine.costs, &mechanisms),
            mechanisms,
            observer_cost: setup.observer_cost,
            hz,
            tick_ns: 1_000_000_000 / hz,
            pelt: kernel.pelt,
            groups: kernel.groups,
            bandwidth_slice: kernel.tunables.sched_cfs_bandwidth_slice_us.map_or(CFS_BANDWIDTH_SLICE, |us| us * 1000),
            pelt_lshift: tunables.pelt_multiplier.unwrap_or(1) as u32 >> 1,
            util_est: util_est.then(|| UtilEstRules::of(kernel, features)),
            run_queue,
            hrtick: features.has(Feature::HRTICK).then_some(kernel.core.hrtick),
            idle_scan: IdleScanRules::new(features, &tunables),
            rules,
            migration_cost: tunables.migration_cost.unwrap_or(500_000),
            balance: if energy.is_some() { balance.with_energy() } else { balance },
            asym_idle_scan: asym_capacity::has_own_idle_scan(kernel, features, domains),
            programs: workload.programs.iter().cloned().chain([kworker(&noise), rcu]).chain(daemons).collect(),
            workload,
            masks,
            task_masks,
            set_masks,
            searches_of: match domains.asym_cpucap_active || rules.searches_node() {
                true => vec![0; llc_of.len()].into(),
                false => llc_of.clone(),
            },
            idle_cores_readers: readers(&idle_cores_of, &llc_first),
            idle_cores_of,
            distances: Distances::new(machine, &llc_of),
            siblings: domains.smt_mask.iter().map(|mask| mask.iter().collect()).collect(),
            search_llcs: SearchLlcs::new(&Rules { energy: energy.as_ref(), ..rules }, &llc_of),
            llc_of,
            llc_first,
            package_of,
            above_fair: above_fair(workload),
            irq_accounting: features.has(Feature::IRQ_TIME_ACCOUNTING) && !workload.interrupts.is_empty(),
            pressure: Pressure::new(kernel.core.pressure, pm.as_ref(), &capacity),
            capacity,
            pipe_wakes_while_full: kernel.core.pipe_wakes_while_full,
            pm,
            llc_bytes,
            uclamp: UclampModel::new(setup)?,
            energy,
            noise: if mechanisms.noise { (noise.kworker_period_ns, noise.kworker_run_ns) } else { (0, 0) },
            daemons: if mechanisms.noise { noise.daemons } else { 0 },
        })
    }

    /// Whether anything but fair tasks takes time or capacity of CPUs that the run accounts for.
    pub fn leaves_less(&self) -> bool {
        self.above_fair || !self.workload.interrupts.is_empty() || self.pressure.is_some()
    }

    /// The state of what leaves the fair class less; `None` without anything of it.
    pub fn realtime(&self, kernel: &Preset) -> Option<Box<RtState>> {
        RtState::new(self, kernel)
    }

    /// The rules of placement.
    #[inline]
    pub fn rules(&self) -> Rules<'_> {
        Rules { energy: self.energy.as_ref(), ..self.rules }
    }

    /// How many CPUs energy-aware placement reads: all, or none if wake-ups do not use it.
    pub fn probes_for_energy(&self) -> u64 {
        if self.energy.is_some() { u64::from(self.nr_cpus()) } else { 0 }
    }

    /// Whether a task can be SCHED_IDLE.
    pub fn may_be_sched_idle(&self) -> bool {
        let sets = |op: &Op| matches!(op, Op::Call(Call::IdlePolicy(true)));
        self.workload.tasks.iter().any(|task| task.idle_policy)
            || self.workload.groups.iter().any(|group| group.idle)
            || self.workload.programs.iter().any(|program| program.ops.iter().any(sets))
    }

    pub fn nr_cpus(&self) -> u32 {
        self.domains.nr_cpus
    }

    /// Returns the cost of a message for a reader on `cpu` whose writer was on `from`, ns.
    #[inline]
    pub fn cold_message(&self, from: Cpu, cpu: Cpu) -> u64 {
        self.costs.cold_message.at(self.distances.between(from, cpu))
    }

    /// How long work takes while so many of the SMT siblings are busy, per cent. Each adds as much as the first.
    #[inline]
    pub fn slowdown(&self, busy_siblings: u64) -> u64 {
        100 + busy_siblings * self.costs.smt_slowdown.saturating_sub(100)
    }

    /// `cpus_share_cache()`: whether two CPUs share what the kernel takes for the last level cache.
    #[inline]
    pub fn share_cache(&self, a: Cpu, b: Cpu) -> bool {
        self.llc_of[a] == self.llc_of[b]
    }
}

/// Whether a task is, or can become, one above the fair class.
fn above_fair(workload: &Workload) -> bool {
    let sets = |op: &Op| matches!(op, Op::Call(Call::Realtime(_)));
    workload.tasks.iter().any(|task| task.realtime.is_some())
        || workload.programs.iter().any(|program| program.ops.iter().any(sets))
}

fn balance_tunables(tunables: &Tunables, kernel: &Preset) -> BalanceTunables {
    BalanceTunables {
        migration_cost: tunables.migration_cost.unwrap_or(500_000) as u32,
        nr_migrate: tunables.nr_migrate.unwrap_or(32) as u32,
        preemption: kernel.core.preemption,
        hz: kernel.hz.value,
    }
}

/// Cache-aware balancing, if the kernel has it on, the machine has LLCs to choose from, and tasks can be of one
/// process: a process of one thread prefers none (`invalid_llc_nr()`).
fn sched_cache(
    kernel: &Preset,
    features: FeatureSet,
    tunables: &Tunables,
    workload: &Workload,
    domains: &SchedDomains,
) -> Option<SchedCache> {
    let rules = SchedCacheRules::of(&kernel.balance, features)?;
    if !workload.tasks.iter().any(|task| task.process.is_some()) || !SchedCache::is_present(domains) {
        return None;
    }
    let value = |tunable: Option<u64>, default| tunable.unwrap_or(default) as u32;
    Some(SchedCache {
        rules,
        aggr_tolerance: value(tunables.llc_aggr_tolerance, 1),
        epoch_period: value(tunables.llc_epoch_period, u64::from(kernel.hz.value) / 100),
        epoch_affinity_timeout: value(tunables.llc_epoch_affinity_timeout, 5),
        overaggr_pct: value(tunables.llc_overaggr_pct, 50),
        imb_pct: value(tunables.llc_imb_pct, 20),
        smt_num_threads: domains.smt_mask.iter().map(|core| core.weight()).max().unwrap_or(1),
        // NUMA balancing is on by default where there are several nodes (`check_numabalancing_enable()`).
        numa_balancing: domains.node.iter().any(|node| *node != domains.node[0]),
    })
}

/// What a kworker does: it wakes by a timer, runs, and sleeps again.
fn kworker(noise: &Noise) -> Program {
    let ops = vec![
        Op::Run(Work::uniform(noise.kworker_run_ns, 50)),
        Op::Sleep(Work::uniform(noise.kworker_period_ns, 90)),
        Op::Repeat { to: 0, times: None },
    ];
    Program { name: "kworker".to_owned(), ops }
}

/// Masks, and by task and by CPU set the numbers of theirs.
type Masks = (Numbered<CpuMask>, Vec<u32>, Numbered<u32>);

/// The affinity masks: all CPUs, each CPU alone, and those that tasks of the workload have or ask for. Then by task and
/// by `cpu_sets` the numbers of theirs.
fn masks(workload: &Workload, nr_cpus: u32) -> Result<Masks, SimError> {
    let alone = (0..nr_cpus).map(|cpu| CpuMask::from_cpus(nr_cpus, [cpu]));
    let mut masks = Numbered::from_iter([CpuMask::full(nr_cpus)].into_iter().chain(alone));
    let mut number = |whose: &dyn Fn() -> String, cpus: &[Cpu]| {
        if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
            return Err(SimError::Workload(format!(
                "{} may use CPU {cpu}, but the machine has CPUs 0 to {}",
                whose(),
                nr_cpus - 1
            )));
        }
        if cpus.is_empty() {
            return Err(SimError::Workload(format!("{} has an affinity without CPUs", whose())));
        }
        let mask = CpuMask::from_cpus(nr_cpus, cpus.iter().copied());
        let known = masks.iter().position(|other| *other == mask);
        Ok(known.unwrap_or_else(|| {
            masks.push(mask);
            masks.len() - 1
        }) as u32)
    };
    let task_masks = workload
        .tasks
        .iter()
        .map(|task| match &task.affinity {
            Some(cpus) => number(&|| format!("task {}", task.name), cpus),
            None => Ok(0),
        })
        .collect::<Result<_, _>>()?;
    let set_masks = (0..)
        .zip(&workload.cpu_sets)
        .map(|(n, cpus): (u32, _)| number(&|| format!("a step (CPU set {n})"), cpus))
        .collect::<Result<_, _>>()?;
    Ok((masks, task_masks, set_masks))
}

fn llcs(domains: &SchedDomains) -> (PerCpu<u32>, Numbered<Cpu>) {
    let mut first: Vec<Cpu> = domains.sd_llc_id.clone();
    first.sort_unstable();
    first.dedup();
    let of = domains.sd_llc_id.iter().map(|id| first.binary_search(id).expect("listed above") as u32);
    (of.collect(), first.into())
}

/// By LLC: the lowest CPUs of the LLCs that read its `has_idle_cores`.
fn readers(idle_cores_of: &PerCpu<u32>, llc_first: &Numbered<Cpu>) -> Numbered<SmallVec<[Cpu; 1]>> {
    let mut readers = Numbered::from(vec![SmallVec::new(); llc_first.len()]);
    llc_first.iter().for_each(|&first| readers[idle_cores_of[first]].push(first));
    readers
}
