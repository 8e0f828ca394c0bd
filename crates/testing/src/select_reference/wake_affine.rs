//! Where the search starts: near the waker or near the previous CPU.

use super::{Kernel, Version};
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomain;

impl Kernel<'_> {
    pub(super) fn wake_affine(&self, sd: &SchedDomain, this_cpu: Cpu, prev_cpu: Cpu, sync: bool) -> Cpu {
        let mut target = None;
        if self.on(Feature::WA_IDLE) {
            target = self.wake_affine_idle(this_cpu, prev_cpu, sync);
        }
        if self.on(Feature::WA_WEIGHT) && target.is_none() {
            target = self.wake_affine_weight(sd, this_cpu, prev_cpu, sync);
        }
        target.unwrap_or(prev_cpu)
    }

    fn wake_affine_idle(&self, this_cpu: Cpu, prev_cpu: Cpu, sync: bool) -> Option<Cpu> {
        let view = self.view;
        if view.available_idle_cpu(this_cpu) && self.cpus_share_cache(this_cpu, prev_cpu) {
            return Some(if view.available_idle_cpu(prev_cpu) { prev_cpu } else { this_cpu });
        }
        if sync {
            let delayed = if self.version >= Version::V6_12 { view.h_nr_delayed(this_cpu) } else { 0 };
            if view.nr_running(this_cpu).wrapping_sub(delayed) == 1 {
                return Some(this_cpu);
            }
        }
        if self.version >= Version::V6_1 && view.available_idle_cpu(prev_cpu) {
            return Some(prev_cpu);
        }
        if self.alone_and_short(this_cpu) {
            return Some(this_cpu);
        }
        None
    }

    fn wake_affine_weight(&self, sd: &SchedDomain, this_cpu: Cpu, prev_cpu: Cpu, sync: bool) -> Option<Cpu> {
        let bias = self.on(Feature::WA_BIAS);
        let task_load = self.wakeup.wakee.h_load as i64;

        let mut this_eff_load = self.load_5_3_or_later(this_cpu) as i64;
        if sync {
            let current_load = self.wakeup.waker.h_load as i64;
            if current_load > this_eff_load {
                return Some(this_cpu);
            }
            this_eff_load -= current_load;
        }
        this_eff_load += task_load;
        if bias {
            this_eff_load *= 100;
        }
        this_eff_load *= self.view.capacity_of(prev_cpu) as i64;

        let mut prev_eff_load = self.load_5_3_or_later(prev_cpu) as i64 - task_load;
        if bias {
            prev_eff_load *= 100 + (i64::from(sd.imbalance_pct) - 100) / 2;
        }
        prev_eff_load *= self.view.capacity_of(this_cpu) as i64;

        if sync {
            prev_eff_load += 1;
        }
        if this_eff_load < prev_eff_load { Some(this_cpu) } else { None }
    }

    /// `cpu_runnable_load()`, which became `cpu_load()`.
    fn load_5_3_or_later(&self, cpu: Cpu) -> u64 {
        if self.version == Version::V5_3 { self.view.cpu_runnable_load(cpu) } else { self.view.cpu_load(cpu) }
    }
}
