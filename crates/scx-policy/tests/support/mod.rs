//! What the tests share: how many cases there are, and a system for the model to read.
#![allow(dead_code)]

use proptest::test_runner::{Config, FileFailurePersistence};
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{DomainOptions, SchedDomains, Uniform, build_sched_domains};
use wakelab_sched::select::{
    AsymView, IdleView, LlcView, MaskView, PolicyView, RqView, ScanClock, WakeFlags, Wakee, Waker, Wakeup,
};

/// 100,000 cases of each property, or as many as `PROPTEST_CASES` says: `./test many-cases` has a million.
pub fn many() -> Config {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    let from_env = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config { cases: from_env.unwrap_or(100_000), failure_persistence: Some(Box::new(beside)), ..Config::default() }
}

/// The kernel whose forms the scheduler has: those of 7.2, and of 6.1 for SIS_PROP, which 7.2 has no more.
pub fn preset(name: &str) -> &'static Preset {
    Preset::get(name).expect("a kernel of the model")
}

/// The preset's features with these switched.
pub fn features(preset: &Preset, switches: &str) -> FeatureSet {
    preset.switched(&switches.parse().expect("switches")).expect("they fit the kernel")
}

/// Two LLCs of so many cores with so many threads.
pub fn two_llcs(cores: u32, threads: u32) -> SchedDomains {
    let uniform = Uniform { llcs: 2, ..Uniform::new(cores, threads) };
    build_sched_domains(&uniform.topology(), &DomainOptions::of(Preset::get("v7.2").unwrap())).expect("a machine")
}

/// A system of which the first two CPUs matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct System {
    pub idle: [bool; 2],
    pub nr_running: u32,
    pub load: [u64; 2],
    pub capacity: [u64; 2],
    pub cpus: [Cpu; 2],
    pub clock: ScanClock,
    pub time: [u64; 2],
}

impl System {
    fn at<T: Copy>(&self, of: [T; 2], cpu: Cpu) -> T {
        of[usize::from(cpu != self.cpus[0])]
    }
}

impl IdleView for System {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.at(self.idle, cpu)
    }
    fn sched_idle_cpu(&self, _: Cpu) -> bool {
        false
    }
}

impl RqView for System {
    fn nr_running(&self, _: Cpu) -> u32 {
        self.nr_running
    }
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.at(self.load, cpu)
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.at(self.capacity, cpu)
    }
}

impl LlcView for System {
    fn has_idle_cores(&self, _: Cpu) -> bool {
        false
    }
    fn nr_idle_scan(&self, _: Cpu) -> i32 {
        0
    }
}

impl AsymView for System {}

impl PolicyView for System {
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        self.clock
    }
    fn cpu_clock(&self, _: Cpu, probes: u32) -> u64 {
        self.time[usize::from(probes > 0)]
    }
}

impl MaskView for System {}

/// A wake-up from one CPU of a task that ran on another.
pub fn wakeup(this: Cpu, prev: Cpu, sync: bool, loads: [u64; 2], allowed: &CpuMask) -> Wakeup<'_> {
    Wakeup {
        waker: Waker { h_load: loads[0], ..Waker::new(this) },
        wakee: Wakee { h_load: loads[1], ..Wakee::new(prev, allowed) },
        flags: WakeFlags::TTWU | if sync { WakeFlags::SYNC } else { WakeFlags::empty() },
    }
}
