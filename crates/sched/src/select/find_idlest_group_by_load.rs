//! `find_idlest_group()` up to 5.4, which compares groups by spare capacity and load (5.3, and 5.2 with LB_BIAS off).

use super::find_idlest_group::cpu_util_without;
use super::{AsymView, RqView, UtilView, Wakeup};
use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SdFlags};

/// The loads of a group, for each 1024 of the group's capacity (1024 is one nice-0 task on each CPU).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLoads {
    /// Load of the tasks that are queued (`runnable_load_avg`), including the task itself if it is queued there.
    pub runnable_load: u64,
    /// Load of queued and sleeping tasks (`load_avg`).
    pub avg_load: u64,
    /// The largest spare capacity of a CPU of the group, without the task itself (`capacity_spare_without()`).
    pub max_spare_cap: u64,
}

impl GroupLoads {
    /// Adds one CPU; the loads are not divided by the group's capacity yet.
    pub(super) fn add(&mut self, cpu: Cpu, wakeup: &Wakeup<'_>, view: &(impl RqView + UtilView + AsymView)) {
        self.runnable_load = self.runnable_load.wrapping_add(view.cpu_runnable_load(cpu));
        self.avg_load = self.avg_load.wrapping_add(view.cpu_load(cpu));
        let own = cpu == wakeup.wakee.prev_cpu && wakeup.wakee.has_contributed;
        let spare = view.capacity_of(cpu).saturating_sub(cpu_util_without(cpu, own, wakeup, view));
        self.max_spare_cap = self.max_spare_cap.max(spare);
    }

    /// Divides the loads by the group's capacity after all CPUs were added.
    pub(super) fn finish(&mut self, group_capacity: u64) {
        self.runnable_load = self.runnable_load.wrapping_mul(1024) / group_capacity;
        self.avg_load = self.avg_load.wrapping_mul(1024) / group_capacity;
    }
}

/// The comparison of the groups so far. A group is given as its place in the domain's ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByLoad {
    this: GroupLoads,
    /// The loads for which `idlest` was taken.
    min: GroupLoads,
    idlest: Option<usize>,
    most_spare: u64,
    most_spare_sg: Option<usize>,
}

impl ByLoad {
    /// The comparison before the first group. A local group that affinity rules out keeps the highest load.
    pub(super) fn new() -> Self {
        let worst = GroupLoads { runnable_load: u64::MAX, avg_load: u64::MAX, max_spare_cap: 0 };
        ByLoad { this: worst, min: worst, idlest: None, most_spare: 0, most_spare_sg: None }
    }

    /// Adds a group.
    pub(super) fn add(&mut self, at: usize, local: bool, loads: GroupLoads, sd: &SchedDomain) {
        if local {
            self.this = loads;
            return;
        }
        let (imbalance, scale) = margins(sd);
        let GroupLoads { runnable_load, avg_load, max_spare_cap } = loads;
        if self.min.runnable_load > runnable_load.wrapping_add(imbalance) {
            (self.min.runnable_load, self.min.avg_load, self.idlest) = (runnable_load, avg_load, Some(at));
        } else if runnable_load < self.min.runnable_load.wrapping_add(imbalance)
            && self.min.avg_load.wrapping_mul(100) > scale.wrapping_mul(avg_load)
        {
            // Close: sleepers decide. `min.runnable_load` stays as it is.
            (self.min.avg_load, self.idlest) = (avg_load, Some(at));
        }
        if self.most_spare < max_spare_cap {
            (self.most_spare, self.most_spare_sg) = (max_spare_cap, Some(at));
        }
    }

    /// The group that the task goes to; `None` if it stays. A new task has no utilisation yet: `fork` compares the
    /// loads only.
    ///
    /// Sums wrap as the kernel's do: with a local group that affinity rules out, the load that is compared with the
    /// idlest group's wraps to just below `imbalance`, so that a group of that load or more is not taken.
    pub(super) fn chosen(&self, fork: bool, task_util: u64, sd: &SchedDomain) -> Option<usize> {
        let (imbalance, scale) = margins(sd);
        let (this, min) = (&self.this, &self.min);
        if !fork {
            if this.max_spare_cap > task_util / 2 && scale * this.max_spare_cap > 100 * self.most_spare {
                return None;
            }
            if self.most_spare > task_util / 2 {
                return self.most_spare_sg;
            }
        }
        let idlest = self.idlest?;
        let numa = sd.flags.contains(SdFlags::NUMA);
        let close = this.runnable_load < min.runnable_load.wrapping_add(imbalance);
        let stays = numa && min.runnable_load.wrapping_add(imbalance) >= this.runnable_load
            || min.runnable_load > this.runnable_load.wrapping_add(imbalance)
            || close && this.avg_load.wrapping_mul(100) < scale.wrapping_mul(min.avg_load);
        (!stays).then_some(idlest)
    }
}

/// `imbalance`, the difference between loads that counts, and `imbalance_scale`, half of the domain's tolerance in per
/// cent.
fn margins(sd: &SchedDomain) -> (u64, u64) {
    let above = u64::from(sd.imbalance_pct) - 100;
    (1024 * above / 100, 100 + above / 2)
}
