//! `update_group_capacity()`: the capacity that realtime tasks leave of CPUs and groups, as a balance pass finds it.

use super::Sgc;
use crate::engine::Sim;
use crate::system::System;
use wakelab_events::sim::Sink;
use wakelab_sched::balance::{CpuIdleType, LbEnv, should_we_balance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedGroup, SdFlags};
use wakelab_sched::rt::{Taken, capacity_left};

impl System<'_> {
    /// `cpu_util_rt()`.
    pub fn cpu_util_rt(&self, cpu: Cpu) -> u64 {
        self.rt.as_ref().map_or(0, |rt| rt.cpus[cpu].rq.avg.util_avg)
    }

    /// `scale_rt_capacity()`.
    fn capacity_left(&self, cpu: Cpu) -> u64 {
        let max = self.model.capacity[cpu];
        let Some(rt) = &self.rt else { return max };
        let of = &rt.cpus[cpu];
        let taken = Taken {
            rt: of.rq.avg.util_avg,
            dl: of.dl.avg.util_avg,
            irq: of.irq.avg.util_avg,
            hw_load_avg: of.avg_hw.load_avg,
            cpufreq: self.model.pressure.cpufreq(cpu),
        };
        capacity_left(rt.pressure, max, &taken)
    }

    /// `group->sgc->capacity`.
    pub fn sgc_capacity(&self, group: &SchedGroup) -> u64 {
        let sgc = self.rt.as_ref().and_then(|rt| rt.sgc.get(&(group.group_balance_cpu(), group.weight)));
        sgc.map_or(group.capacity, |sgc| sgc.capacity)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// At the beginning of a pass: updates what the local group has (`update_sg_lb_stats()`, `update_sd_lb_stats()`).
    pub fn update_group_capacity(&mut self, cpu: Cpu, level: usize, idle: CpuIdleType) {
        let model = self.sys.model;
        let state = self.sys.cpus[cpu].sd[level];
        if !should_we_balance(&LbEnv::new(&self.sys, &model.balance, cpu, level, idle, &state)) {
            return;
        }
        let sd = model.balance.sd(cpu, level);
        let group = &sd.groups[sd.first_group as usize];
        let key = (group.group_balance_cpu(), group.weight);
        let Some(rt) = &self.sys.rt else { return };
        let due = rt.sgc.get(&key).is_none_or(|sgc| self.sys.jiffies >= sgc.next_update);
        if idle == CpuIdleType::NewlyIdle && !due {
            return;
        }
        let capacity = match level.checked_sub(1) {
            None => {
                let capacity = self.sys.capacity_left(cpu);
                self.set_cpu_capacity(cpu, capacity);
                capacity
            }
            Some(below) => {
                let child = model.balance.sd(cpu, below);
                if child.flags.contains(SdFlags::OVERLAP) {
                    let rt = self.sys.rt.as_ref().map(|rt| &rt.cpus);
                    group.span.iter().map(|cpu| rt.map_or(0, |cpus| cpus[cpu].cpu_capacity)).sum()
                } else {
                    child.groups.iter().map(|group| self.sys.sgc_capacity(group)).sum()
                }
            }
        };
        // msecs_to_jiffies(sd->balance_interval), within a tick and max_load_balance_interval, HZ / 10.
        let interval = (state.balance_interval * model.hz).div_ceil(1000).clamp(1, (model.hz / 10).max(1));
        let next_update = self.sys.jiffies + interval;
        if let Some(rt) = &mut self.sys.rt {
            rt.sgc.insert(key, Sgc { capacity, next_update });
        }
    }

    /// `rq->cpu_capacity`, which searches by capacity read.
    fn set_cpu_capacity(&mut self, cpu: Cpu, capacity: u64) {
        let model = self.sys.model;
        let change = |sys: &mut System<'_>| {
            if let Some(rt) = &mut sys.rt {
                rt.cpus[cpu].cpu_capacity = capacity;
            }
        };
        if model.domains.asym_cpucap_active {
            self.change_seen_by_searches(model.searches_of[cpu], |_| true, |_, _| true, change);
        } else {
            change(&mut self.sys);
        }
    }
}
