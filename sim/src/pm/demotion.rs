//! Cores that are woken often sleep less deeply than they were asked to: the processor demotes the request.
//!
//! A core whose last sleep was a short one stays in the shallower state for as long as such a sleep at most; if it is not
//! woken in that time it goes where it was asked to. The kernel knows nothing of it: its residencies are those of what it asked for.

use super::model::PmModel;
use super::state::Pm;
use crate::engine::{Later, Sim};
use wakelab_events::sim::Sink;

/// What is kept of a core's sleeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreSleep {
    /// Since when no CPU of it is active, ns.
    since: u64,
    /// The last sleep was a short one.
    short: bool,
    /// Until when it is demoted, ns; 0 if it is not.
    pub demoted_until: u64,
}

impl Pm {
    /// The idle state in which a sleeping core is that was asked to go to this one.
    pub fn resolved(&self, model: &PmModel, core: usize, asked: usize) -> usize {
        match &model.demotion {
            Some(demotion) if self.sleeps[core].demoted_until != 0 => {
                asked.min(demotion.to[model.kind_of[model.cores[core].cpus[0] as usize]])
            }
            _ => asked,
        }
    }

    /// A CPU of the core is active, the first of them. Returns whether the core has not counted as active up to now.
    pub fn core_wakes(&mut self, model: &PmModel, core: usize, now: u64) -> bool {
        let Some(demotion) = &model.demotion else { return true };
        let sleep = &mut self.sleeps[core];
        sleep.short = now - sleep.since < demotion.below_ns;
        std::mem::take(&mut sleep.demoted_until) == 0 || !demotion.active
    }

    /// No CPU of the core is active any more. Returns until when it is demoted, if it is.
    fn core_sleeps(&mut self, model: &PmModel, core: usize, now: u64) -> Option<u64> {
        let demotion = model.demotion.as_ref()?;
        let sleep = &mut self.sleeps[core];
        sleep.since = now;
        sleep.demoted_until = if sleep.short { now + demotion.below_ns } else { 0 };
        sleep.short.then_some(sleep.demoted_until)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The last active CPU of a core has gone to sleep. Returns whether the core does not count as active any more.
    pub fn core_sleeps(&mut self, core: usize) -> bool {
        let Some(model) = self.sys.pm_model() else { return true };
        let Some(pm) = &mut self.sys.pm else { return true };
        let Some(until) = pm.core_sleeps(model, core, self.sys.now) else { return true };
        self.sys.core_state_changes(core);
        self.at(until, Later::Undemoted(core as u32));
        !model.demotion.as_ref().is_some_and(|demotion| demotion.active)
    }

    /// A core goes where it was asked to, if it has slept since this was set down.
    pub fn demotion_ends(&mut self, core: usize) {
        let Some(model) = self.sys.pm_model() else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        if pm.sleeps[core].demoted_until != self.sys.now {
            return;
        }
        pm.sleeps[core].demoted_until = 0;
        self.sys.core_state_changes(core);
        if model.demotion.as_ref().is_some_and(|demotion| demotion.active) {
            self.active_cores_change(core, false);
        }
    }
}
