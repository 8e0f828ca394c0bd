//! `update_idle_core()`: how `has_idle_cores` of an LLC becomes true. A scan that finds no idle core makes it false
//! (`set_idle_cores(target, false)`, [`Effects::clear_idle_cores`](super::Effects::clear_idle_cores)).
//!
//! ```text
//! __update_idle_core(rq):                                     5.2 to 7.3
//!     SIS_EFF_PENDING: if rq->ttwu_pending: return
//!     if test_idle_cores(core): return
//!     for_each_cpu(cpu, cpu_smt_mask(core)):
//!         if cpu == core: continue
//!         if !available_idle_cpu(cpu): return
//!     set_idle_cores(core, 1)
//! ```

use super::policy::{About, Recorded, Switch};
use super::{IdleView, LlcView, RqView};
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;
use wakelab_kernel::{Feature, FeatureSet};

/// SIS_EFF_PENDING, patch 3 of "[PATCH v5 0/5] sched/fair: Improve scan efficiency of SIS", Abel Wu, 9 September 2022.
pub(super) const SIS_EFF_PENDING: About = About {
    switches: &[Switch {
        feature: Feature::SIS_EFF_PENDING,
        does: "a CPU that goes idle while a wake-up is on its wakelist sets no hint: neither `has_idle_cores` nor \
            those of SIS_EFF_BUSY and SIS_EFF_FILTER",
        recorded: Recorded::NotRead,
    }],
    tunables: &[],
};

/// `__update_idle_core()`: whether `cpu`, which goes idle, makes its core idle as a whole, so that `has_idle_cores` of
/// its LLC becomes true. `probed` receives each sibling that is probed, in order.
///
/// The kernel calls it from `set_next_task_idle()` if SMT is active (`update_idle_core()`).
pub fn update_idle_core(
    domains: &SchedDomains,
    features: FeatureSet,
    cpu: Cpu,
    view: &(impl IdleView + LlcView + RqView),
    mut probed: impl FnMut(Cpu),
) -> bool {
    if features.has(Feature::SIS_EFF_PENDING) && view.ttwu_pending(cpu) {
        return false;
    }
    if domains.sd_llc(cpu).is_none() || view.has_idle_cores(cpu) {
        return false;
    }
    domains.smt_mask[cpu as usize].iter().filter(|&sibling| sibling != cpu).all(|sibling| {
        probed(sibling);
        view.available_idle_cpu(sibling)
    })
}
