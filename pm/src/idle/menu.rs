//! menu (`drivers/cpuidle/governors/menu.c`).

use super::MenuRules;
use super::menu_predict::Predicted;
use super::menu_typical::INTERVALS;
use super::state::IdleStates;
use super::{Asking, Choice, IdleGovernor, RESIDENCY_THRESHOLD_NS, Woken};

pub(super) const BUCKETS: usize = 12;
pub(super) const RESOLUTION: u64 = 1024;
pub(super) const DECAY: u32 = 8;
pub(super) const NSEC_PER_USEC: u64 = 1000;
/// Longer idle times count as well predicted, ns.
const MAX_INTERESTING: u64 = 50_000 * NSEC_PER_USEC;

/// menu on one CPU (`struct menu_device`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    pub(super) rules: MenuRules,
    woken: Option<Woken>,
    pub(super) next_timer_ns: u64,
    pub(super) bucket: usize,
    pub(super) correction_factor: [u32; BUCKETS],
    pub(super) intervals: [u32; INTERVALS],
    interval_ptr: usize,
}

impl Menu {
    /// A CPU at boot: every factor is 1 (`menu_enable_device()`).
    pub fn new(rules: MenuRules) -> Menu {
        Menu {
            rules,
            woken: None,
            next_timer_ns: 0,
            bucket: 0,
            correction_factor: [RESOLUTION as u32 * DECAY; BUCKETS],
            intervals: [0; INTERVALS],
            interval_ptr: 0,
        }
    }

    /// Goes through the states of 5.3 to 6.1. `Err`: the tick is stopped, and this is the state.
    fn walk(&self, states: &IdleStates, asking: &Asking, predicted: &mut Predicted) -> Result<Option<usize>, usize> {
        let mut found = None;
        for (i, state) in states.iter().enumerate().filter(|(_, state)| !state.disabled) {
            let idx = *found.get_or_insert(i);
            let fits = state.target_residency_ns <= predicted.ns;
            let too_slow = state.exit() > predicted.latency_req;
            if self.rules.typical_first && too_slow {
                break;
            }
            if fits {
                if too_slow {
                    break;
                }
                found = Some(i);
                continue;
            }
            // A physical state rather than polling, unless a timer comes soon.
            let physical = states[idx].polling
                && state.target_residency_ns <= self.next_timer_ns
                && match self.rules.typical_first {
                    true => state.residency() < RESIDENCY_THRESHOLD_NS && state.exit_latency_ns <= predicted.ns,
                    false => !too_slow,
                };
            if physical {
                predicted.ns = state.target_residency_ns;
                found = Some(i);
                break;
            }
            if predicted.ns < asking.tick_ns {
                break;
            }
            if !asking.tick_stopped {
                // A shallow state is left by the tick, so it does no harm to be wrong.
                predicted.ns = states[idx].target_residency_ns;
                break;
            }
            let stuck = states[idx].target_residency_ns < asking.tick_ns && state.residency() <= predicted.delta_tick;
            return Err(if stuck { i } else { idx });
        }
        Ok(found)
    }

    /// `menu_update()`: what the last idle time says of the prediction.
    fn update(&mut self, states: &IdleStates, woken: &Woken, tick_ns: u64) {
        let state = &states[woken.index];
        let measured = if woken.by_tick && self.next_timer_ns > tick_ns {
            9 * MAX_INTERESTING / 10
        } else if state.polling && woken.poll_time_limit {
            self.next_timer_ns
        } else if woken.residency_ns > 2 * state.exit_latency_ns {
            woken.residency_ns - state.exit_latency_ns
        } else {
            woken.residency_ns / 2
        };
        let measured = measured.min(self.next_timer_ns);

        let factor = &mut self.correction_factor[self.bucket];
        *factor -= *factor / DECAY;
        let ratio = match self.next_timer_ns {
            1.. if measured < MAX_INTERESTING => RESOLUTION * measured / self.next_timer_ns,
            _ => RESOLUTION,
        };
        *factor += ratio as u32;
        self.push((measured / NSEC_PER_USEC) as u32);
    }

    fn push(&mut self, interval_us: u32) {
        self.intervals[self.interval_ptr] = interval_us;
        self.interval_ptr = (self.interval_ptr + 1) % INTERVALS;
    }
}

impl IdleGovernor for Menu {
    fn name(&self) -> &'static str {
        "menu"
    }

    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice {
        if let Some(woken) = self.woken.take() {
            self.update(states, &woken, asking.tick_ns);
        }
        let predicted = match self.rules.typical_first {
            true => self.predict_typical_first(states, asking),
            false => self.predict(states, asking),
        };
        let Some(mut predicted) = predicted else {
            return Choice { index: 0, stop_tick: !states[0].polling };
        };
        let mut index = match self.walk(states, asking, &mut predicted) {
            Ok(found) => found.unwrap_or(0),
            Err(index) => return Choice { index, stop_tick: true },
        };
        let short = states[index].polling || predicted.ns < asking.tick_ns;
        let retain = short && !asking.tick_stopped;
        if retain && index > 0 && states[index].residency() > predicted.delta_tick {
            // The tick will come before the state is worth it.
            for i in (0..index).rev().filter(|&i| !states[i].disabled) {
                index = i;
                if states[i].residency() <= predicted.delta_tick {
                    break;
                }
            }
        }
        Choice { index, stop_tick: !retain }
    }

    fn reflect(&mut self, woken: &Woken) {
        self.woken = Some(*woken);
    }

    fn boxed_clone(&self) -> Box<dyn IdleGovernor> {
        Box::new(self.clone())
    }
}
