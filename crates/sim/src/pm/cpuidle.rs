//! The idle loop: which state a CPU enters, whether its tick stops, and what leaving the state takes.
//!
//! Leaving takes the exit latency of the state in which the core is, and then the machine's `idle_exit`, which is the
//! kernel's own part. From the moment that the CPU is woken its clock counts for others; for the counters and the power
//! account the exit is part of the idle state. A tick that finds the CPU idle ends one sleep and begins another.
//!
//! Timers of kthreads are in the timer wheel, which ticks run (`run_local_timers()`); all behave as if in its first
//! level.

use crate::cpu::{Doing, Interrupted, Irq};
use crate::engine::Sim;
use crate::event_queue::NEVER;
use crate::system::System;
use wakelab_events::sim::{Event, Sink};
use wakelab_pm::idle::{Asking, Woken, cpuidle_poll_time};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::IdleStateView;
use wakelab_sched::select::policy::HookView;

/// The distance of the next timer if none is set, ns.
const FAR_NS: u64 = 1 << 40;

impl System<'_> {
    /// The exit latency of the idle state in which the kernel takes a CPU to be (`idle_get_state()`), ns. Returns
    /// `None` if the CPU is not idle, or has no idle states.
    #[inline]
    pub fn idle_latency(&self, cpu: Cpu) -> Option<u64> {
        let (pm, model) = (self.pm.as_ref()?, self.model.pm.as_ref()?);
        let states = model.kind(cpu).idle.as_ref()?;
        let is_idle = self.cpus[cpu].doing == Doing::Idle;
        is_idle.then(|| states[pm.cpus[cpu].idle_state].exit_latency_ns)
    }

    /// How long this idle CPU takes to leave idle, ns. A core sleeps no deeper than the shallowest state of its CPUs,
    /// and than the processor's demotion lets it; while a sibling runs, a CPU's own state is only a halt.
    fn exit_latency(&self, cpu: Cpu) -> u64 {
        let (Some(pm), Some(model)) = (&self.pm, &self.model.pm) else { return 0 };
        let Some(states) = &model.kind(cpu).idle else { return 0 };
        if self.cpus[cpu].doing != Doing::Idle {
            return 0;
        }
        let own = pm.cpus[cpu].idle_state;
        let core = model.core_of[cpu];
        let of = |&cpu: &Cpu| &pm.cpus[cpu];
        let cpus = &model.cores[core].cpus;
        let halt = states.iter().position(|state| !state.polling).unwrap_or(0);
        let together = if cpus.iter().map(of).any(|cpu| cpu.runs) {
            halt
        } else {
            let asked = cpus.iter().map(of).map(|cpu| cpu.idle_state).min().unwrap_or(own);
            pm.resolved(model, core, asked)
        };
        states[own.min(together.max(halt))].exit_latency_ns
    }

    /// Whether the CPU has idle states, so that its idle governor decides when the tick stops.
    pub fn has_cpuidle(&self, cpu: Cpu) -> bool {
        self.model.pm.as_ref().is_some_and(|model| model.kind(cpu).idle.is_some())
    }

    /// `tick_nohz_next_event()`: whether neither RCU nor a timer of the wheel needs the next tick. High-resolution
    /// timers, which tasks of the workload have, do not need ticks.
    fn next_event_is_far(&self, cpu: Cpu) -> bool {
        let Some(pm) = &self.pm else { return true };
        let base = self.now / self.model.tick_ns * self.model.tick_ns;
        let of_wheel = |task: u32| !self.tasks[TaskId(task)].matters();
        let timer = pm.cpus[cpu].timers.iter().find(|&&(_, task)| of_wheel(task));
        !self.rcu_needs_cpu(cpu) && timer.is_none_or(|&(time, _)| time > base + self.model.tick_ns)
    }

    /// What the idle governor is asked with.
    fn asking(&self, cpu: Cpu) -> Asking {
        let tick_ns = self.model.tick_ns;
        let pm = self.pm.as_ref().expect("the caller checks that power is modelled");
        let timer = pm.cpus[cpu].timers.first().map_or(FAR_NS, |&(time, _)| time.saturating_sub(self.now));
        let tick_stopped = self.cpus[cpu].tick_stopped;
        let tick = (self.now / tick_ns + 1) * tick_ns - self.now;
        // tick_nohz_next_event().
        let next = if self.rcu_needs_cpu(cpu) { timer.min(tick) } else { timer };
        Asking {
            now: self.now,
            sleep_length_ns: next as i64,
            delta_tick_ns: if tick_stopped { timer } else { timer.min(tick) } as i64,
            tick_stopped,
            tick_ns,
            latency_req_ns: i64::MAX,
            nr_iowaiters: self.cpus[cpu].nr_iowait,
            // Of the classes that effective_cpu_util() adds there is only the fair one.
            cpu_util: self.cpu_util_cfs(cpu),
            capacity: self.model.capacity[cpu],
        }
    }
}

impl IdleStateView for System<'_> {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.cpus[cpu].curr_idle
    }

    #[inline]
    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].idle_stamp
    }

    #[inline]
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        self.idle_latency(cpu).map(|ns| (ns / 1000) as u32)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The CPU is idle: it enters an idle state.
    pub fn cpuidle_enters(&mut self, cpu: Cpu) {
        if self.sys.pm.is_none() {
            return;
        }
        self.sys.settle_counters(cpu);
        let pm = self.sys.pm.as_mut().expect("as above");
        pm.cpus[cpu].runs = false;
        self.cpuidle_selects(cpu);
    }

    /// `cpuidle_idle_call()`.
    pub fn cpuidle_selects(&mut self, cpu: Cpu) {
        let asking = self.sys.asking(cpu);
        let model = self.sys.pm_model().expect("as the state");
        let pm = self.sys.pm.as_mut().expect("the caller checks that power is modelled");
        let of = &mut pm.cpus[cpu];
        of.idle_since = self.sys.now;
        let (mut active, mut stops) = (false, true);
        if let (Some(states), Some(governor)) = (&model.kind(cpu).idle, &mut of.idle_governor) {
            let choice = governor.select(states, &asking);
            of.idle_state = choice.index;
            active = model.kind(cpu).active[choice.index];
            stops = choice.stop_tick || asking.tick_stopped;
            if states[choice.index].polling {
                let time = cpuidle_poll_time(states, asking.tick_ns);
                self.timeline.set(cpu, self.sys.now + time);
            } else {
                self.timeline.set(cpu, NEVER);
            }
        }
        // tick_nohz_idle_stop_tick() counts even if the next timer is too near to stop the tick.
        of.idle_calls += u64::from(stops);
        let far = self.sys.next_event_is_far(cpu);
        if stops && far && !asking.tick_stopped && self.sys.has_cpuidle(cpu) {
            self.sys.cpus[cpu].tick_stopped = true;
            self.nohz.enter_idle(&self.sys.model.balance, cpu);
        }
        self.sys.power_state_changes(cpu);
        self.active_changes(cpu, active);
        if self.sys.has_cpuidle(cpu) {
            self.emit_detail(|sys| Event::IdleState {
                cpu,
                state: sys.pm.as_ref().map_or(0, |pm| pm.cpus[cpu].idle_state as u32),
            });
        }
    }

    /// Notifies the idle governor of how the CPU slept; the exit takes `exit` ns.
    fn cpuidle_reflects(&mut self, cpu: Cpu, exit: u64, by_tick: bool, poll_time_limit: bool) {
        let now = self.sys.now;
        let Some(pm) = &mut self.sys.pm else { return };
        let of = &mut pm.cpus[cpu];
        let slept = now - of.idle_since;
        of.idle_ns += slept;
        if self.sys.cpus[cpu].nr_iowait != 0 {
            of.iowait_ns += slept;
        }
        of.idle_since = now;
        if !poll_time_limit {
            of.idle_wakeups += 1;
        }
        if let Some(governor) = &mut of.idle_governor {
            let residency_ns = slept + exit;
            governor.reflect(&Woken { now: now + exit, index: of.idle_state, residency_ns, by_tick, poll_time_limit });
        }
    }

    /// An idle CPU is interrupted. An interrupt of its own has been counted already. Returns the exit latency of its
    /// state, ns.
    pub fn cpuidle_leaves(&mut self, cpu: Cpu, by: Interrupted) -> u64 {
        let Some(model) = self.sys.pm_model() else { return 0 };
        if matches!(by, Interrupted::Ipi { .. }) && !model.wakes_by_write {
            self.sys.count_interrupt(cpu);
        }
        if let (Interrupted::Tick, Some(pm)) = (by, &mut self.sys.pm) {
            pm.tick_wakes(model.core_of[cpu]);
        }
        let exit = self.sys.exit_latency(cpu);
        self.sys.settle_counters(cpu);
        self.cpuidle_reflects(cpu, exit, by == Interrupted::Tick, false);
        exit
    }

    /// The CPU has left its idle state.
    pub fn cpuidle_left(&mut self, cpu: Cpu) {
        if self.sys.pm.is_none() {
            return;
        }
        self.sys.settle_counters(cpu);
        self.sys.pm.as_mut().expect("as above").cpus[cpu].runs = true;
        self.sys.power_state_changes(cpu);
    }

    /// The tick of an idle CPU whose tick is not stopped.
    pub fn cpuidle_tick(&mut self, cpu: Cpu) {
        self.sys.scale_tick(cpu);
        if self.sys.cpus[cpu].doing != Doing::Idle {
            return;
        }
        self.sys.settle_counters(cpu);
        let exit = self.sys.exit_latency(cpu);
        self.cpuidle_reflects(cpu, exit, true, false);
        self.cpuidle_selects(cpu);
    }

    /// An idle CPU has polled for as long as `cpuidle_poll_time()` allows.
    pub fn polled(&mut self, cpu: Cpu) {
        self.timeline.set(cpu, NEVER);
        if self.sys.pm.is_some() {
            self.sys.settle_counters(cpu);
            self.cpuidle_reflects(cpu, 0, false, true);
            self.cpuidle_selects(cpu);
        }
    }
}

impl System<'_> {
    /// When a sleep of `time` ns that begins now ends, ns. The timer wheel of kthreads rounds up (`calc_index()`,
    /// kernel/time/timer.c, 5.10); tasks of the workload have high-resolution timers. Without governors nothing depends
    /// on the difference.
    pub fn expires(&self, task: TaskId, time: u64) -> u64 {
        let expires = self.now + time;
        if self.pm.is_none() || self.tasks[task].matters() {
            return expires;
        }
        expires.next_multiple_of(self.model.tick_ns)
    }

    /// Whether the CPU needs no interrupt: an idle CPU that waits in MWAIT sees the flag (`set_nr_if_polling()`).
    #[inline]
    pub fn needs_no_interrupt(&self, cpu: Cpu, irq: Irq) -> bool {
        let idle = self.cpus[cpu].doing == Doing::Idle;
        irq == Irq::Resched && idle && self.pm_model().is_some_and(|model| model.wakes_by_write)
    }

    /// Whether the interrupt is part of the tick, which is counted by itself.
    pub fn is_in_tick(&self, cpu: Cpu, irq: Irq) -> bool {
        matches!(irq, Irq::Timer(task) if !self.tasks[task].matters()) && !self.cpus[cpu].tick_stopped
    }
}
