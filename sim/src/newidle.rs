//! Newly-idle balancing: a CPU that would go idle looks for work, domain by domain, while it has time (`newidle_balance()`,
//! 6.1).

use crate::cpu::Doing;
use crate::engine::Sim;
use wakelab_events::sim::Sink;
use wakelab_kernel::Feature;
use wakelab_sched::balance::{CpuIdleType, newidle_gate, newidle_random, update_newidle_cost};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SdFlags;

impl<S: Sink> Sim<'_, '_, S> {
    /// Begins with the lowest domain, if there is time and somebody has work to give. Returns whether it did.
    pub fn newidle(&mut self, cpu: Cpu) -> bool {
        self.sys.overload && self.newidle_level(cpu, 0, 0)
    }

    /// Begins the pass over the first domain from `level` up that takes part.
    fn newidle_level(&mut self, cpu: Cpu, level: usize, curr_cost: u64) -> bool {
        let model = self.sys.model;
        for (at, sd) in model.domains.domains[cpu as usize].iter().enumerate().skip(level) {
            let c = &self.sys.cpus[cpu as usize];
            let time = newidle_gate(c.avg_idle, curr_cost, &c.sd[at], true);
            if !time && model.mechanisms.newidle_gate {
                return false;
            }
            // Balancing between nodes is not modelled.
            if !sd.flags.contains(SdFlags::BALANCE_NEWIDLE) || sd.flags.contains(SdFlags::NUMA) {
                continue;
            }
            if model.features.has(Feature::NI_RANDOM) {
                let d1k = self.random.below(1024) as u32;
                match newidle_random(&mut self.sys.cpus[cpu as usize].sd[at], d1k) {
                    Some(weight) => self.sys.cpus[cpu as usize].newidle_weight = weight,
                    None => continue,
                }
            }
            self.sys.cpus[cpu as usize].newidle = (at, curr_cost, self.sys.now);
            let cost = model.costs.balance + model.costs.balance_cpu * u64::from(sd.span_weight);
            self.begin(cpu, Doing::Newidle, cost);
            return true;
        }
        false
    }

    /// A pass is over: moves what it found, and goes on to the next domain or picks.
    pub fn newidle_ends(&mut self, cpu: Cpu) {
        let (level, curr_cost, began) = self.sys.cpus[cpu as usize].newidle;
        let (moved, _) = self.balance_pass(cpu, level, CpuIdleType::NewlyIdle);
        let cost = self.sys.now - began;
        let (jiffies, hz) = (self.sys.jiffies, self.sys.model.hz);
        let c = &mut self.sys.cpus[cpu as usize];
        let weight = if moved != 0 { c.newidle_weight } else { 0 };
        update_newidle_cost(&mut c.sd[level], cost, weight, jiffies, hz as u32);
        let curr_cost = curr_cost + cost;
        let done = moved != 0 || c.nr_running != 0 || c.ttwu_pending;
        if !done && self.newidle_level(cpu, level + 1, curr_cost) {
            return;
        }
        let c = &mut self.sys.cpus[cpu as usize];
        c.max_idle_balance_cost = c.max_idle_balance_cost.max(curr_cost);
        self.newidle_picks(cpu);
    }
}
