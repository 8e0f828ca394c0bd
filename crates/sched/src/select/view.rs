//! The views of the system that a decision reads, as traits by their reader.
//!
//! ```text
//! trait           read by                                                   has to be implemented
//! ─────────────   ───────────────────────────────────────────────────────   ─────────────────────────────────────
//! IdleView        every probe                                               whether a CPU is idle
//! RqView          wake_affine(), the per-CPU kthread rule, load balance     loads and counts of a run queue
//! LlcView         select_idle_sibling(), SIS_UTIL                           has_idle_cores, nr_idle_scan
//! AsymView        util_fits_cpu(), if CPUs differ in capacity               nothing (all CPUs are alike)
//! PolicyView      search policies                                           nothing (no policy keeps state)
//! MaskView        the short cuts of scan_by_mask.rs                         nothing (no masks)
//!   SearchView    = all of the above: select_idle_sibling(), select_idle_cpu()
//! UtilView        slow path, energy-aware placement, load balance           utilisation of a run queue
//! GroupView       slow path, load balance                                   capacity and imbalance of a group
//! IdleStateView   slow path                                                 since when and how deep a CPU is idle
//! EnergyView      find_energy_efficient_cpu(), load balance                 nothing (no energy model)
//!   View          = all of the above: select_task_rq_fair()
//! ```
//!
//! [`SearchView`] and [`View`] have no methods of their own: a type that implements their parts implements them. Each
//! method answers for the present moment. In simulated time two probes of one CPU may get two answers, as on a real
//! machine; a recorded snapshot gives the same answer each time.

use super::policy::PolicyStates;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedGroup;
use crate::energy::RqUtil;
use crate::group_sums::DomainSums;
use crate::util_est_faster::FasterSite;
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether CPUs are idle: what each probe of the search reads.
pub trait IdleView {
    /// `available_idle_cpu()`: the CPU's idle task runs, nothing is queued, no wake-up is on its way, and the
    /// hypervisor has not taken the CPU away.
    fn available_idle_cpu(&self, cpu: Cpu) -> bool;

    /// `sched_idle_cpu()`: the CPU has tasks, and all of them are SCHED_IDLE.
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool;

    /// `idle_cpu()`, which does not check whether the hypervisor has taken the CPU away. Load balance reads it, and
    /// `select_idle_capacity()` of 7.2 on machines with SMT.
    fn idle_cpu(&self, cpu: Cpu) -> bool {
        self.available_idle_cpu(cpu)
    }
}

/// Counts and loads of run queues: what `wake_affine()` reads. The defaults are those of a system in which no dequeue
/// is delayed and no wake-up is on its way.
pub trait RqView {
    /// `rq->nr_running`: tasks of all classes.
    fn nr_running(&self, cpu: Cpu) -> u32;

    /// `cfs_h_nr_delayed()`: tasks that sleep and are still queued. There are none before 6.12.
    fn h_nr_delayed(&self, _cpu: Cpu) -> u32 {
        0
    }

    /// `rq->ttwu_pending`: a wake-up is on the CPU's wakelist. The slow path and load balance read it.
    fn ttwu_pending(&self, _cpu: Cpu) -> bool {
        false
    }

    /// `cpu_load()`: `rq->cfs.avg.load_avg`.
    fn cpu_load(&self, cpu: Cpu) -> u64;

    /// `cpu_runnable_load()`, `weighted_cpuload()` before 5.3: `rq->cfs.avg.runnable_load_avg`, the load of the tasks
    /// that are queued. Read for versions up to 5.4 only
    /// ([`Code::runnable_load`](wakelab_kernel::Code::runnable_load)).
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64;

    /// `capacity_of()`: the capacity that is left for the fair class, 1..=1024.
    fn capacity_of(&self, cpu: Cpu) -> u64;
}

/// `sd_llc_shared`: what the search reads of the LLC.
pub trait LlcView {
    /// `sd_llc_shared->has_idle_cores` of the LLC of `cpu`: `test_idle_cores()`. Since 7.2 that of
    /// [`SchedDomains::sd_balance_shared`](crate::domain::SchedDomains::sd_balance_shared).
    fn has_idle_cores(&self, cpu: Cpu) -> bool;

    /// `sd_llc_shared->nr_idle_scan` of the LLC of `cpu`.
    fn nr_idle_scan(&self, cpu: Cpu) -> i32;

    /// 7.2, if CPUs differ in capacity: `sd_asym_cpucapacity->shared->nr_idle_scan` of this CPU. If the domain is the
    /// LLC's, it is that of the LLC.
    fn asym_nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.nr_idle_scan(cpu)
    }
}

/// Capacities of CPUs that differ: what `util_fits_cpu()` reads. The defaults are those of a machine whose CPUs are
/// alike.
pub trait AsymView {
    /// `arch_scale_cpu_capacity()`, 1..=1024.
    fn arch_scale_cpu_capacity(&self, _cpu: Cpu) -> u64 {
        1024
    }

    /// Capacity that the CPU lacks at the moment, because its frequency is limited: `arch_scale_thermal_pressure()`,
    /// since 6.10 `cpufreq_get_pressure()`.
    fn thermal_pressure(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// The average of the capacity that the CPU lacks: `thermal_load_avg()`, since 6.10 `hw_load_avg()`.
    fn thermal_load_avg(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// Stable 5.10.y: `cpu_in_capacity_inversion()`, the capacity of a CPU that pressure has brought below one of a
    /// smaller kind; 0 if it has not, and always without an energy model.
    fn capacity_inverted(&self, _cpu: Cpu) -> u64 {
        0
    }
}

/// The state that search policies keep between searches, and the clock of SIS_PROP. The defaults are those of a system
/// in which no policy that reads them is on.
pub trait PolicyView: RqView {
    /// Returns the policies' state of LLCs and CPUs; `None` if the view has no such state, like a recorded snapshot.
    fn policies(&self) -> Option<&PolicyStates> {
        None
    }

    /// Returns the values that SIS_PROP reads of the waking CPU; called only if SIS_PROP is on.
    fn scan_clock(&self, _cpu: Cpu) -> ScanClock {
        ScanClock::default()
    }

    /// `cpu_clock()` of a CPU, ns; read only if SIS_PROP or SIS_CACHE is on. `probes` is how many probes the decision
    /// has made, for a view in which they take time though they are all made in one call.
    fn cpu_clock(&self, _cpu: Cpu, _probes: u32) -> u64 {
        0
    }

    /// SIS_SHORT and its forms: `rq->nr_running` of the target, read together with
    /// [`curr_dur_avg`](Self::curr_dur_avg).
    fn target_nr_running(&self, cpu: Cpu) -> u32 {
        self.nr_running(cpu)
    }

    /// SIS_SHORT and its forms: `se.dur_avg` of the running task, ns; 0 if it is not known or nothing runs.
    fn curr_dur_avg(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// SIS_ORACLE: a wake-up is on its way to this CPU that no run queue shows yet.
    fn claimed(&self, _cpu: Cpu) -> bool {
        false
    }
}

/// Idle CPUs as masks. A view that keeps them lets a search that is made in one call read words of them instead of
/// probing each CPU; the decision and its counts are the same.
pub trait MaskView {
    /// All CPUs for which [`IdleView::available_idle_cpu`] is true.
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        None
    }

    /// All CPUs for which [`IdleView::sched_idle_cpu`] is true; read only if [`MaskView::idle_mask`] gives a mask.
    /// `None` means that there are none.
    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        None
    }

    /// The idle CPUs by cores; read only if [`MaskView::idle_mask`] gives a mask and [`MaskView::sched_idle_mask`]
    /// none.
    #[inline]
    fn idle_cores(&self) -> Option<&IdleCores> {
        None
    }
}

/// Utilisation of run queues: what the slow path, energy-aware placement and load balance read.
pub trait UtilView {
    /// `rq->cfs.avg.runnable_avg`.
    fn cpu_runnable(&self, cpu: Cpu) -> u64;

    /// `rq->cfs.avg.util_avg`.
    fn cpu_util_avg(&self, cpu: Cpu) -> u64;

    /// UTIL_EST_FASTER at this site: what [`UtilView::cpu_util_avg`] is raised to; 0 where the site's switch is off.
    fn util_est_faster(&self, _cpu: Cpu, _site: FasterSite) -> u64 {
        0
    }

    /// `rq->cfs.avg.util_est` (6.1: `util_est.enqueued`); `None` with UTIL_EST off.
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64>;
}

/// Groups of domains: what the slow path and load balance read.
pub trait GroupView: RqView {
    /// `group->sgc->capacity` of a group of a domain at `level` (0 is the lowest).
    fn group_capacity(&self, level: usize, group: &SchedGroup) -> u64;

    /// `sg_imbalanced()`: affinities kept balancing from moving tasks out of the group.
    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool;

    /// Whether [`GroupView::group_imbalance`] may be true of any group: if not, the order of groups by their sums
    /// holds.
    #[inline]
    fn may_be_imbalanced(&self) -> bool {
        true
    }

    /// `group->sgc->max_capacity`: the capacity of the group's largest CPU when it was last updated. Read if CPUs
    /// differ in capacity.
    fn group_max_capacity(&self, _level: usize, group: &SchedGroup) -> u64 {
        group.span.iter().map(|cpu| self.capacity_of(cpu)).max().unwrap_or(0)
    }

    /// The sums of the groups of a CPU's domain at `level` (0 is the lowest), if the view keeps them
    /// ([`GroupTable`](crate::group_sums::GroupTable)). The decisions are the same without.
    ///
    /// A view that returns sums promises that they are what its other methods return now, added up over the CPUs of
    /// each group ([`GroupSums`](crate::group_sums::GroupSums) says what of each CPU), that each group lies within the
    /// domain, and that each CPU has its whole capacity ([`RqView::capacity_of`] is
    /// [`AsymView::arch_scale_cpu_capacity`], and [`GroupView::group_capacity`] that of the
    /// [group](SchedGroup::capacity)), so that there is no CPU with reduced capacity to be looked for.
    #[inline]
    fn group_sums(&self, _cpu: Cpu, _level: usize) -> Option<DomainSums<'_>> {
        None
    }
}

/// Since when and how deep a CPU is idle: what only forks and execs read, in `find_idlest_cpu()`.
pub trait IdleStateView {
    /// `rq->curr == rq->idle`.
    fn curr_is_idle(&self, cpu: Cpu) -> bool;

    /// `rq->idle_stamp`, ns of the run queue's clock; 0 while the CPU is not idle.
    fn idle_stamp(&self, cpu: Cpu) -> u64;

    /// The exit latency of the idle state that the CPU is in, us; `None` without a cpuidle driver.
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32>;
}

/// The values that energy-aware placement reads besides the utilisation of fair tasks ([`UtilView`]). The defaults are
/// those of a system without an energy model.
pub trait EnergyView {
    /// Returns the facts about the run queue besides its fair tasks.
    fn rq_util(&self, _cpu: Cpu) -> RqUtil {
        RqUtil::default()
    }

    /// `rd->overutilized`: some CPU has too little capacity left for placement by energy
    /// (`cpu_overutilized()`).
    fn overutilized(&self) -> bool {
        false
    }
}

/// The view that `select_idle_sibling()` reads.
pub trait SearchView: IdleView + RqView + LlcView + AsymView + PolicyView + MaskView {}

impl<V: IdleView + RqView + LlcView + AsymView + PolicyView + MaskView + ?Sized> SearchView for V {}

/// The view that `select_task_rq_fair()` reads.
pub trait View: SearchView + UtilView + GroupView + IdleStateView + EnergyView {}

impl<V: SearchView + UtilView + GroupView + IdleStateView + EnergyView + ?Sized> View for V {}

/// The values that SIS_PROP reads of the waking CPU (`select_idle_cpu()`).
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

/// Which cores are idle, as masks. All CPUs of a core have the same bit, which stands for the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleCores {
    /// Some CPU of the core is idle.
    pub any: CpuMask,
    /// All CPUs of the core are idle.
    pub all: CpuMask,
    /// The core's lowest CPU is idle.
    pub first: CpuMask,
}

impl IdleCores {
    /// The masks of a system whose idle CPUs are `idle`.
    pub fn new(idle: &CpuMask, smt_mask: &[Arc<CpuMask>]) -> Self {
        let none = CpuMask::new(idle.room());
        let mut cores = IdleCores { any: none.clone(), all: none.clone(), first: none };
        for siblings in smt_mask {
            cores.update(idle, &siblings.iter().collect::<SmallVec<[Cpu; 8]>>());
        }
        cores
    }

    /// Brings the bits of one core up to date after its idle CPUs have changed. `siblings` are its CPUs, in ascending
    /// order.
    #[inline]
    pub fn update(&mut self, idle: &CpuMask, siblings: &[Cpu]) {
        let (mut any, mut all) = (false, true);
        for &cpu in siblings {
            any |= idle.test(cpu);
            all &= idle.test(cpu);
        }
        let Some(&lowest) = siblings.first() else { return };
        let masks = [(&mut self.any, any), (&mut self.all, all), (&mut self.first, idle.test(lowest))];
        for (mask, value) in masks {
            if mask.test(lowest) != value {
                siblings.iter().for_each(|&cpu| mask.assign(cpu, value));
            }
        }
    }
}
