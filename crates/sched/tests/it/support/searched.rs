//! A system whose state is written down CPU by CPU, for searches worked out by hand.

use std::cell::Cell;
use wakelab_kernel::{FeatureSet, Preset, Switches};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, DomainOptions, SchedDomains, SchedGroup, Topology, build_sched_domains};
use wakelab_sched::select::policy::{Hook, HookView, PolicyStates};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleCores, IdleStateView, IdleView, LlcView, MaskView, PolicyView,
    Reason, RqView, Rules, ScanClock, Select, UtilView, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair,
};

/// All CPUs are busy with one task each at first, no core is said to be idle, and the limits are the LLCs' sizes.
pub struct Searched {
    pub kernel: &'static Preset,
    pub features: FeatureSet,
    pub domains: SchedDomains,
    pub idle: CpuMask,
    pub sched_idle: CpuMask,
    pub nr_running: Vec<u32>,
    /// By CPU: `se.dur_avg` of the running task, ns.
    pub dur_avg: Vec<u64>,
    pub ttwu_pending: CpuMask,
    /// By the lowest CPU of the LLC.
    pub has_idle_cores: CpuMask,
    /// By the lowest CPU of the LLC.
    pub nr_idle_scan: Vec<i32>,
    pub policies: PolicyStates,
    /// `sched_clock_cpu()`, ns.
    pub now: u64,
    /// `rq->avg_idle` of the waking CPU, ns.
    pub avg_idle: u64,
    /// Whether the view gives masks.
    masks: Cell<bool>,
    idle_cores: IdleCores,
    /// The CPUs whose `has_idle_cores` the last decision cleared.
    pub cleared: Vec<Cpu>,
}

impl Searched {
    pub fn new(kernel: &str, switches: &str, topology: &Topology, arch: Arch) -> Self {
        let kernel = Preset::get(kernel).unwrap();
        let features = kernel.switched(&switches.parse::<Switches>().unwrap()).unwrap();
        let options = DomainOptions::of(kernel).on(arch).with_features(features);
        let domains = build_sched_domains(topology, &options).unwrap();
        let nr = domains.nr_cpus;
        let none = CpuMask::new(nr);
        Searched {
            kernel,
            features,
            idle: none.clone(),
            sched_idle: none.clone(),
            nr_running: vec![1; nr as usize],
            dur_avg: vec![0; nr as usize],
            ttwu_pending: none.clone(),
            has_idle_cores: none.clone(),
            nr_idle_scan: domains.sd_llc_size.iter().map(|&size| size as i32).collect(),
            policies: PolicyStates::new(&Rules::new(kernel, features, &domains).unwrap()),
            now: 1_000_000_000,
            avg_idle: 6_000_000,
            masks: Cell::new(false),
            idle_cores: IdleCores::new(&none, &domains.smt_mask),
            cleared: Vec::new(),
            domains,
        }
    }

    pub fn rules(&self) -> Rules<'_> {
        Rules::new(self.kernel, self.features, &self.domains).unwrap()
    }

    /// These CPUs are idle, and no other.
    pub fn idle(&mut self, cpus: &[Cpu]) -> &mut Self {
        self.idle = CpuMask::from_cpus(self.domains.nr_cpus, cpus.iter().copied());
        self.idle_cores = IdleCores::new(&self.idle, &self.domains.smt_mask);
        for cpu in 0..self.domains.nr_cpus {
            self.nr_running[cpu as usize] = u32::from(!self.idle.test(cpu));
        }
        self
    }

    /// Calls a hook on a CPU, and keeps what it changes.
    pub fn hook(&mut self, hook: Hook, cpu: Cpu) {
        let change = self.policies.hook(hook, cpu, &self.rules(), self);
        change.into_iter().for_each(|change| self.policies.apply(change));
    }

    /// The decision of a wake-up, which is the same however it is made: with masks, without, and step by step.
    pub fn place(&mut self, wakeup: &Wakeup<'_>) -> Decision {
        let mut select = Select::default();
        self.masks.set(true);
        let decision = self.decide(wakeup, &mut select);
        let cleared = select.cleared_idle_cores().to_vec();
        self.masks.set(false);
        assert_eq!(self.decide(wakeup, &mut select), decision);
        assert_eq!(select.cleared_idle_cores(), cleared);
        let rules = self.rules();
        let mut stepped = select.start(&rules, wakeup, &mut ());
        while stepped.is_none() {
            assert!(select.next_probe(wakeup).is_some());
            stepped = select.probe(Cx { rules: &rules, wakeup, view: self }, &mut ());
        }
        assert_eq!(stepped, Some(decision));
        self.cleared = decision.effects.clear_idle_cores.into_iter().chain(cleared).collect();
        decision
    }

    fn decide(&self, wakeup: &Wakeup<'_>, select: &mut Select) -> Decision {
        select_task_rq_fair(select, Cx { rules: &self.rules(), wakeup, view: self }, &mut ())
    }

    /// Where a task that may use every CPU and slept on `prev` is placed, if a task on `cpu` wakes it.
    pub fn wakes(&mut self, cpu: Cpu, prev: Cpu) -> (Reason, Cpu) {
        let all = CpuMask::full(self.domains.nr_cpus);
        let wakeup = Wakeup { waker: Waker::new(cpu), wakee: Wakee::new(prev, &all), flags: WakeFlags::TTWU };
        let decision = self.place(&wakeup);
        (decision.reason, decision.cpu)
    }

    /// Keeps what the policies keep of a search that has ended.
    pub fn decided(&mut self, decision: &Decision) {
        let change = self.policies.decided(decision, &self.rules());
        change.into_iter().for_each(|change| self.policies.apply(change));
    }
}

impl IdleView for Searched {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.sched_idle.test(cpu)
    }
}

impl RqView for Searched {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.nr_running[cpu as usize]
    }
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        1024 * u64::from(self.nr_running(cpu))
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, _: Cpu) -> u64 {
        1024
    }
    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.ttwu_pending.test(cpu)
    }
}

impl LlcView for Searched {
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.has_idle_cores.test(self.domains.sd_llc_id[cpu as usize])
    }
    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.nr_idle_scan[self.domains.sd_llc_id[cpu as usize] as usize]
    }
}

impl PolicyView for Searched {
    fn policies(&self) -> Option<&PolicyStates> {
        Some(&self.policies)
    }
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        ScanClock { jiffies: 5, wake_stamp: 5, wake_avg_idle: 3000, avg_idle: self.avg_idle, avg_scan_cost: 500 }
    }
    fn cpu_clock(&self, _: Cpu, probes: u32) -> u64 {
        self.now + 50 * u64::from(probes)
    }
    fn curr_dur_avg(&self, cpu: Cpu) -> u64 {
        self.dur_avg[cpu as usize]
    }
}

impl MaskView for Searched {
    fn idle_mask(&self) -> Option<&CpuMask> {
        self.masks.get().then_some(&self.idle)
    }
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        (!self.sched_idle.is_empty()).then_some(&self.sched_idle)
    }
    fn idle_cores(&self) -> Option<&IdleCores> {
        (self.masks.get() && self.sched_idle.is_empty()).then_some(&self.idle_cores)
    }
}

impl HookView for Searched {
    fn idle_h_nr_running(&self, cpu: Cpu) -> u32 {
        if self.sched_idle.test(cpu) { self.nr_running(cpu) } else { 0 }
    }
    fn sched_clock_cpu(&self, _: Cpu) -> u64 {
        self.now
    }
}

impl UtilView for Searched {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        if self.idle.test(cpu) { 0 } else { 512 }
    }
    fn cpu_util_est(&self, _: Cpu) -> Option<u64> {
        None
    }
}

impl GroupView for Searched {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.capacity
    }
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        false
    }
}

impl IdleStateView for Searched {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn idle_stamp(&self, _: Cpu) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: Cpu) -> Option<u32> {
        None
    }
}

impl AsymView for Searched {}
impl EnergyView for Searched {}
