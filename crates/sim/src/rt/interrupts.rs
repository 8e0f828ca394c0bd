//! Interrupts of the workload, and whose time theirs is.
//!
//! ```text
//! arrives ─▶ handler ─▶ other interrupts that came meanwhile ─▶ softirq ─▶ the task goes on
//! ```
//!
//! Without IRQ_TIME_ACCOUNTING their time is that of the task that they interrupt, and of nobody on an idle CPU. With
//! it `rq_clock_task()` stops meanwhile, and `avg_irq` takes it from the CPU's capacity. Other CPUs that read the clock
//! during an interrupt see it stopped, too, where the kernel notes an interrupt's time at its end.

use crate::cpu::{Doing, Irq};
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::{BOOT_NS, System};
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{SCHED_CAPACITY_SCALE, Scale, SchedAvg};
use wakelab_sched::rt::update_irq_load_avg;

/// `struct irqtime` of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct IrqTime {
    /// `total`, of those that are over, ns.
    total: u64,
    /// When the one that goes on began, ns.
    since: Option<u64>,
    /// `rq->prev_irq_time`: how much of it the run queue's clock has left out.
    seen: u64,
    /// The source of the softirq that is to come.
    softirq: Option<u32>,
    /// `rq->avg_irq`.
    pub avg: SchedAvg,
}

impl System<'_> {
    /// `irq_time_read()`, with the part of an interrupt that goes on; 0 without IRQ_TIME_ACCOUNTING.
    #[inline]
    pub fn irq_time(&self, cpu: Cpu) -> u64 {
        match &self.rt {
            Some(rt) if self.model.irq_accounting => {
                let irq = &rt.cpus[cpu].irq;
                irq.total + irq.since.map_or(0, |since| self.now - since)
            }
            _ => 0,
        }
    }

    /// The time of interrupts that the run queue's clock has still to leave out, ns.
    #[inline]
    pub fn new_irq_time(&mut self, cpu: Cpu) -> u64 {
        let time = self.irq_time(cpu);
        match &mut self.rt {
            Some(rt) if time != 0 => time - std::mem::replace(&mut rt.cpus[cpu].irq.seen, time),
            _ => 0,
        }
    }

    /// `update_irq_load_avg()`, which NO_NONTASK_CAPACITY leaves out.
    pub fn update_irq_avg(&mut self, cpu: Cpu, running: u64, scale: Scale) {
        let now = BOOT_NS + self.now;
        if let Some(rt) = self.rt.as_mut().filter(|rt| rt.nontask_capacity) {
            update_irq_load_avg(now, &mut rt.cpus[cpu].irq.avg, running, scale);
        }
    }

    /// Ages the averages of deadline tasks, interrupts and hardware pressure (`__update_blocked_others()`). Returns
    /// whether one is not 0 (`others_have_blocked()`).
    pub fn update_other_load_avgs(&mut self, cpu: Cpu, dl_runs: bool) -> bool {
        // Without a deadline task there is nothing to age, nor to tell cpufreq of.
        if self.rt.as_ref().is_some_and(|rt| rt.cpus[cpu].dl.avg.last_update_time != 0) {
            self.update_dl_avg(cpu, dl_runs);
        }
        if self.model.irq_accounting {
            let _ = self.clock_pelt(cpu);
            self.update_irq_avg(cpu, 0, Scale { cpu: SCHED_CAPACITY_SCALE, freq: SCHED_CAPACITY_SCALE });
        }
        self.update_hw_avg(cpu);
        let Some(rt) = &self.rt else { return false };
        let of = &rt.cpus[cpu];
        of.dl.avg.util_avg != 0 || of.irq.avg.util_avg != 0 || of.avg_hw.load_avg != 0
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The first interrupt of each source on each of its CPUs comes within its period.
    pub fn add_interrupts(&mut self) {
        let model = self.sys.model;
        for (source, of) in (0..).zip(&model.workload.interrupts) {
            let all: Vec<Cpu> = (0..model.nr_cpus()).collect();
            for &cpu in of.cpus.as_ref().unwrap_or(&all) {
                let first = self.random.below(of.period.ns);
                self.at(first, TimedEvent::Device(source, cpu));
            }
        }
    }

    /// An interrupt arrives, and the next one is set.
    pub fn device_interrupts(&mut self, source: u32, cpu: Cpu) {
        let of = &self.sys.model.workload.interrupts[source as usize];
        let next = self.random.work(of.period, &self.sys.model.workload.distributions).max(1);
        self.at(self.sys.now + next, TimedEvent::Device(source, cpu));
        self.interrupt(self.online_or_first(cpu), Irq::Device(source));
    }

    /// `irq_enter()`.
    pub fn handle_interrupt(&mut self, cpu: Cpu, source: u32) {
        let of = &self.sys.model.workload.interrupts[source as usize];
        if let Some(rt) = &mut self.sys.rt {
            let irq = &mut rt.cpus[cpu].irq;
            (irq.since, irq.softirq) = (Some(self.sys.now), (of.softirq_ns != 0).then_some(source));
        }
        self.begin(cpu, Doing::Interrupt, of.time_ns);
    }

    /// `__do_softirq()`.
    pub fn handle_softirq(&mut self, cpu: Cpu, source: u32) {
        let of = &self.sys.model.workload.interrupts[source as usize];
        if let Some(rt) = &mut self.sys.rt {
            rt.cpus[cpu].irq.since = Some(self.sys.now);
        }
        self.begin(cpu, Doing::Interrupt, of.softirq_ns);
    }

    /// `irq_exit()`: the interrupts that came meanwhile are next, then its softirq.
    pub fn interrupt_ends(&mut self, cpu: Cpu) {
        self.account(cpu);
        if let Some(rt) = &mut self.sys.rt {
            let irq = &mut rt.cpus[cpu].irq;
            irq.total += irq.since.take().map_or(0, |since| self.sys.now - since);
            if let Some(source) = irq.softirq.take() {
                self.sys.cpus[cpu].irqs.push(Irq::Softirq(source));
            }
        }
        self.proceed(cpu);
    }
}
