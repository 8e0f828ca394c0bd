//! The state that changes during a run.

use super::clocks::CoreSleep;
use super::clocks::dilation;
use super::model::PmModel;
use super::power_meter::LastPowerEvent;
use crate::numbered::PerCpu;
use std::collections::BTreeSet;
use wakelab_pm::governor::{CounterValues, Governor};
use wakelab_pm::idle::IdleGovernor;
use wakelab_pm::invariance::{Counters, FreqScale};
use wakelab_pm::policy::Policy;
use wakelab_pm::power::Account;
use wakelab_pm::{Cpu, Khz};
use wakelab_sched::pelt::SCHED_CAPACITY_SCALE;

/// A CPU.
#[derive(Debug)]
pub struct PmCpu {
    /// `arch_scale_freq_capacity()`, 1 to 1024.
    pub freq_scale: u64,
    /// The same as x86 measures it.
    pub measured: FreqScale,
    /// APERF, MPERF and TSC up to `counted`.
    pub counters: Counters,
    pub counted: u64,
    /// Their values when measuring began.
    pub start: CounterValues,
    /// The frequency of its clock, kHz.
    pub khz: Khz,
    /// It takes part in turbo and in the choice of a shared clock: from the IPI that wakes it to an idle state in which
    /// it does not.
    pub active: bool,
    /// In C0 to run something, not to poll: from the end of its idle exit to the end of its idle entry.
    pub runs: bool,
    /// The idle state that it is in, or was in last.
    pub idle_state: usize,
    /// Since when, ns.
    pub idle_since: u64,
    /// Time in idle states up to `idle_since`, ns.
    pub idle_ns: u64,
    /// How much of it a task waited for I/O here (`iowait_sleeptime`), ns.
    pub iowait_ns: u64,
    /// `tick_nohz_get_idle_calls_cpu()`.
    pub idle_calls: u64,
    /// `None` without idle states.
    pub idle_governor: Option<Box<dyn IdleGovernor>>,
    /// RCU callbacks of this CPU wait until then, ns.
    pub callbacks_until: u64,
    /// Timers that will interrupt this CPU: when, and whose.
    pub timers: BTreeSet<(u64, u32)>,
    /// Time by state.
    pub residency: Account,
    pub idle_wakeups: u64,
    pub interrupts: u64,
}

/// A policy.
#[derive(Debug)]
pub struct PolicyState {
    pub policy: Policy,
    pub governor: Box<dyn Governor>,
    /// The frequency to which it will change when the driver's latency has passed, kHz.
    pub target: Option<Khz>,
}

/// All of it.
#[derive(Debug)]
pub struct Pm {
    pub cpus: PerCpu<PmCpu>,
    pub policies: Vec<PolicyState>,
    /// Policies that have been given a target, for which no event has been set yet.
    pub requests: Vec<usize>,
    /// By core: how many of its CPUs are active.
    pub active_cpus: Vec<u32>,
    /// By core: its sleeps.
    pub sleeps: Vec<CoreSleep>,
    /// By package: how many of its cores count as active.
    pub active_cores: Vec<u32>,
    /// By core: its power; empty where it is not known.
    pub cores: Vec<Account>,
    /// By cluster and package: its power, and how many of its CPUs are not in their deepest state.
    pub shared: Vec<(Account, u32)>,
    pub transitions: u64,
    pub measured_from: u64,
    pub last_power_event: LastPowerEvent,
}

impl Pm {
    /// Idle CPUs at the frequencies that their governors start with.
    pub fn new(model: &PmModel) -> Pm {
        let policies: Vec<PolicyState> = model
            .policies
            .iter()
            .map(|of| {
                let policy = of.policy.clone();
                let governor = (model.governor().make)(&of.setup, &policy);
                PolicyState { policy, governor, target: None }
            })
            .collect();
        let cpus = (0..model.kind_of.len() as Cpu).map(|cpu| new_cpu(model, cpu)).collect();
        let known = model.cores.iter().all(|core| !core.states.is_empty());
        let deepest = |core: &super::model::CoreModel| core.states.len() - 1;
        let cores = model.cores.iter().filter(|_| known);
        let cores = cores.map(|core| Account::new(core.states.clone(), 0, deepest(core))).collect();
        let shared = model.shared.iter().map(|domain| (Account::new(domain.states.to_vec(), 0, 1), 0)).collect();
        Pm {
            cpus,
            policies,
            requests: Vec::new(),
            active_cpus: vec![0; model.cores.len()],
            sleeps: vec![CoreSleep::default(); model.cores.len()],
            active_cores: vec![0; model.nr_packages],
            cores,
            shared,
            transitions: 0,
            measured_from: 0,
            last_power_event: LastPowerEvent::default(),
        }
    }

    /// How long work takes on a CPU.
    pub fn dilation(&self, model: &PmModel, cpu: Cpu, capacity: u64) -> u64 {
        dilation(model.nominal[cpu], self.cpus[cpu].khz, capacity)
    }
}

fn new_cpu(model: &PmModel, cpu: Cpu) -> PmCpu {
    let kind = model.kind(cpu);
    let state = |name: String| wakelab_pm::power::PowerState { name, power_uw: 0 };
    let busy = kind.stats.opps_khz.iter().map(|khz| state(format!("{khz} kHz")));
    let states: Vec<_> = busy.chain(kind.stats.idle.iter().map(|name| state(name.clone()))).collect();
    let deepest = kind.deepest();
    // build.rs has seen that the kernel has the governor.
    let governor = || (model.idle_governor().make)(&model.cpuidle);
    PmCpu {
        freq_scale: SCHED_CAPACITY_SCALE,
        measured: FreqScale::default(),
        counters: Counters::new(kind.stats.base_khz),
        counted: 0,
        start: CounterValues::default(),
        khz: model.policies[model.policy_of[cpu]].policy.cur(),
        active: false,
        runs: false,
        idle_state: deepest,
        idle_since: 0,
        idle_ns: 0,
        iowait_ns: 0,
        idle_calls: 0,
        idle_governor: kind.idle.as_ref().and_then(|_| governor()),
        callbacks_until: 0,
        timers: BTreeSet::new(),
        residency: Account::new(states, 0, kind.nr_opps() + deepest),
        idle_wakeups: 0,
        interrupts: 0,
    }
}
