//! The hardware's response to requested frequencies and idle states: shared clocks, turbo by the number of active
//! cores, demotion of idle states, and how long work takes.
//!
//! A change of a clock changes the speed of tasks at once. What the kernel does itself is short, and keeps the speed it
//! began with.
//!
//! Demotion: a core that is woken often sleeps less deeply than it was asked to. If its last sleep was a short one, it
//! stays in the shallower state for as long as such a sleep lasts at most; if it is not woken in that time, it enters
//! the state that it was asked to. Ticks that wake a core for a balance pass neither end its sleep nor its
//! demotion. The
//! kernel does not know of it: its residencies are those of the states that it asked for.

use super::model::PmModel;
use super::state::Pm;
use crate::cpu::{CpuState, Doing};
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use wakelab_events::sim::{Event, Sink};
use wakelab_pm::Khz;
use wakelab_sched::cpumask::Cpu;

impl<S: Sink> Sim<'_, '_, S> {
    /// A CPU begins or ceases to be active, which is to count for turbo and for the choice of a shared clock.
    pub fn active_changes(&mut self, cpu: Cpu, active: bool) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        if std::mem::replace(&mut pm.cpus[cpu].active, active) == active {
            return;
        }
        let core = model.core_of[cpu];
        let cpus = &mut pm.active_cpus[core];
        let counts = if active {
            *cpus += 1;
            *cpus == 1 && pm.core_wakes(model, core, self.sys.now)
        } else {
            *cpus -= 1;
            *cpus == 0 && self.core_sleeps(core)
        };
        if !(counts && self.active_cores_change(core, active)) {
            self.clock_changes(model.clock_of[cpu]);
        }
    }

    /// A core begins or ceases to count as active. Returns whether turbo's limit has changed, and with it the package's
    /// clocks.
    pub fn active_cores_change(&mut self, core: usize, active: bool) -> bool {
        let Some(model) = self.sys.pm_model() else { return false };
        let Some(pm) = &mut self.sys.pm else { return false };
        let package = model.package_of[model.cores[core].cpus[0]];
        let cores = &mut pm.active_cores[package];
        let before = *cores;
        *cores = if active { before + 1 } else { before - 1 };
        let limit = |cores| model.turbo.as_ref().map(|turbo| turbo.limit(cores));
        if limit(before) == limit(*cores) {
            return false;
        }
        for (clock, of) in model.clocks.iter().enumerate() {
            if of.package == package {
                self.clock_changes(clock);
            }
        }
        true
    }

    /// Sets the frequency of a clock's CPUs, by what their policies ask for and what the hardware allows.
    pub fn clock_changes(&mut self, clock: usize) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &self.sys.pm else { return };
        let of = &model.clocks[clock];
        let asked = |&cpu: &Cpu| pm.policies[model.policy_of[cpu]].policy.cur();
        let active = of.cpus.iter().filter(|&&cpu| pm.cpus[cpu].active);
        // While all are idle the clock keeps its frequency.
        let Some(wanted) = active.map(asked).max() else { return };
        let first = of.cpus[0];
        let turbo = model.turbo.as_ref().map_or(Khz::MAX, |turbo| turbo.limit(pm.active_cores[of.package]));
        let base = if model.side.no_turbo { model.base[first] } else { Khz::MAX };
        let thermal = model.side.thermal_cap.unwrap_or(Khz::MAX);
        let hw = of.cpus.iter().map(|&cpu| model.hw_cap[cpu]).min().unwrap_or(Khz::MAX);
        let khz = wanted.min(turbo).min(base).min(thermal).min(hw);
        if khz == pm.cpus[first].khz {
            return;
        }
        for &cpu in &of.cpus {
            self.khz_changes(cpu, khz);
        }
    }

    fn khz_changes(&mut self, cpu: Cpu, khz: Khz) {
        self.sys.settle_counters(cpu);
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        pm.cpus[cpu].khz = khz;
        let dilation = pm.dilation(model, cpu, self.sys.model.capacity[cpu]);
        let c = &self.sys.cpus[cpu];
        if c.doing == Doing::Run && c.curr.is_some() {
            self.account(cpu);
            self.sys.cpus[cpu].dilation = dilation;
            self.set_run_end(cpu);
        } else {
            self.sys.cpus[cpu].dilation = dilation;
        }
        self.sys.power_state_changes(cpu);
        self.emit_detail(|_| Event::Frequency { cpu, khz });
    }
}

/// The sleeps of a core.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreSleep {
    /// Since when no CPU of it is active, ns.
    since: u64,
    /// Whether the last sleep was a short one.
    short: bool,
    /// Until when it is demoted, ns; 0 if it is not.
    pub demoted_until: u64,
    /// It is awake for a tick only, so that its sleep goes on after that.
    by_tick: bool,
}

impl Pm {
    /// The idle state of a sleeping core that was asked to enter `asked`.
    pub fn resolved(&self, model: &PmModel, core: usize, asked: usize) -> usize {
        match &model.demotion {
            Some(demotion) if self.sleeps[core].demoted_until != 0 => {
                asked.min(demotion.to[model.kind_of[model.cores[core].cpus[0]]])
            }
            _ => asked,
        }
    }

    /// The first CPU of the core becomes active. Returns whether the core did not count as active before.
    pub fn core_wakes(&mut self, model: &PmModel, core: usize, now: u64) -> bool {
        let Some(demotion) = &model.demotion else { return true };
        let sleep = &mut self.sleeps[core];
        if sleep.by_tick {
            return sleep.demoted_until == 0 || !demotion.active;
        }
        sleep.short = now - sleep.since < demotion.below_ns;
        std::mem::take(&mut sleep.demoted_until) == 0 || !demotion.active
    }

    /// No CPU of the core is active any more. Returns until when the core is demoted, ns, if it is.
    fn core_sleeps(&mut self, model: &PmModel, core: usize, now: u64) -> Option<u64> {
        let demotion = model.demotion.as_ref()?;
        let sleep = &mut self.sleeps[core];
        if !std::mem::take(&mut sleep.by_tick) {
            sleep.since = now;
            sleep.demoted_until = if sleep.short { now + demotion.below_ns } else { 0 };
        }
        (sleep.demoted_until != 0).then_some(sleep.demoted_until)
    }

    /// The next wake-up of the core, if it sleeps, is by a tick.
    pub fn tick_wakes(&mut self, core: usize) {
        self.sleeps[core].by_tick = self.active_cpus[core] == 0;
    }

    /// A task runs on the core. If a tick had woken it, it counts as woken now.
    pub fn task_runs(&mut self, model: &PmModel, core: usize, now: u64) {
        if let Some(demotion) = &model.demotion
            && std::mem::take(&mut self.sleeps[core].by_tick)
        {
            let sleep = &mut self.sleeps[core];
            sleep.short = now - sleep.since < demotion.below_ns;
            sleep.demoted_until = 0;
        }
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The last active CPU of a core has gone to sleep. Returns whether the core ceases to count as active.
    pub fn core_sleeps(&mut self, core: usize) -> bool {
        let Some(model) = self.sys.pm_model() else { return true };
        let Some(pm) = &mut self.sys.pm else { return true };
        let Some(until) = pm.core_sleeps(model, core, self.sys.now) else { return true };
        self.sys.core_state_changes(core);
        self.at(until, TimedEvent::Undemoted(core as u32));
        !model.demotion.as_ref().is_some_and(|demotion| demotion.active)
    }

    /// A demoted core enters the state that it was asked to, if it has slept since this event was set.
    pub fn demotion_ends(&mut self, core: usize) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        if pm.sleeps[core].demoted_until != self.sys.now {
            return;
        }
        pm.sleeps[core].demoted_until = 0;
        if pm.active_cpus[core] != 0 {
            return;
        }
        self.sys.core_state_changes(core);
        if model.demotion.as_ref().is_some_and(|demotion| demotion.active) {
            self.active_cores_change(core, false);
        }
    }
}

/// The dilation of a CPU at full speed.
pub const FULL: u64 = 1 << 20;

/// How long work takes on a CPU of `capacity` at `khz`, if it takes [`FULL`] on the fastest CPU at its highest
/// frequency. `nominal` is the highest frequency of this CPU, kHz.
pub fn dilation(nominal: Khz, khz: Khz, capacity: u64) -> u64 {
    let full = u128::from(FULL) * u128::from(nominal) * 1024;
    (full / (u128::from(khz.max(1)) * u128::from(capacity.max(1)))) as u64
}

impl CpuState {
    /// Whether neither SMT siblings nor the frequency nor the capacity slow the CPU down.
    #[inline]
    fn at_full_speed(&self) -> bool {
        self.slowdown == 100 && self.dilation == FULL
    }

    /// The time that `work` takes, ns of both, rounded down.
    #[inline]
    pub fn time_of(&self, work: u64) -> u64 {
        if self.at_full_speed() {
            work
        } else if self.dilation == FULL {
            work * self.slowdown / 100
        } else {
            (u128::from(work) * self.factor() / FACTOR) as u64
        }
    }

    /// The time that `work` takes, ns of both, rounded up.
    #[inline]
    pub fn time_until_done(&self, work: u64) -> u64 {
        if self.at_full_speed() {
            work
        } else if self.dilation == FULL {
            (work * self.slowdown).div_ceil(100)
        } else {
            (u128::from(work) * self.factor()).div_ceil(FACTOR) as u64
        }
    }

    /// The work that is done in `time`, ns of both, rounded down.
    #[inline]
    pub fn work_in(&self, time: u64) -> u64 {
        if self.at_full_speed() {
            time
        } else if self.dilation == FULL {
            time * 100 / self.slowdown
        } else {
            (u128::from(time) * FACTOR / self.factor()) as u64
        }
    }

    fn factor(&self) -> u128 {
        u128::from(self.slowdown) * u128::from(self.dilation)
    }
}

/// What [`CpuState::factor`] is at full speed.
const FACTOR: u128 = 100 * FULL as u128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_frequency_or_the_capacity_takes_twice_the_time() {
        assert_eq!(dilation(2_000_000, 2_000_000, 1024), FULL);
        assert_eq!(dilation(2_000_000, 1_000_000, 1024), 2 * FULL);
        assert_eq!(dilation(2_000_000, 2_000_000, 512), 2 * FULL);
        assert_eq!(dilation(2_000_000, 1_000_000, 256), 8 * FULL);
    }
}
