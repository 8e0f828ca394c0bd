//! teo of 7.2 and 7.3 (`drivers/cpuidle/governors/teo.c`).

use super::state::IdleStates;
use super::teo::{DECAY_SHIFT, PULSE, STATES, find_shallower_state, stop_or_retain};
use super::{Asking, Choice, IdleGovernor, RESIDENCY_THRESHOLD_NS, Woken};

const LATENCY_THRESHOLD_NS: i64 = RESIDENCY_THRESHOLD_NS / 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    intercepts: u32,
    hits: u32,
}

/// teo on one CPU (`struct teo_cpu`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teo73 {
    woken: Option<Woken>,
    sleep_length_ns: i64,
    bins: [Bin; STATES],
    total: u32,
    total_tick: u32,
    tick_intercepts: u32,
    short_idles: u32,
}

/// `teo_decay()`.
fn decay(metric: &mut u32) {
    *metric = match *metric >> DECAY_SHIFT {
        0 => 0,
        delta => *metric - delta,
    };
}

impl Teo73 {
    /// How long the CPU slept, by what is known, ns.
    fn measured(&mut self, woken: &Woken, latency: i64) -> i64 {
        decay(&mut self.short_idles);
        if woken.poll_time_limit {
            return i64::MAX;
        }
        let residency = woken.residency_ns as i64;
        if residency < latency {
            self.short_idles += PULSE;
            return residency / 2;
        }
        let measured = residency - latency / 2;
        if measured < RESIDENCY_THRESHOLD_NS {
            self.short_idles += PULSE;
        }
        measured
    }

    /// `teo_update()`.
    fn update(&mut self, states: &IdleStates, woken: &Woken, tick_ns: u64) {
        let latency = states[woken.index].exit();
        let measured = self.measured(woken, latency);
        let (mut by_timer, mut by_duration, mut total) = (0, 0, 0);
        for (i, state) in states.iter().enumerate() {
            let bin = &mut self.bins[i];
            decay(&mut bin.hits);
            decay(&mut bin.intercepts);
            total += bin.hits + bin.intercepts;
            if state.residency() <= self.sleep_length_ns {
                by_timer = i;
                if state.residency() <= measured {
                    by_duration = i;
                }
            }
        }
        self.total = total + PULSE;
        decay(&mut self.tick_intercepts);
        decay(&mut self.total_tick);
        if woken.by_tick {
            self.total_tick += PULSE;
            if 3 * self.total_tick > 2 * self.total {
                // Ticks dominate: a hit on the deepest state makes it likelier that the next is stopped.
                self.bins[states.len() - 1].hits += PULSE;
                return;
            }
            if 3 * self.tick_intercepts < 2 * total {
                self.bins[by_timer].hits += PULSE;
                return;
            }
        }
        if by_timer == by_duration && self.sleep_length_ns.wrapping_sub(measured) < latency / 2 {
            self.bins[by_timer].hits += PULSE;
        } else {
            self.bins[by_duration].intercepts += PULSE;
            if measured <= tick_ns as i64 {
                self.tick_intercepts += PULSE;
            }
        }
    }

    /// A shallower state, if most wake-ups came before the candidate was worth it: at most as deep as the one that most
    /// came in.
    fn shallower(&self, states: &IdleStates, idx: usize, idx0: usize, intercepts: u32, most: Option<usize>) -> usize {
        let (mut found, mut sum) = (idx, 0);
        for i in (idx0..idx).rev() {
            sum += self.bins[i].intercepts;
            if states[i].disabled {
                continue;
            }
            found = i;
            if 2 * sum > intercepts && most.is_some_and(|most| i <= most) {
                break;
            }
        }
        found
    }

    /// `teo_select()` after the update. `Err`: the tick is retained, whatever the state.
    fn choose(&mut self, states: &IdleStates, asking: &Asking) -> Result<Choice, usize> {
        let (mut idx, mut idx0, mut constraint) = ((!states[0].disabled).then_some(0), 0, 0);
        let (mut intercepts, mut hits, mut idx_intercepts, mut idx_hits) = (0, 0, 0, 0);
        let (mut intercept_max, mut most) = (0, None);
        for (i, state) in states.iter().enumerate().skip(1) {
            let bin = self.bins[i - 1];
            hits += bin.hits;
            intercepts += bin.intercepts;
            if bin.intercepts >= intercept_max {
                (intercept_max, most) = (bin.intercepts, Some(i - 1));
            }
            if state.disabled {
                continue;
            }
            if idx.is_none() {
                idx0 = i;
            }
            idx = Some(i);
            if state.exit() <= asking.latency_req_ns {
                constraint = i;
            }
            (idx_intercepts, idx_hits) = (intercepts, hits);
        }
        let Some(mut idx) = idx else { return Err(0) };
        let tick = asking.tick_ns as i64;
        if idx == idx0 {
            let duration = states[idx].residency();
            return stop_or_retain(states, asking, (idx, idx0), duration, tick / 2);
        }
        if 2 * idx_intercepts > self.total - idx_hits {
            idx = self.shallower(states, idx, idx0, idx_intercepts, most);
        }
        idx = idx.min(constraint);
        let shallow = idx == 0 || states[idx].residency() < RESIDENCY_THRESHOLD_NS;
        let not_by_timer = 2 * self.short_idles >= self.total || asking.latency_req_ns < LATENCY_THRESHOLD_NS;
        if !asking.tick_stopped && shallow && not_by_timer {
            return Err(idx);
        }
        let mut duration = asking.sleep_length_ns;
        self.sleep_length_ns = duration;
        if asking.tick_stopped && duration > 2 * tick && states[idx].residency() < tick {
            // So that the CPU is not stuck in a shallow state.
            let deep = |&i: &usize| !states[i].disabled && states[i].residency() <= duration;
            let index = (idx + 1..=constraint).rev().find(deep).unwrap_or(idx);
            return Ok(Choice { index, stop_tick: true });
        }
        if idx == 0 {
            return Err(0);
        }
        if states[idx].residency() > duration {
            idx = find_shallower_state(states, idx, duration);
        }
        if states[idx].residency() < tick && 3 * self.tick_intercepts >= 2 * self.total {
            duration = tick / 2;
        }
        stop_or_retain(states, asking, (idx, idx0), duration, asking.delta_tick_ns)
    }
}

impl IdleGovernor for Teo73 {
    fn name(&self) -> &'static str {
        "teo"
    }

    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice {
        if let Some(woken) = self.woken.take() {
            self.update(states, &woken, asking.tick_ns);
        }
        self.sleep_length_ns = i64::MAX;
        self.choose(states, asking).unwrap_or_else(|index| Choice { index, stop_tick: false })
    }

    fn reflect(&mut self, woken: &Woken) {
        self.woken = Some(*woken);
    }

    fn boxed_clone(&self) -> Box<dyn IdleGovernor> {
        Box::new(self.clone())
    }
}
