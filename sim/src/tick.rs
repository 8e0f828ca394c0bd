//! The tick.

use crate::cpu::Doing;
use crate::engine::{Later, Sim};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::UpdateFlags;

/// How often blocked averages of idle CPUs are aged, jiffies at 1000 HZ: `LOAD_AVG_PERIOD` (`nohz.next_blocked`, 6.1).
const NOHZ_BLOCKED_MS: u64 = 32;

impl<S: Sink> Sim<'_, '_, S> {
    /// A jiffy begins: all CPUs get their tick.
    ///
    /// An idle CPU has its tick stopped, and one of them balances for all when a busy CPU kicks it
    /// (`nohz_balancer_kick()`: two CPUs of the LLC are busy, or a run queue has two tasks). That it is done for them, and
    /// not when exactly and by whom, is what is modelled here.
    pub fn jiffy(&mut self) {
        let model = self.sys.model;
        self.sys.jiffies += 1;
        self.at(self.sys.now + model.tick_ns, Later::Jiffy);
        let period = (NOHZ_BLOCKED_MS * model.hz / 1000).max(1);
        let blocked = self.sys.jiffies.is_multiple_of(period);
        for cpu in 0..model.nr_cpus() {
            if self.sys.cpus[cpu as usize].curr_idle {
                if blocked {
                    self.sys.update_blocked(cpu);
                }
                self.idle_tick(cpu);
            } else {
                self.tick(cpu);
            }
        }
    }

    /// Balances for a CPU that idles.
    fn idle_tick(&mut self, cpu: Cpu) {
        let c = &self.sys.cpus[cpu as usize];
        if self.sys.jiffies < c.next_balance || c.nr_running != 0 || c.ttwu_pending {
            return;
        }
        self.rebalance_domains(cpu, true);
        if self.sys.cpus[cpu as usize].nr_running != 0 {
            self.kick(cpu);
        }
    }

    /// `scheduler_tick()`.
    fn tick(&mut self, cpu: Cpu) {
        if self.sys.cpus[cpu as usize].doing == Doing::Run {
            self.account(cpu);
        }
        if let Some(curr) = self.sys.cpus[cpu as usize].rq.curr() {
            self.sys.update_load(cpu, curr, UpdateFlags::empty());
            let now = self.sys.clock_task(cpu);
            let c = &mut self.sys.cpus[cpu as usize];
            if c.rq.task_tick(&mut self.sys.es, now) {
                c.need_resched = true;
            }
        }
        let mut cost = self.sys.model.costs.tick;
        if self.sys.jiffies >= self.sys.cpus[cpu as usize].next_balance {
            cost += self.rebalance_domains(cpu, false);
        }
        let c = &mut self.sys.cpus[cpu as usize];
        c.debt += cost;
        if c.doing == Doing::Run {
            self.proceed(cpu);
        }
    }
}
