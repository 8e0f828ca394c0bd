//! A machine of unequal CPUs with an energy model, written down.

use wakelab_kernel::{FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, DomainOptions, SchedDomains, SchedGroup, Topology, build_sched_domains};
use wakelab_sched::energy::{EasConditions, EmPerfDomain, PerfDomains, RqUtil, build_perf_domains};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, RqView,
    Rules, Select, UtilView, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair,
};

/// One CPU.
#[derive(Clone, Copy, Debug)]
pub struct EnergyCpu {
    pub util_avg: u64,
    pub runnable_avg: u64,
    pub util_est: u64,
    pub capacity: u64,
    pub capacity_orig: u64,
    pub pressure: u64,
    pub load_avg: u64,
    pub rq: RqUtil,
}

/// All.
#[derive(Clone, Debug)]
pub struct EnergySystem {
    pub version: &'static str,
    pub features: FeatureSet,
    pub domains: SchedDomains,
    pub pds: PerfDomains,
    pub cpus: Vec<EnergyCpu>,
    pub overutilized: bool,
}

/// What has to hold besides the machine's shape and its energy model.
const ALL_MET: EasConditions = EasConditions { energy_aware: true, freq_invariant: true, schedutil: true };

impl EnergySystem {
    /// CPUs of these capacities below one cache, all idle.
    pub fn new(version: &'static str, capacities: &[u32], models: Vec<EmPerfDomain>) -> Self {
        let preset = Preset::get(version).expect("a preset");
        let options = DomainOptions::of(preset).on(Arch::Arm64);
        let domains = build_sched_domains(&Topology::one_llc(capacities), &options).expect("a machine");
        let pds = build_perf_domains(&preset.code, &domains, ALL_MET, models).expect("energy-aware");
        let cpu = |&capacity: &u32| EnergyCpu {
            util_avg: 0,
            runnable_avg: 0,
            util_est: 0,
            capacity: u64::from(capacity),
            capacity_orig: u64::from(capacity),
            pressure: 0,
            load_avg: 0,
            rq: RqUtil::default(),
        };
        let cpus = capacities.iter().map(cpu).collect();
        EnergySystem { version, features: preset.features, domains, pds, cpus, overutilized: false }
    }

    fn at(&self, cpu: Cpu) -> &EnergyCpu {
        &self.cpus[cpu as usize]
    }

    /// The performance domain of a CPU.
    pub fn pd_of(&self, cpu: Cpu) -> &EmPerfDomain {
        self.pds.iter().find(|pd| pd.cpus.test(cpu)).expect("every CPU has a performance domain")
    }
}

/// A task that is woken.
pub fn wakee(prev_cpu: Cpu, util_avg: u64, cpus_ptr: &CpuMask) -> Wakee<'_> {
    Wakee { util_avg, runnable_avg: util_avg, ..Wakee::new(prev_cpu, cpus_ptr) }
}

/// Its wake-up.
pub fn wakeup(this_cpu: Cpu, wakee: Wakee<'_>) -> Wakeup<'_> {
    Wakeup { waker: Waker::new(this_cpu), wakee, flags: WakeFlags::TTWU }
}

/// Where such a wake-up is put.
pub fn place_wakeup(system: &EnergySystem, wakeup: &Wakeup<'_>) -> Decision {
    let preset = Preset::get(system.version).expect("a preset");
    let rules = Rules::new(preset, system.features, &system.domains).expect("a kernel").with_energy(&system.pds);
    let cx = Cx { rules: &rules, wakeup, view: system };
    select_task_rq_fair(&mut Select::default(), cx, &mut ())
}

/// Where a task of that utilisation is put.
pub fn place(system: &EnergySystem, this_cpu: Cpu, prev_cpu: Cpu, util: u64, cpus_ptr: &CpuMask) -> Decision {
    place_wakeup(system, &wakeup(this_cpu, wakee(prev_cpu, util, cpus_ptr)))
}

impl IdleView for EnergySystem {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.at(cpu).util_avg == 0
    }
    fn sched_idle_cpu(&self, _: Cpu) -> bool {
        false
    }
}

impl RqView for EnergySystem {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        u32::from(self.at(cpu).util_avg != 0)
    }
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.at(cpu).util_avg
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.at(cpu).capacity
    }
}

impl LlcView for EnergySystem {
    fn has_idle_cores(&self, _: Cpu) -> bool {
        false
    }
    fn nr_idle_scan(&self, _: Cpu) -> i32 {
        100
    }
}

impl AsymView for EnergySystem {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        self.at(cpu).capacity_orig
    }
    fn thermal_pressure(&self, cpu: Cpu) -> u64 {
        self.at(cpu).pressure
    }
    fn thermal_load_avg(&self, cpu: Cpu) -> u64 {
        self.at(cpu).load_avg
    }
}

impl PolicyView for EnergySystem {}

impl MaskView for EnergySystem {}

impl UtilView for EnergySystem {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.at(cpu).runnable_avg
    }
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.at(cpu).util_avg
    }
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        Some(self.at(cpu).util_est)
    }
}

impl GroupView for EnergySystem {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.capacity
    }
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        false
    }
}

impl IdleStateView for EnergySystem {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.available_idle_cpu(cpu)
    }
    fn idle_stamp(&self, _: Cpu) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: Cpu) -> Option<u32> {
        None
    }
}

impl EnergyView for EnergySystem {
    fn rq_util(&self, cpu: Cpu) -> RqUtil {
        self.at(cpu).rq
    }
    fn overutilized(&self) -> bool {
        self.overutilized
    }
}
