//! Which CPUs of a domain the task could go to.

use super::effective::uclamp_rq_util_with;
use super::env::Landscape;
use crate::cpumask::Cpu;
use crate::select::{CpuCapacity, Fit, Uclamp, View, util_fits_cpu};
use wakelab_kernel::UtilFits;

/// A CPU that is not ruled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuRoom {
    /// How well the CPU would do with the task.
    pub(super) fit: Fit,
    /// What the task would leave of it.
    pub(super) spare: u64,
}

impl<V: View> Landscape<'_, V> {
    /// The clamps that a domain's CPUs are asked with, before the first of them.
    pub(super) fn first_clamps(&self) -> Uclamp {
        let clamps = self.uclamp();
        if clamps.used { clamps } else { Uclamp::UNUSED }
    }

    /// Whether the task fits the CPU beside what is there. `clamps` stay as they are for the next CPU of the domain: where that
    /// has no runnable task, the kernel asks with those of the CPU before it.
    pub(super) fn room(&self, cpu: Cpu, clamps: &mut Uclamp) -> Option<CpuRoom> {
        let (code, util) = (self.rules.code, self.cpu_util(cpu, Some(cpu)));
        let capacity = CpuCapacity::of(cpu, self.view);
        let rq = self.rq(cpu);
        let fit = if code.util_fits == UtilFits::Clamped {
            let util = uclamp_rq_util_with(&rq, util, clamps.used, Some(self.uclamp()));
            util_fits_cpu(code, util, Uclamp::UNUSED, &capacity)
        } else {
            if clamps.used && !rq.uclamp_idle {
                clamps.min = rq.uclamp_min.max(self.uclamp().min);
                clamps.max = rq.uclamp_max.max(self.uclamp().max);
            }
            util_fits_cpu(code, util, *clamps, &capacity)
        };
        (fit != Fit::Misses).then_some(CpuRoom { fit, spare: capacity.capacity.saturating_sub(util) })
    }
}
