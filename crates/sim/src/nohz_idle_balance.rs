//! `nohz_idle_balance()`: one idle CPU balances for those whose tick is stopped.
//!
//! The idle governor decides when an idle CPU stops its tick (`pm/cpuidle.rs`). Without one, the first tick that finds
//! the CPU idle stops it, as if the governor had expected each idle time to be short until it was not.

use crate::cpu::{Doing, Interrupted};
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use wakelab_events::sim::Sink;
use wakelab_sched::balance::{NohzFlags, NohzIdleBalance};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::cfs_rq_has_blocked_load;
use wakelab_sched::select::policy::Hook;

impl<S: Sink> Sim<'_, '_, S> {
    /// `update_blocked_averages()`.
    pub fn update_blocked_averages(&mut self, cpu: Cpu) {
        self.sys.update_blocked(cpu);
        let mut blocked = cfs_rq_has_blocked_load(&self.sys.cpus[cpu].pelt);
        if self.sys.rt.is_some() {
            // others_have_blocked()
            let runs = self.sys.curr_rt_prio(cpu).is_some();
            let dl_runs = self.sys.cpus[cpu].curr.is_some_and(|task| self.sys.is_dl(task));
            self.sys.update_rt_avg(cpu, runs && !dl_runs);
            blocked |= self.sys.cpu_util_rt(cpu) != 0;
            blocked |= self.sys.update_other_load_avgs(cpu, dl_runs);
        }
        self.nohz.averages_updated(cpu, self.sys.jiffies, blocked);
    }

    /// The tick of an idle CPU: it balances for itself, and stops its tick unless an idle governor does. A balance pass
    /// takes its time: the CPU leaves its idle state for it, or begins what comes next that much later. Without one the
    /// tick takes no time.
    pub fn idle_tick(&mut self, cpu: Cpu) {
        let c = &mut self.sys.cpus[cpu];
        if c.tick_stopped {
            return;
        }
        let governed = self.sys.has_cpuidle(cpu);
        self.sys.this_cpu = cpu;
        self.sys.count_interrupt(cpu);
        self.hook(Hook::Tick, cpu);
        let c = &mut self.sys.cpus[cpu];
        c.tick_stopped = !governed;
        let idle = c.nr_running == 0 && !c.ttwu_pending;
        let due = self.sys.jiffies >= c.next_balance;
        if due && idle && self.sys.model.mechanisms.periodic_balance && !self.sys.scx_enabled() {
            self.update_blocked_averages(cpu);
            let cost = self.rebalance_domains(cpu, true);
            let c = &mut self.sys.cpus[cpu];
            c.debt += cost;
            if c.nr_running != 0 {
                return self.kick(cpu);
            }
            if cost != 0 && c.doing == Doing::Idle {
                self.leave_idle(cpu, Interrupted::Tick);
            }
        }
        if governed {
            self.cpuidle_tick(cpu);
        } else {
            self.sys.scale_tick(cpu);
            self.nohz.enter_idle(&self.sys.model.balance, cpu);
        }
    }

    /// `nohz_balancer_kick()`, at a busy CPU's tick: kicks an idle CPU to balance for those whose tick is stopped.
    pub fn nohz_balancer_kick(&mut self, cpu: Cpu) {
        if !self.sys.model.mechanisms.nohz_balance {
            return;
        }
        let kick = self.nohz.balancer_kick(&self.sys, &self.sys.model.balance, cpu, self.sys.jiffies);
        if let Some(kick) = kick.filter(|kick| kick.ipi) {
            let ipi = self.ipi(cpu, kick.cpu);
            self.at(self.sys.now + ipi, TimedEvent::IpiNohz(kick.cpu));
        }
    }

    /// The kick has arrived. Returns whether the CPU has begun to balance.
    pub fn nohz_kicked(&mut self, cpu: Cpu) -> bool {
        let Some(flags) = self.nohz.kicked(&self.sys, cpu) else { return false };
        let cost = self.nohz_idle_balance(cpu, flags);
        self.begin(cpu, Doing::NohzBalance, cost);
        true
    }

    /// `nohz_run_idle_balance()`: before the CPU sleeps, updates the blocked averages that newly idle balancing left to
    /// be updated. Returns the time that it takes, ns at full speed.
    pub fn nohz_run_idle(&mut self, cpu: Cpu) -> u64 {
        let need_resched = self.sys.cpus[cpu].need_resched;
        if !self.nohz.run_idle(cpu, need_resched) {
            return 0;
        }
        self.nohz_idle_balance(cpu, NohzFlags::STATS_KICK)
    }

    /// `_nohz_idle_balance()`, at one moment. Returns the time that it takes, ns at full speed: an update of a CPU's
    /// averages is assumed to take as long as a pass takes for one CPU of its domain.
    fn nohz_idle_balance(&mut self, this_cpu: Cpu, flags: NohzFlags) -> u64 {
        let model = self.sys.model;
        let jiffies = self.sys.jiffies;
        let mut pass = NohzIdleBalance::new(&mut self.nohz, &model.balance, this_cpu, flags, jiffies);
        let mut cost = 0;
        while let Some(visit) = pass.next(&mut self.nohz, &self.sys, jiffies) {
            if visit.update_averages {
                self.update_blocked_averages(visit.cpu);
                cost += model.costs.balance_cpu;
            }
            if visit.balance && jiffies >= self.sys.cpus[visit.cpu].next_balance {
                cost += self.rebalance_domains(visit.cpu, true);
                if self.sys.cpus[visit.cpu].nr_running != 0 {
                    self.kick(visit.cpu);
                }
            }
            pass.visited(&mut self.nohz, visit, self.sys.cpus[visit.cpu].next_balance);
        }
        pass.finish(&mut self.nohz, &model.balance);
        cost
    }
}
