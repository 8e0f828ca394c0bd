//! CPUs of unequal capacities: whether wake-ups are placed by energy, misfit tasks, overutilized CPUs, and the limit of
//! searches by capacity.

use crate::engine::Sim;
use crate::numbered::PerCpu;
use crate::pm::PmModel;
use crate::system::System;
use crate::{PmSide, SimError, model};
use wakelab_events::sim::Sink;
use wakelab_kernel::{CapacitySearch, Feature, FeatureSet, Preset};
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, SdFlags};
use wakelab_sched::energy::{EasConditions, EmPerfDomain, NoEas, PerfDomains, RqUtil, build_perf_domains};
use wakelab_sched::pelt::SCHED_CAPACITY_SCALE;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{AsymView, EnergyView, UtilView};

/// Why wake-ups of such runs do not go by energy; `None` if they do.
///
/// # Errors
/// As [`check`](crate::check) and [`check_power`](crate::check_power), and where the kernel would refuse the machine's
/// energy model.
pub fn no_eas(
    machine: &Machine,
    kernel: &Preset,
    features: FeatureSet,
    side: Option<PmSide>,
) -> Result<Option<NoEas>, SimError> {
    let pm = side.map(|side| PmModel::new(machine, kernel, features, side)).transpose()?;
    let domains = model::domains(machine, kernel, features)?;
    Ok(perf_domains(machine, kernel, &domains, pm.as_ref())?.err())
}

/// The performance domains that wake-ups go by, or why they do not go by energy.
pub fn perf_domains(
    machine: &Machine,
    kernel: &Preset,
    domains: &SchedDomains,
    pm: Option<&PmModel>,
) -> Result<Result<PerfDomains, NoEas>, SimError> {
    if !domains.asym_cpucap_active {
        return Ok(Err(NoEas::EqualCpus));
    }
    let conditions = EasConditions {
        energy_aware: true,
        freq_invariant: pm.is_some_and(PmModel::is_invariant),
        schedutil: pm.is_some_and(|pm| pm.governor().name == "schedutil"),
    };
    let model = |domain: &wakelab_machine::PerfDomain| {
        let cpu = domain.cpus.first().unwrap_or(0);
        let capacity = u64::from(machine.topology.cpus[cpu as usize].capacity);
        EmPerfDomain::new(kernel.code.energy_model, domain.cpus.clone(), capacity, &domain.states).map_err(|error| {
            let cpu = machine.kernel_cpu(cpu);
            SimError::Machine(format!("{}: the energy model of CPU {cpu}: {error}", machine.name))
        })
    };
    let models = machine.energy_model().iter().map(model).collect::<Result<_, _>>()?;
    // Without a governor nothing is governed by schedutil, and that is the reason to be given.
    let conditions = EasConditions { freq_invariant: conditions.freq_invariant || pm.is_none(), ..conditions };
    Ok(build_perf_domains(&kernel.code, domains, conditions, models))
}

/// Whether searches by capacity are limited by a hint of the domain that has all capacities: since 7.2, unless it spans
/// nodes, and where it is not the LLC's, whose hint it then is.
pub fn has_own_idle_scan(kernel: &Preset, features: FeatureSet, domains: &SchedDomains) -> bool {
    let Some(level) = domains.sd_asym_cpucapacity(0) else { return false };
    kernel.code.capacity_search == CapacitySearch::GradedCores
        && features.has(Feature::ASYM_SMT)
        && features.has(Feature::SIS_UTIL)
        && !domains.domains[0][level as usize].flags.contains(SdFlags::NUMA)
        && domains.sd_llc[0] != Some(level)
}

/// By CPU: the LLC whose `has_idle_cores` is that of the CPU's `sd_balance_shared` (7.2). Where that domain has several
/// LLCs it stands for all of them, and the first one's is used.
pub fn idle_cores_of(
    kernel: &Preset,
    features: FeatureSet,
    domains: &SchedDomains,
    llc_of: &PerCpu<u32>,
) -> PerCpu<u32> {
    let shares = kernel.code.capacity_search == CapacitySearch::GradedCores && features.has(Feature::ASYM_SMT);
    let of = |cpu: Cpu| {
        let level = domains.sd_balance_shared(cpu).filter(|_| shares)?;
        domains.domains[cpu as usize][level as usize].span.first()
    };
    (0..domains.nr_cpus).map(|cpu| llc_of[of(cpu).unwrap_or(cpu)]).collect()
}

impl System<'_> {
    /// `update_misfit_status()`: when a task gets the CPU, at its tick, and with `None` when the CPU is about to go
    /// idle.
    #[inline]
    pub fn update_misfit(&mut self, cpu: Cpu, task: Option<TaskId>) {
        let model = self.model;
        if model.domains.asym_cpucap_active {
            self.cpus[cpu].misfit_task_load = model.balance.update_misfit_status(self, task, cpu);
        }
    }

    /// `check_update_overutilized_status()`.
    #[inline]
    pub fn check_overutilized(&mut self, cpu: Cpu) {
        let model = self.model;
        self.rd.overutilized |= model.balance.becomes_overutilized(self, cpu);
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
        self.rd.overutilized
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// `update_idle_cpu_scan()` of the domain with all capacities (7.2), if a pass was over that domain.
    pub fn update_asym_idle_scan(&mut self, cpu: Cpu, level: usize) {
        let model = self.sys.model;
        if model.domains.sd_asym_cpucapacity(cpu) != Some(level as u32) {
            return;
        }
        let Some(rules) = model.idle_scan else { return };
        let sd = model.balance.sd(cpu, level);
        let util_of = |cpu: Cpu| {
            let util = self.sys.cpu_util_avg(cpu).max(self.sys.cpu_util_est(cpu).unwrap_or(0));
            util.min(self.sys.arch_scale_cpu_capacity(cpu))
        };
        let sum_util = sd.span.iter().map(util_of).sum();
        let nr_idle_scan = rules.nr_idle_scan(sum_util, sd.span_weight, sd.imbalance_pct);
        if self.sys.asym_nr_idle_scan != nr_idle_scan {
            let change = |sys: &mut System<'_>| sys.asym_nr_idle_scan = nr_idle_scan;
            self.change_seen_by_policies(model.searches_of[cpu], |_, _| true, change);
        }
    }
}
