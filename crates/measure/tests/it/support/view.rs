//! A [`View`](wakelab_sched::select::View) whose values a test sets.

use std::collections::BTreeSet;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{CpuTopology, DomainOptions, LOCAL_DISTANCE, Topology, build_sched_domains};
use wakelab_sched::domain::{SchedDomains, SchedGroup};
use wakelab_sched::select::{
    AsymView, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, RqView, UtilView,
    WakeFlags, Wakee, Waker, Wakeup,
};

/// The values that a wake-up's fast path and search read.
#[derive(Clone, Debug, Default)]
pub struct StubView {
    pub idle: BTreeSet<u32>,
    pub claimed: BTreeSet<u32>,
    pub has_idle_cores: bool,
    pub nr_idle_scan: i32,
}

impl IdleView for StubView {
    fn available_idle_cpu(&self, cpu: u32) -> bool {
        self.idle.contains(&cpu)
    }
    fn sched_idle_cpu(&self, _: u32) -> bool {
        false
    }
}

impl RqView for StubView {
    fn nr_running(&self, cpu: u32) -> u32 {
        u32::from(!self.idle.contains(&cpu))
    }
    fn cpu_load(&self, _: u32) -> u64 {
        0
    }
    fn cpu_runnable_load(&self, _: u32) -> u64 {
        0
    }
    fn capacity_of(&self, _: u32) -> u64 {
        1024
    }
}

impl LlcView for StubView {
    fn has_idle_cores(&self, _: u32) -> bool {
        self.has_idle_cores
    }
    fn nr_idle_scan(&self, _: u32) -> i32 {
        self.nr_idle_scan
    }
}

impl AsymView for StubView {}

impl PolicyView for StubView {
    fn claimed(&self, cpu: u32) -> bool {
        self.claimed.contains(&cpu)
    }
}

impl MaskView for StubView {}

impl UtilView for StubView {
    fn cpu_runnable(&self, _: u32) -> u64 {
        unreachable!("only find_idlest_cpu() reads this")
    }
    fn cpu_util_avg(&self, _: u32) -> u64 {
        unreachable!("only find_idlest_cpu() reads this")
    }
    fn cpu_util_est(&self, _: u32) -> Option<u64> {
        unreachable!("only find_idlest_cpu() reads this")
    }
}

impl GroupView for StubView {
    fn group_capacity(&self, _: usize, _: &SchedGroup) -> u64 {
        unreachable!("only find_idlest_cpu() reads this")
    }
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        unreachable!("only find_idlest_cpu() reads this")
    }
}

impl IdleStateView for StubView {
    fn curr_is_idle(&self, cpu: u32) -> bool {
        self.idle.contains(&cpu)
    }
    fn idle_stamp(&self, _: u32) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: u32) -> Option<u32> {
        None
    }
}

impl EnergyView for StubView {}

/// One LLC of eight CPUs, with `threads` CPUs per core.
pub fn eight_cpus(threads: u32) -> SchedDomains {
    let cpu =
        |cpu| CpuTopology { core: cpu / threads, cluster: None, llc: 0, die: 0, package: 0, node: 0, capacity: 1024 };
    let topology = Topology { cpus: (0..8).map(cpu).collect(), node_distance: vec![vec![LOCAL_DISTANCE]] };
    build_sched_domains(&topology, &DomainOptions::of(Preset::get("v5.19-rc1").unwrap())).expect("a machine")
}

/// A wake-up on CPU 0, of a task that ran there last.
pub fn on_cpu_0(cpus_ptr: &CpuMask) -> Wakeup<'_> {
    Wakeup { waker: Waker::new(0), wakee: Wakee::new(0, cpus_ptr), flags: WakeFlags::TTWU }
}
