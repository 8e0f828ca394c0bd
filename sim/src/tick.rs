//! The tick.

use crate::cpu::Doing;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::UpdateFlags;
use wakelab_sched::runqueue::Tick;

impl<S: Sink> Sim<'_, '_, S> {
    /// A jiffy begins: every CPU whose tick is not stopped gets its tick.
    pub fn jiffy(&mut self) {
        let model = self.sys.model;
        self.emit_power();
        self.sys.jiffies += 1;
        self.at(self.sys.now + model.tick_ns, TimedEvent::Jiffy);
        for cpu in 0..model.nr_cpus() {
            if self.sys.cpus[cpu as usize].curr_idle {
                self.idle_tick(cpu);
            } else {
                self.tick(cpu);
            }
        }
    }

    /// `scheduler_tick()`.
    fn tick(&mut self, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        self.sys.count_interrupt(cpu);
        self.sys.scale_tick(cpu);
        if self.sys.cpus[cpu as usize].doing == Doing::Run {
            self.account(cpu);
        }
        if let Some(curr) = self.sys.cpus[cpu as usize].rq.curr() {
            self.sys.update_load(cpu, curr, UpdateFlags::empty());
            let now = self.sys.clock_task(cpu);
            let c = &mut self.sys.cpus[cpu as usize];
            let pending = Tick { lazy: c.need_resched_lazy, hrtick_active: c.hrtick.expires.is_some() };
            let resched = c.rq.tick(&mut self.sys.es, now, pending);
            if self.sys.note_resched(cpu, resched).is_now() {
                self.sys.cpus[cpu as usize].need_resched = true;
            }
            self.sys.update_misfit(cpu, Some(curr));
            self.sys.check_overutilized(cpu);
        }
        let mut cost = self.sys.model.costs.tick;
        self.nohz_balancer_kick(cpu);
        let periodic = self.sys.model.mechanisms.periodic_balance;
        if periodic && self.sys.jiffies >= self.sys.cpus[cpu as usize].next_balance {
            self.update_blocked_averages(cpu);
            cost += self.rebalance_domains(cpu, false);
        }
        let c = &mut self.sys.cpus[cpu as usize];
        c.debt += cost;
        if c.doing == Doing::Run {
            self.proceed(cpu);
        }
    }
}
