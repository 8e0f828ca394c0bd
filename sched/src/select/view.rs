//! What a decision may ask about the system.

use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedGroup;
use crate::energy::RqUtil;
use std::sync::Arc;

/// What SIS_PROP reads of the waking CPU (`select_idle_cpu()`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanClock {
    /// The jiffies counter.
    pub jiffies: u64,
    /// `rq->wake_stamp`, in jiffies.
    pub wake_stamp: u64,
    /// `rq->wake_avg_idle`, ns.
    pub wake_avg_idle: u64,
    /// `rq->avg_idle`, ns; what SIS_PROP read before `wake_avg_idle` existed.
    pub avg_idle: u64,
    /// `sd_llc->avg_scan_cost` of the waking CPU, ns.
    pub avg_scan_cost: u64,
}

/// Which cores are idle, for views that keep it as masks. A bit stands for the core of its CPU: all CPUs of a core have the
/// same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleCores {
    /// Some CPU of the core is idle.
    pub any: CpuMask,
    /// All are.
    pub all: CpuMask,
    /// The core's lowest CPU is.
    pub first: CpuMask,
}

impl IdleCores {
    /// Of a system of which `idle` are the idle CPUs.
    pub fn new(idle: &CpuMask, smt_mask: &[Arc<CpuMask>]) -> Self {
        let none = CpuMask::new(idle.room());
        let mut cores = IdleCores { any: none.clone(), all: none.clone(), first: none };
        for siblings in smt_mask {
            cores.update(idle, siblings);
        }
        cores
    }

    /// The idle CPUs of one core have changed.
    #[inline]
    pub fn update(&mut self, idle: &CpuMask, siblings: &CpuMask) {
        let (mut any, mut all, mut first) = (false, true, None);
        for cpu in siblings.iter() {
            let idle = idle.test(cpu);
            any |= idle;
            all &= idle;
            first.get_or_insert(idle);
        }
        for cpu in siblings.iter() {
            self.any.assign(cpu, any);
            self.all.assign(cpu, all);
            self.first.assign(cpu, first == Some(true));
        }
    }
}

/// The system as a decision sees it.
///
/// Each method answers for the present moment. In simulated time two looks at one CPU may get two answers, as on a
/// real machine; a recorded snapshot answers the same each time.
///
/// Methods marked *slow path* are read for forks and execs only, methods marked *asymmetric* where CPUs differ in
/// capacity.
pub trait View {
    /// `available_idle_cpu()`: its idle task runs, nothing is queued, no wake-up is on its way, and the hypervisor
    /// has not taken the CPU away.
    fn available_idle_cpu(&self, cpu: Cpu) -> bool;

    /// `sched_idle_cpu()`: it has tasks, and all of them are SCHED_IDLE.
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool;

    /// `rq->nr_running`: tasks of all classes.
    fn nr_running(&self, cpu: Cpu) -> u32;

    /// `cfs_h_nr_delayed()`: tasks that sleep and are still queued.
    fn h_nr_delayed(&self, cpu: Cpu) -> u32;

    /// `cpu_load()`: `rq->cfs.avg.load_avg`.
    fn cpu_load(&self, cpu: Cpu) -> u64;

    /// `cpu_runnable_load()`, `weighted_cpuload()` before 5.3: `rq->cfs.avg.runnable_load_avg`, the load of the tasks
    /// that are queued. Asked for versions up to 5.4 only ([`Code::runnable_load`](wakelab_kernel::Code::runnable_load)).
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64;

    /// `capacity_of()`: what is left for the fair class, 1..=1024.
    fn capacity_of(&self, cpu: Cpu) -> u64;

    /// `sd_llc_shared->has_idle_cores` of the LLC of `cpu`: `test_idle_cores()`. Since 7.2 that of
    /// [`SchedDomains::sd_balance_shared`](crate::domain::SchedDomains::sd_balance_shared).
    fn has_idle_cores(&self, cpu: Cpu) -> bool;

    /// `sd_llc_shared->nr_idle_scan` of the LLC of `cpu`.
    fn nr_idle_scan(&self, cpu: Cpu) -> i32;

    /// What SIS_PROP reads of the waking CPU; asked only where it is on.
    fn scan_clock(&self, cpu: Cpu) -> ScanClock;

    /// `cpu_clock()` of the waking CPU, ns; asked only where SIS_PROP is on. `looks` is how many looks the decision has
    /// made, for a view in which they take time though they are all made in one call.
    fn cpu_clock(&self, cpu: Cpu, looks: u32) -> u64;

    /// SIS_SHORT: `se.dur_avg` of the running task, ns; 0 where that is not known, or nothing runs.
    fn curr_dur_avg(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// SIS_LIMIT: `per_cpu(next_cpu, cpu)`; `None` (-1) before the first walk.
    fn next_cpu(&self, _cpu: Cpu) -> Option<Cpu> {
        None
    }

    /// SIS_ORACLE: a wake-up is on its way to this CPU that nobody can see yet.
    fn claimed(&self, _cpu: Cpu) -> bool {
        false
    }

    /// Slow path: `rq->cfs.avg.runnable_avg`.
    fn cpu_runnable(&self, cpu: Cpu) -> u64;

    /// Slow path: `rq->cfs.avg.util_avg`.
    fn cpu_util_avg(&self, cpu: Cpu) -> u64;

    /// Slow path: `rq->cfs.avg.util_est` (6.1: `util_est.enqueued`); `None` with UTIL_EST off.
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64>;

    /// Slow path and asymmetric: `arch_scale_cpu_capacity()`, 1..=1024.
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64;

    /// Slow path: `rq->curr == rq->idle`.
    fn curr_is_idle(&self, cpu: Cpu) -> bool;

    /// Slow path: `rq->ttwu_pending`.
    fn ttwu_pending(&self, cpu: Cpu) -> bool;

    /// Slow path: `rq->idle_stamp`, ns of the run queue's clock; 0 while it is not idle.
    fn idle_stamp(&self, cpu: Cpu) -> u64;

    /// Slow path: the exit latency of the idle state that the CPU is in, us; `None` without a cpuidle driver.
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32>;

    /// Slow path: `group->sgc->capacity` of a group of a domain at `level` (0 is the lowest).
    fn group_capacity(&self, level: usize, group: &SchedGroup) -> u64;

    /// Slow path: `sg_imbalanced()`: affinities kept balancing from moving tasks out of the group.
    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool;

    /// Slow path, asymmetric: `group->sgc->max_capacity`: the capacity of the group's largest CPU when it was last
    /// updated.
    fn group_max_capacity(&self, _level: usize, group: &SchedGroup) -> u64 {
        group.span.iter().map(|cpu| self.capacity_of(cpu)).max().unwrap_or(0)
    }

    /// Asymmetric: capacity that the CPU lacks at the moment, because its frequency is limited:
    /// `arch_scale_thermal_pressure()`, since 6.10 `cpufreq_get_pressure()`.
    fn thermal_pressure(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// Asymmetric: the average of what it lacks: `thermal_load_avg()`, since 6.10 `hw_load_avg()`.
    fn thermal_load_avg(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// Asymmetric, 5.10 as maintained: `cpu_in_capacity_inversion()`, the capacity of a CPU that pressure has brought
    /// below one of a smaller kind; 0 where it has not, and always without an energy model.
    fn capacity_inverted(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// With an energy model: what is known of the run queue besides its fair tasks. (Of the fair ones,
    /// [`View::cpu_util_avg`], [`View::cpu_util_est`] and, where it is boosted, [`View::cpu_runnable`] are read, too.)
    fn rq_util(&self, _cpu: Cpu) -> RqUtil {
        RqUtil::default()
    }

    /// With an energy model: `rd->overutilized`: some CPU has too much to do for placement by energy
    /// (`cpu_overutilized()`).
    fn overutilized(&self) -> bool {
        false
    }

    /// Asymmetric, SMT: `idle_cpu()`, which does not ask whether the hypervisor has taken the CPU away.
    fn idle_cpu(&self, cpu: Cpu) -> bool {
        self.available_idle_cpu(cpu)
    }

    /// Asymmetric, 7.2: `sd_asym_cpucapacity->shared->nr_idle_scan` of this CPU. Where the domain is the LLC's it is
    /// that of the LLC.
    fn asym_nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.nr_idle_scan(cpu)
    }

    /// All CPUs for which [`View::available_idle_cpu`] is true, where the view keeps them as a mask; decisions that
    /// are made at once then use words of it instead of single looks.
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        None
    }

    /// All CPUs for which [`View::sched_idle_cpu`] is true; asked only where [`View::idle_mask`] gives one.
    /// `None` says that there are none.
    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        None
    }

    /// The same by cores; asked only where [`View::idle_mask`] gives the CPUs and [`View::sched_idle_mask`] none.
    #[inline]
    fn idle_cores(&self) -> Option<&IdleCores> {
        None
    }
}
