//! `newidle_balance()`: a CPU that would go idle pulls work, domain by domain, as long as its expected idle time
//! allows.

use crate::cpu::{Doing, Newidle};
use crate::engine::Sim;
use wakelab_events::sim::Sink;
use wakelab_sched::balance::{CpuIdleType, update_next_balance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SdFlags;

impl<S: Sink> Sim<'_, '_, S> {
    /// Begins with the lowest domain, if the expected idle time allows it and some run queue has more than one task.
    /// Returns whether a pass has begun.
    pub fn newidle(&mut self, cpu: Cpu) -> bool {
        let model = self.sys.model;
        let next_balance = self.sys.jiffies + model.hz;
        let c = &mut self.sys.cpus[cpu];
        c.newidle = Newidle { weight: 1, next_balance, ..Newidle::default() };
        let on = model.mechanisms.newidle_balance;
        let begins = c.sd.first().is_some_and(|lowest| {
            let time = !model.mechanisms.newidle_gate || model.balance.newidle_begins(c.avg_idle, lowest, true);
            if !time || !self.sys.rd.overload {
                update_next_balance(&model.balance, lowest, &mut c.newidle.next_balance);
            }
            on && time && self.sys.rd.overload
        });
        if begins {
            self.update_blocked_averages(cpu);
            if self.newidle_level(cpu, 0, 0) {
                return true;
            }
        }
        self.newidle_over(cpu);
        self.nohz.newidle(&model.balance, cpu, self.sys.cpus[cpu].avg_idle, self.sys.jiffies);
        false
    }

    /// Begins the pass over the first domain from `level` up that balances newly idle. Returns whether there is one.
    fn newidle_level(&mut self, cpu: Cpu, level: usize, curr_cost: u64) -> bool {
        let model = self.sys.model;
        for at in level..model.balance.nr_levels(cpu) {
            let sd = model.balance.sd(cpu, at);
            let c = &mut self.sys.cpus[cpu];
            update_next_balance(&model.balance, &c.sd[at], &mut c.newidle.next_balance);
            if model.mechanisms.newidle_gate && !model.balance.newidle_affords(c.avg_idle, curr_cost, &c.sd[at]) {
                return false;
            }
            if !sd.flags.contains(SdFlags::BALANCE_NEWIDLE) {
                continue;
            }
            let mut weight = 1;
            if model.balance.newidle_dice(&c.sd[at]) {
                let d1k = self.random.below(1024) as u32;
                match model.balance.newidle_random(&mut c.sd[at], d1k, self.sys.now) {
                    Some(by_success) => weight = by_success,
                    None => continue,
                }
            }
            c.newidle = Newidle { level: at, curr_cost, began: self.sys.now, weight, ..c.newidle };
            let cost = model.costs.balance + model.costs.balance_cpu * u64::from(sd.span_weight);
            self.begin(cpu, Doing::Newidle, cost);
            return true;
        }
        false
    }

    /// The time of a pass is over: moves tasks, and goes on to the next domain or picks.
    pub fn newidle_ends(&mut self, cpu: Cpu) {
        let model = self.sys.model;
        let Newidle { level, curr_cost, began, weight, .. } = self.sys.cpus[cpu].newidle;
        let (moved, goes_on) = self.balance_pass(cpu, level, CpuIdleType::NewlyIdle);
        let (now, cost) = (self.sys.now, self.sys.now - began);
        let c = &mut self.sys.cpus[cpu];
        let success = if moved != 0 { weight } else { 0 };
        model.balance.update_newidle_cost(&mut c.sd[level], cost, success, self.sys.jiffies, now);
        let curr_cost = curr_cost + cost;
        let stops = model.balance.newidle_stops(moved != 0, goes_on, c.nr_running, c.ttwu_pending);
        if !stops && self.newidle_level(cpu, level + 1, curr_cost) {
            return;
        }
        let c = &mut self.sys.cpus[cpu];
        c.max_idle_balance_cost = c.max_idle_balance_cost.max(curr_cost);
        let (found, avg_idle) = (c.nr_running != 0, c.avg_idle);
        self.newidle_over(cpu);
        if !found && !model.balance.rules().newidle.blocked_without_pass {
            self.nohz.newidle(&model.balance, cpu, avg_idle, self.sys.jiffies);
        }
        self.newidle_picks(cpu);
    }

    /// The end of newly idle balancing: going idle brings the next periodic balance forward.
    fn newidle_over(&mut self, cpu: Cpu) {
        let c = &mut self.sys.cpus[cpu];
        c.next_balance = c.next_balance.min(c.newidle.next_balance);
    }
}
