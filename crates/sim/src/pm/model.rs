//! The constant data of a run: policies, clocks, states and powers, as the machine's description gives them.

use super::PmSide;
use crate::SimError;
use crate::numbered::PerCpu;
use wakelab_kernel::CpuidleRules;
use wakelab_machine::{Clock, FreqPolicy, Machine, Scope};
use wakelab_pm::Khz;
use wakelab_pm::governor::{About, Setup as GovernorSetup};
use wakelab_pm::idle::{IdleAbout, IdleState, IdleStates};
use wakelab_pm::invariance::MaxFreqRatio;
use wakelab_pm::policy::Policy;
use wakelab_pm::power::{Kind, PowerState};
use wakelab_pm::turbo::Turbo;
use wakelab_sched::cpumask::Cpu;

/// A policy at boot.
#[derive(Debug)]
pub struct PolicyModel {
    /// With the side's limits.
    pub policy: Policy,
    /// The settings with which its governor starts.
    pub setup: GovernorSetup,
    /// How long a change takes, ns.
    pub latency_ns: u64,
}

/// CPUs that have one clock in hardware.
#[derive(Debug)]
pub struct ClockModel {
    pub cpus: Vec<Cpu>,
    pub package: usize,
}

/// Where the scale of a CPU's frequency comes from.
#[derive(Clone, Copy, Debug)]
pub enum ScaleSource {
    /// Utilisation is not invariant.
    None,
    /// APERF and MPERF at the tick.
    Counters(MaxFreqRatio),
    /// The policy's frequency, when it changes.
    Policy,
}

/// CPUs of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindModel {
    /// Its description in results.
    pub stats: Kind,
    /// `None` without idle states: then there is one that takes no time to leave.
    pub idle: Option<IdleStates>,
    /// By idle state: a core in it is active to turbo.
    pub active: Vec<bool>,
}

impl KindModel {
    /// The state of a CPU that is busy at that frequency.
    pub fn busy(&self, khz: Khz) -> usize {
        let opps = &self.stats.opps_khz;
        opps.partition_point(|&opp| opp < khz).min(opps.len() - 1)
    }

    pub fn nr_opps(&self) -> usize {
        self.stats.opps_khz.len()
    }

    pub fn deepest(&self) -> usize {
        self.stats.idle.len() - 1
    }
}

/// Demotion of cores that are woken often.
#[derive(Debug)]
pub struct DemotionModel {
    /// By kind: the index of the idle state in which they stay.
    pub to: Vec<usize>,
    /// Turbo counts a core in it as active.
    pub active: bool,
    /// A sleep is short if it is shorter than this, ns.
    pub below_ns: u64,
}

/// A core.
#[derive(Debug)]
pub struct CoreModel {
    pub cpus: Vec<Cpu>,
    /// Busy with one CPU at each operating point, with two, ..., then idle by the shallowest state of its CPUs. Empty
    /// where nothing is known.
    pub states: Vec<PowerState>,
}

/// A cluster or a package, beside its cores.
#[derive(Debug)]
pub struct SharedModel {
    pub name: String,
    pub cpus: Vec<Cpu>,
    /// Awake, and asleep.
    pub states: [PowerState; 2],
}

/// All of it.
#[derive(Debug)]
pub struct PmModel {
    pub side: PmSide,
    pub policies: Vec<PolicyModel>,
    pub clocks: Vec<ClockModel>,
    pub cores: Vec<CoreModel>,
    pub shared: Vec<SharedModel>,
    pub kinds: Vec<KindModel>,
    pub nr_packages: usize,
    pub turbo: Option<Turbo>,
    /// The processor's treatment of requests for deep idle states.
    pub demotion: Option<DemotionModel>,
    pub scale: ScaleSource,
    /// The form of the idle governors.
    pub cpuidle: CpuidleRules,
    /// A waker's write wakes an idle CPU, without an interrupt (`TIF_POLLING_NRFLAG` while it is in MWAIT).
    pub wakes_by_write: bool,
    /// schedutil goes by the larger of the utilisation and `runnable_avg`.
    pub runnable_boost: bool,
    pub policy_of: PerCpu<usize>,
    pub clock_of: PerCpu<usize>,
    pub core_of: PerCpu<usize>,
    pub package_of: PerCpu<usize>,
    pub kind_of: PerCpu<usize>,
    pub shared_of: PerCpu<Vec<usize>>,
    /// The highest frequency of its policy, kHz.
    pub nominal: PerCpu<Khz>,
    /// The highest without turbo, kHz.
    pub base: PerCpu<Khz>,
    /// The highest frequency that the hardware gives and reports to the kernel, kHz.
    pub hw_cap: PerCpu<Khz>,
}

impl PmModel {
    pub fn kind(&self, cpu: Cpu) -> &KindModel {
        &self.kinds[self.kind_of[cpu]]
    }

    /// `arch_scale_freq_invariant()`.
    pub fn is_invariant(&self) -> bool {
        !matches!(self.scale, ScaleSource::None)
    }

    pub fn governor(&self) -> &'static About {
        self.side.governor
    }

    pub fn idle_governor(&self) -> &'static IdleAbout {
        self.side.idle_governor
    }
}

pub fn wrong(machine: &Machine, what: impl std::fmt::Display) -> SimError {
    SimError::Machine(format!("{}: {what}", machine.name))
}

/// The number of a CPU's policy.
pub fn policy_of(machine: &Machine, cpu: Cpu) -> Result<usize, SimError> {
    machine.frequencies.iter().position(|policy| policy.cpus.test(cpu)).ok_or_else(|| {
        let what = match machine.frequencies.is_empty() {
            true => "it has no frequencies, but a governor was requested".to_owned(),
            false => format!("no [[frequency]] has CPU {}, but a governor was requested", machine.kernel_cpu(cpu)),
        };
        wrong(machine, format!("{what}; expected [[frequency]] for every CPU (i7-2600k has them)"))
    })
}

/// Every frequency at which a CPU of the policy may run, kHz, lowest first: those that can be requested, and those of
/// turbo.
fn opps(machine: &Machine, policy: &FreqPolicy) -> Vec<u32> {
    let bins = machine.turbo.iter().flat_map(|turbo| turbo.bins.iter().map(|bin| bin.khz));
    let mut khz: Vec<u64> = policy.targets_khz();
    khz.extend(bins.chain(policy.base_khz).filter(|khz| (policy.min_khz..=policy.max_khz).contains(khz)));
    khz.sort_unstable();
    khz.dedup();
    khz.into_iter().map(|khz| khz as u32).collect()
}

pub fn base_khz(policy: &FreqPolicy) -> u32 {
    policy.base_khz.unwrap_or(policy.max_khz) as u32
}

/// The kind of a CPU: its operating points and idle states.
pub fn kind(machine: &Machine, cpu: Cpu) -> Result<KindModel, SimError> {
    let policy = &machine.frequencies[policy_of(machine, cpu)?];
    let opps_khz = opps(machine, policy);
    if opps_khz.is_empty() {
        let what = format!("the frequencies of CPU {} are unknown; expected steps_khz, opps or grain_khz", cpu);
        return Err(wrong(machine, what));
    }
    let own = machine.idle_states.iter().filter(|state| state.cpus.test(cpu));
    let states: Vec<IdleState> = own
        .map(|state| IdleState {
            name: state.name.clone(),
            exit_latency_ns: state.exit_latency_ns,
            target_residency_ns: state.residency_ns,
            power_uw: state.power_uw.map_or(0, |power| power.value),
            polling: state.name == "POLL",
            disabled: state.disabled,
        })
        .collect();
    let idle = match states.is_empty() {
        true => None,
        false => Some(IdleStates::new(states).map_err(|error| wrong(machine, error))?),
    };
    let names = idle.as_ref().map(|idle| idle.iter().map(|state| state.name.clone()).collect());
    let stats = Kind { base_khz: base_khz(policy), opps_khz, idle: names.unwrap_or_else(|| vec!["idle".to_owned()]) };
    let named = |name: &String| machine.turbo.as_ref().is_some_and(|turbo| turbo.active_states.contains(name));
    let polling = |n: usize| idle.as_ref().is_some_and(|idle| idle[n].polling);
    let active = stats.idle.iter().enumerate().map(|(n, name)| polling(n) || named(name)).collect();
    Ok(KindModel { stats, idle, active })
}

/// A core with the power of each of its states.
pub fn core(machine: &Machine, cpus: Vec<Cpu>, kind: &KindModel) -> Result<CoreModel, SimError> {
    let Some(power) = machine.power.of_core(cpus[0]) else { return Ok(CoreModel { cpus, states: Vec::new() }) };
    let policy = &machine.frequencies[policy_of(machine, cpus[0])?];
    let mut states = Vec::new();
    for busy in 1..=cpus.len() as u64 {
        let pct = 100 + (busy - 1) * (power.smt_pct.value - 100);
        for &khz in &kind.stats.opps_khz {
            let dynamic = power.busy_uw(khz.into(), policy.uv(khz.into()));
            let power_uw = dynamic * pct / 100 + power.leakage_uw.value;
            states.push(PowerState { name: format!("{busy} busy at {khz} kHz"), power_uw });
        }
    }
    match &kind.idle {
        Some(idle) => states.extend(idle.iter().map(|s| PowerState { name: s.name.clone(), power_uw: s.power_uw })),
        None => states.push(PowerState { name: "idle".to_owned(), power_uw: 0 }),
    }
    Ok(CoreModel { cpus, states })
}

/// Groups CPUs by a number that each has, in the order of the numbers.
pub fn groups(cpus: impl Iterator<Item = Cpu>, number: impl Fn(Cpu) -> u32) -> Vec<(u32, Vec<Cpu>)> {
    let mut groups = std::collections::BTreeMap::<u32, Vec<Cpu>>::new();
    cpus.for_each(|cpu| groups.entry(number(cpu)).or_default().push(cpu));
    groups.into_iter().collect()
}

/// Clusters and packages with the power that they take besides their cores.
pub fn shared(machine: &Machine) -> Vec<SharedModel> {
    let topology = &machine.topology.cpus;
    let mut all = Vec::new();
    for power in &machine.power.shared {
        let number = |cpu: Cpu| match power.scope {
            Scope::Cluster => topology[cpu as usize].cluster.unwrap_or(topology[cpu as usize].core),
            Scope::Package => topology[cpu as usize].package,
        };
        let kind = if power.scope == Scope::Cluster { "cluster" } else { "package" };
        for (n, cpus) in groups(power.cpus.iter(), number) {
            let state = |name: &str, power_uw| PowerState { name: name.to_owned(), power_uw };
            let states = [state("awake", power.awake_uw.value), state("asleep", power.asleep_uw.value)];
            all.push(SharedModel { name: format!("{kind} {n}"), cpus, states });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The clocks, with the CPUs that share each.
pub fn clocks(machine: &Machine) -> Result<Vec<ClockModel>, SimError> {
    let topology = &machine.topology.cpus;
    // By the kind of clock, so that the numbers of cores and of packages are not mixed up.
    let mut keys = Vec::new();
    for cpu in 0..topology.len() as Cpu {
        let policy = policy_of(machine, cpu)?;
        let place = &topology[cpu as usize];
        keys.push(match machine.frequencies[policy].clock {
            Clock::Policy => (0, policy as u32),
            Clock::Core => (1, place.core),
            Clock::Package => (2, place.package),
        });
    }
    let mut clocks = std::collections::BTreeMap::<(u8, u32), ClockModel>::new();
    for (cpu, key) in (0..).zip(keys) {
        let package = topology[cpu as usize].package as usize;
        clocks.entry(key).or_insert_with(|| ClockModel { cpus: Vec::new(), package }).cpus.push(cpu);
    }
    Ok(clocks.into_values().collect())
}
