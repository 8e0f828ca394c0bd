//! Forks and execs of 5.3: the group with capacity to spare, or the least load. 5.2 says the same with LB_BIAS off.

use super::{Kernel, set};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomain, SchedGroup, SdFlags};

const ULONG_MAX: u64 = u64::MAX;
const NICE_0_LOAD: u64 = 1024;

impl Kernel<'_> {
    pub(super) fn find_idlest_group_5_3<'d>(
        &self,
        sd: &'d SchedDomain,
        level: usize,
        this_cpu: Cpu,
        sd_flag: SdFlags,
    ) -> Option<&'d SchedGroup> {
        let (mut idlest, mut most_spare_sg) = (None, None);
        let (mut min_runnable_load, mut this_runnable_load) = (ULONG_MAX, ULONG_MAX);
        let (mut min_avg_load, mut this_avg_load) = (ULONG_MAX, ULONG_MAX);
        let (mut most_spare, mut this_spare) = (0u64, 0u64);
        let pct = u64::from(sd.imbalance_pct);
        let imbalance_scale = 100 + (pct - 100) / 2;
        let imbalance = NICE_0_LOAD * (pct - 100) / 100;

        let ring = (0..sd.groups.len()).map(|i| &sd.groups[(sd.first_group as usize + i) % sd.groups.len()]);
        for group in ring {
            if set(&group.span).is_disjoint(&self.cpus_ptr()) {
                continue;
            }
            let (mut runnable_load, mut avg_load, mut max_spare_cap) = (0, 0, 0);
            for i in set(&group.span) {
                runnable_load += self.view.cpu_runnable_load(i);
                avg_load += self.view.cpu_load(i);
                let spare_cap = self.view.capacity_of(i) as i64 - self.cpu_util_without(i) as i64;
                if spare_cap > max_spare_cap as i64 {
                    max_spare_cap = spare_cap as u64;
                }
            }
            let capacity = self.view.group_capacity(level, group);
            avg_load = avg_load * 1024 / capacity;
            runnable_load = runnable_load * 1024 / capacity;
            if group.span.test(this_cpu) {
                this_runnable_load = runnable_load;
                this_avg_load = avg_load;
                this_spare = max_spare_cap;
                continue;
            }
            if min_runnable_load > runnable_load + imbalance {
                min_runnable_load = runnable_load;
                min_avg_load = avg_load;
                idlest = Some(group);
            } else if runnable_load < min_runnable_load.wrapping_add(imbalance)
                && 100u64.wrapping_mul(min_avg_load) > imbalance_scale * avg_load
            {
                min_avg_load = avg_load;
                idlest = Some(group);
            }
            if most_spare < max_spare_cap {
                most_spare = max_spare_cap;
                most_spare_sg = Some(group);
            }
        }
        if !sd_flag.contains(SdFlags::BALANCE_FORK) {
            let task_util = self.wakeup.wakee.util_avg;
            if this_spare > task_util / 2 && imbalance_scale * this_spare > 100 * most_spare {
                return None;
            }
            if most_spare > task_util / 2 {
                return most_spare_sg;
            }
        }
        idlest?;
        if sd.flags.contains(SdFlags::NUMA) && min_runnable_load.wrapping_add(imbalance) >= this_runnable_load {
            return None;
        }
        if min_runnable_load > this_runnable_load.wrapping_add(imbalance) {
            return None;
        }
        if this_runnable_load < min_runnable_load.wrapping_add(imbalance)
            && 100u64.wrapping_mul(this_avg_load) < imbalance_scale.wrapping_mul(min_avg_load)
        {
            return None;
        }
        idlest
    }

    pub(super) fn find_idlest_group_cpu_5_3(&self, group: &SchedGroup, this_cpu: Cpu) -> Cpu {
        if group.weight == 1 {
            return *set(&group.span).first().unwrap();
        }
        let mut min_load = ULONG_MAX;
        let mut min_exit_latency = u32::MAX;
        let mut latest_idle_timestamp = 0;
        let mut least_loaded_cpu = this_cpu;
        let mut shallowest_idle_cpu = None;
        for i in &set(&group.span) & &self.cpus_ptr() {
            if self.view.available_idle_cpu(i) {
                let (idle, stamp) = (self.view.idle_exit_latency(i), self.view.idle_stamp(i));
                if idle.is_some_and(|latency| latency < min_exit_latency) {
                    min_exit_latency = idle.unwrap();
                    latest_idle_timestamp = stamp;
                    shallowest_idle_cpu = Some(i);
                } else if idle.is_none_or(|latency| latency == min_exit_latency) && stamp > latest_idle_timestamp {
                    latest_idle_timestamp = stamp;
                    shallowest_idle_cpu = Some(i);
                }
            } else if shallowest_idle_cpu.is_none() {
                let load = self.view.cpu_runnable_load(i);
                if load < min_load {
                    min_load = load;
                    least_loaded_cpu = i;
                }
            }
        }
        shallowest_idle_cpu.unwrap_or(least_loaded_cpu)
    }
}
