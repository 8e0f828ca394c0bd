//! A recorded row as the system that a decision reads.

use super::row::{Row, SlowPathState};
use super::topo::TopoFile;
use wakelab_kernel::{Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedGroup;
use wakelab_sched::select::{
    AsymView, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, RqView, ScanClock,
    UtilView,
};

/// The state of the system at the entry of select_task_rq_fair().
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    row: &'a Row,
    topo: &'a TopoFile,
    util_est: bool,
    scan: ScanClock,
}

/// The full capacity of a CPU. Only recordings of machines whose CPUs have the same capacity are replayed.
const SCHED_CAPACITY_SCALE: u64 = 1024;

impl<'a> Snapshot<'a> {
    /// The system of `row` on its machine, with the features under which the decision is made.
    pub fn new(row: &'a Row, topo: &'a TopoFile, features: FeatureSet) -> Self {
        let scan = ScanClock {
            jiffies: row.scan.jiffies.unwrap_or(0),
            wake_stamp: row.scan.wake_stamp.unwrap_or(0),
            wake_avg_idle: row.scan.wake_avg_idle.unwrap_or(0),
            avg_idle: row.scan.avg_idle.unwrap_or(0),
            avg_scan_cost: row.scan.avg_scan_cost.unwrap_or(0),
        };
        Snapshot { row, topo, util_est: features.has(Feature::UTIL_EST), scan }
    }

    /// Replaces the recorded values that SIS_PROP reads.
    #[must_use]
    pub fn with_scan_clock(self, scan: ScanClock) -> Self {
        Snapshot { scan, ..self }
    }

    fn llc(&self, cpu: Cpu) -> Option<&'a (u32, bool, i32)> {
        let id = self.topo.cpu_llc[cpu as usize];
        self.row.llcs.iter().find(|llc| llc.0 == id)
    }

    /// A CPU in the group whose own group at this level is the group, so that its recorded values are those of the
    /// group. If CPUs have different numbers of domains, or groups overlap, it may be another CPU than the first of the
    /// group.
    fn member(&self, level: usize, group: &SchedGroup) -> Option<usize> {
        let owns = |cpu: &Cpu| {
            let sd = self.topo.domains.domains[*cpu as usize].get(level);
            sd.and_then(|sd| sd.groups().next()).is_some_and(|own| own.span == group.span)
        };
        group.span.iter().find(owns).map(|cpu| cpu as usize)
    }

    fn slow_path(&self) -> &'a SlowPathState {
        self.row.slow_path.as_ref().expect("the reader requires it for forks and execs")
    }
}

impl IdleView for Snapshot<'_> {
    #[inline]
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.row.idle_mask.test(cpu)
    }

    #[inline]
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.row.sched_idle_mask.test(cpu)
    }
}

impl RqView for Snapshot<'_> {
    #[inline]
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.row.cpus.nr_running[cpu as usize]
    }

    #[inline]
    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.row.cpus.h_nr_delayed[cpu as usize] as u32
    }

    #[inline]
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.row.cpus.load_avg[cpu as usize]
    }

    /// Not recorded. `Question::check` refuses kernels that read it, for recordings.
    fn cpu_runnable_load(&self, _: Cpu) -> u64 {
        0
    }

    #[inline]
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.row.cpus.capacity[cpu as usize]
    }

    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.row.ttwu_pending_mask.test(cpu)
    }
}

impl LlcView for Snapshot<'_> {
    #[inline]
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.llc(cpu).is_some_and(|llc| llc.1)
    }

    #[inline]
    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.llc(cpu).map_or(0, |llc| llc.2)
    }
}

impl AsymView for Snapshot<'_> {
    fn arch_scale_cpu_capacity(&self, _: Cpu) -> u64 {
        SCHED_CAPACITY_SCALE
    }
}

impl PolicyView for Snapshot<'_> {
    /// The values of the waking CPU, which is the only one that is asked for. SIS_PROP without recorded values is
    /// refused earlier.
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        self.scan
    }
}

impl MaskView for Snapshot<'_> {
    #[inline]
    fn idle_mask(&self) -> Option<&CpuMask> {
        Some(&self.row.idle_mask)
    }

    #[inline]
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        self.row.any_sched_idle.then_some(&self.row.sched_idle_mask)
    }
}

impl UtilView for Snapshot<'_> {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.row.cpus.runnable_avg[cpu as usize]
    }

    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.row.cpus.util_avg[cpu as usize]
    }

    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.util_est.then(|| self.row.cpus.util_est[cpu as usize])
    }
}

impl GroupView for Snapshot<'_> {
    fn group_capacity(&self, level: usize, group: &SchedGroup) -> u64 {
        // Above the recorded levels the capacity in the description of the machine is used.
        let recorded = self.slow_path().group_capacity.get(level).zip(self.member(level, group));
        recorded.map_or(group.capacity, |(by_cpu, cpu)| by_cpu[cpu])
    }

    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool {
        let bits = self.member(level, group).map_or(0, |cpu| self.slow_path().group_imbalance[cpu]);
        level < 64 && bits >> level & 1 != 0
    }
}

impl IdleStateView for Snapshot<'_> {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.row.curr_idle_mask.test(cpu)
    }

    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        self.slow_path().idle_stamp[cpu as usize]
    }

    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        u32::try_from(self.slow_path().idle_exit_latency[cpu as usize]).ok()
    }
}

impl EnergyView for Snapshot<'_> {}
