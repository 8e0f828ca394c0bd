//! From a machine and a side to what a run goes by.

use super::PmSide;
use super::model::{DemotionModel, KindModel, PmModel, PolicyModel, ScaleSource};
use super::model::{base_khz, clocks, core, groups, kind, policy_of, shared, wrong};
use crate::SimError;
use crate::numbered::PerCpu;
use wakelab_kernel::{CpufreqRules, FeatureSet, Preset, PressureForm};
use wakelab_machine::{FreqPolicy, Machine};
use wakelab_pm::Khz;
use wakelab_pm::governor::{Pstates, Setup as GovernorSetup};
use wakelab_pm::invariance::{MaxFreq, MaxFreqRatio};
use wakelab_pm::policy::{Driver, Limits, Policy};
use wakelab_pm::turbo::Turbo;
use wakelab_sched::boost::BoostSite;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::Arch;

/// The number of the group that has a CPU.
fn inverse<'a>(nr_cpus: usize, groups: impl Iterator<Item = &'a [Cpu]>) -> PerCpu<usize> {
    let mut of = PerCpu::from(vec![0; nr_cpus]);
    for (n, cpus) in groups.enumerate() {
        cpus.iter().for_each(|&cpu| of[cpu] = n);
    }
    of
}

impl PmModel {
    /// Errors: a machine without frequencies for every CPU, a governor that does not fit its driver or the kernel.
    pub fn new(machine: &Machine, kernel: &Preset, features: FeatureSet, side: PmSide) -> Result<PmModel, SimError> {
        let topology = &machine.topology.cpus;
        let nr_cpus = topology.len();
        let all = || 0..nr_cpus as Cpu;
        let policy_of: PerCpu<usize> = all().map(|cpu| policy_of(machine, cpu)).collect::<Result<_, _>>()?;
        let mut kinds: Vec<KindModel> = Vec::new();
        let mut kind_of = PerCpu::default();
        for cpu in all() {
            let own = kind(machine, cpu)?;
            kind_of.push(kinds.iter().position(|kind| *kind == own).unwrap_or(kinds.len()));
            if kind_of[cpu] == kinds.len() {
                kinds.push(own);
            }
        }
        let cores = groups(all(), |cpu| topology[cpu as usize].core).into_iter();
        let cores: Vec<_> = cores
            .map(|(_, cpus)| (kind_of[cpus[0]], cpus))
            .map(|(n, cpus)| core(machine, cpus, &kinds[n]))
            .collect::<Result<_, _>>()?;
        let (clocks, shared) = (clocks(machine)?, shared(machine));
        let mut shared_of = PerCpu::from(vec![Vec::new(); nr_cpus]);
        for (n, domain) in shared.iter().enumerate() {
            domain.cpus.iter().for_each(|&cpu| shared_of[cpu].push(n));
        }
        let package_of: PerCpu<usize> = topology.iter().map(|cpu| cpu.package as usize).collect();
        let policies = machine.frequencies.iter().map(|policy| of_policy(machine, kernel, &side, policy));
        let policies: Vec<PolicyModel> = policies.collect::<Result<_, _>>()?;
        let of_cpu = |number: fn(&FreqPolicy) -> Khz| -> PerCpu<Khz> {
            policy_of.iter().map(|&policy| number(&machine.frequencies[policy])).collect()
        };
        let governs =
            kinds.iter().all(|kind| kind.idle.is_none()) || (side.idle_governor.make)(&kernel.cpuidle).is_some();
        if !governs {
            let name = side.idle_governor.name;
            return Err(SimError::Kernel(format!(
                "{}: its form of the idle governor {name} is not modelled; expected another governor, or a later \
                 kernel",
                kernel.name
            )));
        }
        Ok(PmModel {
            turbo: turbo(machine)?,
            demotion: demotion(machine, &kinds),
            scale: scale(machine, &kernel.cpufreq, &side)?,
            cpuidle: kernel.cpuidle,
            wakes_by_write: machine.arch != Arch::Arm64,
            runnable_boost: BoostSite::Freq.is_on(features),
            clock_of: inverse(nr_cpus, clocks.iter().map(|clock| &clock.cpus[..])),
            core_of: inverse(nr_cpus, cores.iter().map(|core| &core.cpus[..])),
            nr_packages: package_of.iter().max().map_or(0, |last| last + 1),
            nominal: of_cpu(|policy| policy.max_khz as Khz),
            base: of_cpu(base_khz),
            hw_cap: hw_caps(machine, kernel, &side)?,
            side,
            policies,
            clocks,
            cores,
            shared,
            kinds,
            policy_of,
            package_of,
            kind_of,
            shared_of,
        })
    }
}

fn of_policy(machine: &Machine, kernel: &Preset, side: &PmSide, policy: &FreqPolicy) -> Result<PolicyModel, SimError> {
    let is_wrong = |error: &dyn std::fmt::Display| wrong(machine, format!("CPUs {}: {error}", policy.cpus));
    let driver = match policy.grain_khz {
        Some(grain) if policy.steps_khz.is_empty() => {
            Driver::continuous(policy.min_khz as Khz, policy.max_khz as Khz, grain as Khz)
        }
        _ => Driver::table(policy.targets_khz().into_iter().map(|khz| khz as Khz).collect()),
    };
    let driver = driver.map_err(|error| is_wrong(&error))?;
    let mut of = Policy::new(policy.cpus.iter().collect(), driver).map_err(|error| is_wrong(&error))?;
    let arm = machine.arch == Arch::Arm64;
    of.invariant = invariant(machine, &kernel.cpufreq, side);
    of.freq_ref = if arm && kernel.cpufreq.arm64_freq_ref { policy.max_khz as Khz } else { 0 };
    of.dvfs_possible_from_any_cpu = arm;
    let own = policy.cpus.iter().filter_map(|cpu| side.freq_caps.of(cpu)).min();
    if let Some(cap) = own.or(side.freq_cap) {
        let lowest = policy.min_khz as Khz;
        if cap < lowest {
            let what = format!("freq_cap={cap} is below their lowest frequency; expected at least {lowest} kHz");
            return Err(is_wrong(&what));
        }
        of.set_limits(&Limits { user_max: cap, ..Limits::NONE });
    }
    let latency_ns = policy.latency_ns.unwrap_or(0);
    let delay_us = policy.delay_ns.unwrap_or(0) / 1000;
    let mut setup = GovernorSetup::of_preset(kernel, latency_ns as u32, delay_us as u32);
    setup.no_turbo = side.no_turbo;
    setup.userspace = side.setspeed;
    if side.governor.name.starts_with("intel_pstate") {
        if policy.driver.as_deref() != Some("intel_pstate") {
            let has = policy.driver.as_deref().unwrap_or("none");
            let hint = "expected driver = \"intel_pstate\", or another governor";
            return Err(is_wrong(&format!("governor {} and driver {has}; {hint}", side.governor.name)));
        }
        let state = |khz: u64| (khz / 100_000) as u32;
        let max = state(base_khz(policy).into());
        setup.pstates =
            Some(Pstates { min: state(policy.min_khz), max, turbo: state(policy.max_khz), scaling: 100_000 });
    }
    Ok(PolicyModel { policy: of, setup, latency_ns })
}

/// What the hardware gives at most, and tells the kernel of.
fn hw_caps(machine: &Machine, kernel: &Preset, side: &PmSide) -> Result<PerCpu<Khz>, SimError> {
    let nr_cpus = machine.topology.nr_cpus();
    for (name, caps) in [("freq_cap", &side.freq_caps), ("hw_pressure", &side.hw_pressure)] {
        if let Some(last) = caps.last_cpu().filter(|&last| last >= nr_cpus) {
            return Err(wrong(machine, format!("{name} of CPU {last}; expected CPUs 0 to {}", nr_cpus - 1)));
        }
    }
    if !side.hw_pressure.is_empty() {
        if kernel.core.pressure == PressureForm::None {
            let what = "has no thermal pressure; expected 5.7 or later, or thermal_cap, which no kernel knows about";
            return Err(SimError::Kernel(format!("{}: {what}", kernel.name)));
        }
        if machine.arch != Arch::Arm64 {
            let what =
                "no kernel of its architecture has hw_pressure; expected thermal_cap, which no kernel knows about";
            return Err(wrong(machine, what));
        }
    }
    Ok((0..nr_cpus).map(|cpu| side.hw_pressure.of(cpu).unwrap_or(Khz::MAX)).collect())
}

/// Whether utilisation is independent of the frequency.
fn invariant(machine: &Machine, rules: &CpufreqRules, side: &PmSide) -> bool {
    side.invariant.unwrap_or(machine.arch == Arch::Arm64 || rules.x86_invariance)
}

fn turbo(machine: &Machine) -> Result<Option<Turbo>, SimError> {
    let Some(turbo) = &machine.turbo else { return Ok(None) };
    let cores = turbo.bins.last().map_or(1, |bin| bin.cores);
    let bins = (1..=cores).map(|active| turbo.khz(active) as Khz).collect();
    let base = machine.frequencies.iter().map(base_khz).max().unwrap_or(0);
    Turbo::new(bins, base).map(Some).map_err(|error| wrong(machine, error))
}

/// A kind without the state is not demoted.
fn demotion(machine: &Machine, kinds: &[KindModel]) -> Option<DemotionModel> {
    let of = machine.demotion.as_ref()?;
    let to = kinds.iter().map(|kind| kind.stats.idle.iter().position(|name| *name == of.to).unwrap_or(kind.deepest()));
    let active = machine.turbo.as_ref().is_some_and(|turbo| turbo.active_states.contains(&of.to));
    Some(DemotionModel { to: to.collect(), active, below_ns: of.below_us.value * 1000 })
}

/// Where the scale comes from.
fn scale(machine: &Machine, rules: &CpufreqRules, side: &PmSide) -> Result<ScaleSource, SimError> {
    match (invariant(machine, rules, side), machine.arch) {
        (false, _) => return Ok(ScaleSource::None),
        (true, Arch::Arm64) => return Ok(ScaleSource::Policy),
        (true, _) => {}
    }
    let policy = &machine.frequencies[0];
    let ratio = match (turbo(machine)?, side.max_freq) {
        (Some(turbo), choice) => MaxFreqRatio::of_turbo(&turbo, choice),
        (None, MaxFreq::Base) => MaxFreqRatio::new(1024),
        (None, _) => MaxFreqRatio::of_khz(policy.max_khz as Khz, base_khz(policy)),
    };
    let mut ratio = ratio.ok_or_else(|| wrong(machine, "its base frequency is 0"))?;
    ratio.arch_set_max_freq_ratio(side.no_turbo && rules.no_turbo_notified);
    Ok(ScaleSource::Counters(ratio))
}
