//! `scheduler_tick()`, and the hrtick: a timer that ends the running task's slice between ticks.
//!
//! The hrtick's interrupt takes as long as a tick does. If another CPU starts it, the IPI takes no time
//! (`hrtick_start()`).

use crate::cpu::{Doing, Irq};
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use wakelab_events::sim::Sink;
use wakelab_kernel::HrtickForm;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::UpdateFlags;
use wakelab_sched::runqueue::{Hrtick, Resched, Tick};
use wakelab_sched::select::policy::Hook;

impl<S: Sink> Sim<'_, '_, S> {
    /// A jiffy begins: every CPU whose tick is not stopped gets its tick.
    pub fn jiffy(&mut self) {
        let model = self.sys.model;
        self.emit_power();
        self.next_jiffy();
        self.at(self.sys.now + model.tick_ns, TimedEvent::Jiffy);
        for cpu in 0..model.nr_cpus() {
            if self.sys.cpus[cpu].curr_idle {
                self.idle_tick(cpu);
                if let Some(kthread) = self.rcu_tick(cpu) {
                    self.interrupt(cpu, Irq::Timer(kthread));
                }
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
        if self.sys.cpus[cpu].doing == Doing::Run {
            self.account(cpu);
        }
        if let Some(curr) = self.sys.cpus[cpu].rq.curr() {
            self.sys.update_load(cpu, curr, UpdateFlags::UPDATE_TG);
            self.sys.account_mm_sched(cpu);
            let c = &self.sys.cpus[cpu];
            let pending = Tick { lazy: c.need_resched_lazy, hrtick_active: c.hrtick.expires.is_some() };
            let resched = self.sys.on_rq(cpu, |rq, es, now| rq.tick(es, now, pending));
            if self.sys.note_resched(cpu, resched).is_now() {
                self.sys.cpus[cpu].need_resched = true;
            }
            self.sys.task_tick_cache(cpu, curr);
            self.sys.update_misfit(cpu, Some(curr));
            self.sys.check_overutilized(cpu);
        }
        if self.sys.rt.is_some() {
            self.tick_rt(cpu);
        }
        let mut cost = self.sys.model.costs.tick;
        let scx = self.sys.scx_enabled();
        if scx {
            self.ext_tick(cpu);
        } else {
            self.nohz_balancer_kick(cpu);
        }
        self.hook(Hook::Tick, cpu);
        let periodic = self.sys.model.mechanisms.periodic_balance && !scx;
        if periodic && self.sys.jiffies >= self.sys.cpus[cpu].next_balance {
            self.update_blocked_averages(cpu);
            cost += self.rebalance_domains(cpu, false);
        }
        let wakes = self.rcu_tick(cpu);
        let c = &mut self.sys.cpus[cpu];
        c.irqs.extend(wakes.map(Irq::Timer));
        c.debt += cost;
        if c.doing == Doing::Run {
            self.exit_to_user_mode(cpu);
            self.proceed(cpu);
        } else if c.doing == Doing::ExtKickWait && !c.irqs.is_empty() {
            self.proceed(cpu);
        }
    }
}

/// A timer that is active is kept if it would move by no more than this, ns (`hrtick_needs_rearm()`, 7.2).
const REARM_NS: u64 = 5000;

/// `rq->hrtick_timer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hrtimer {
    /// When it expires, ns; `None` while it is not active.
    pub expires: Option<u64>,
    /// How often it was started: the event of another start means nothing.
    started: u32,
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The end of a schedule that gave the CPU to another task (`switched`) or to the same.
    pub fn hrtick_schedule(&mut self, cpu: Cpu, switched: bool) {
        let Some(form) = self.sys.model.hrtick else { return };
        if form != HrtickForm::IfInactive || self.sys.cpus[cpu].curr.is_none() {
            self.sys.cpus[cpu].hrtick.expires = None;
        }
        if switched || form == HrtickForm::EachPick {
            // __schedule() clears the flag after the pick, and with it what a slice that is over already asks for.
            let _ = self.hrtick_start(cpu);
        }
    }

    /// `hrtick_update()`: tasks have come to the run queue or left it.
    pub fn hrtick_update(&mut self, cpu: Cpu) -> Resched {
        match self.sys.model.hrtick {
            None => Resched::No,
            Some(_) if !self.sys.cpus[cpu].rq.hrtick_update_restarts(&self.sys.es) => Resched::No,
            Some(HrtickForm::IfInactive) if self.sys.cpus[cpu].hrtick.expires.is_some() => Resched::No,
            Some(_) => self.hrtick_start(cpu),
        }
    }

    /// `hrtick_start_fair()`.
    fn hrtick_start(&mut self, cpu: Cpu) -> Resched {
        // No interrupts take time from the tasks' clock here.
        let after = match self.sys.cpus[cpu].rq.hrtick(&self.sys.es, 0) {
            Hrtick::Off => return Resched::No,
            Hrtick::Over => return Resched::Now,
            Hrtick::In(after) => after,
        };
        let expires = self.sys.now + after;
        let keeps = self.sys.model.hrtick == Some(HrtickForm::IfInactive);
        let timer = &mut self.sys.cpus[cpu].hrtick;
        if keeps && timer.expires.is_some_and(|active| active.abs_diff(expires) <= REARM_NS) {
            return Resched::No;
        }
        timer.expires = Some(expires);
        timer.started = timer.started.wrapping_add(1);
        let started = timer.started;
        self.at(expires, TimedEvent::Hrtick(cpu, started));
        Resched::No
    }

    /// `start_hrtick_dl()`: the running task's runtime ends by a timer, where HRTICK_DL is on.
    pub fn hrtick_start_dl(&mut self, cpu: Cpu) {
        let Some(after) = self.hrtick_dl(cpu) else { return };
        let expires = self.sys.now + after;
        let timer = &mut self.sys.cpus[cpu].hrtick;
        timer.expires = Some(expires);
        timer.started = timer.started.wrapping_add(1);
        let started = timer.started;
        self.at(expires, TimedEvent::Hrtick(cpu, started));
    }

    /// `task_tick_dl()` of the hrtick.
    fn hrtick_dl_expires(&mut self, cpu: Cpu) {
        if self.sys.cpus[cpu].curr.is_some_and(|task| self.sys.is_dl(task)) {
            self.tick_dl(cpu);
            self.hrtick_start_dl(cpu);
        }
    }

    /// The timer that was started as number `started` expires (`hrtick()`), if it is still active.
    pub fn hrtick(&mut self, cpu: Cpu, started: u32) {
        let timer = &mut self.sys.cpus[cpu].hrtick;
        if timer.started != started || timer.expires.take().is_none() {
            return;
        }
        self.sys.this_cpu = cpu;
        self.sys.count_interrupt(cpu);
        let runs = self.sys.cpus[cpu].doing == Doing::Run;
        if runs {
            self.account(cpu);
        }
        if let Some(curr) = self.sys.cpus[cpu].rq.curr() {
            self.sys.update_load(cpu, curr, UpdateFlags::UPDATE_TG);
            self.sys.account_mm_sched(cpu);
            let resched = self.sys.on_rq(cpu, |rq, es, now| rq.hrtick_tick(es, now));
            if self.sys.note_resched(cpu, resched).is_now() {
                self.sys.cpus[cpu].need_resched = true;
            }
        }
        if self.sys.rt.is_some() {
            self.hrtick_dl_expires(cpu);
        }
        self.sys.cpus[cpu].debt += self.sys.model.costs.tick;
        if runs {
            self.proceed(cpu);
        }
    }
}
