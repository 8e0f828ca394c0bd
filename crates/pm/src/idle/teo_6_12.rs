//! teo of 6.12 (`drivers/cpuidle/governors/teo.c`).

use super::state::IdleStates;
use super::teo::{DECAY_SHIFT, PULSE, STATES, find_shallower_state, measured_ns, stop_or_retain, time_span_ns};
use super::{Asking, Choice, IdleGovernor, RESIDENCY_THRESHOLD_NS, Woken};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    intercepts: u32,
    hits: u32,
}

/// teo on one CPU (`struct teo_cpu`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teo612 {
    woken: Option<Woken>,
    selected_at: u64,
    time_span_ns: i64,
    sleep_length_ns: i64,
    bins: [Bin; STATES],
    total: u32,
    tick_hits: u32,
    tick_ns: u64,
}

impl Teo612 {
    /// `teo_update()`.
    fn update(&mut self, states: &IdleStates, woken: &Woken) {
        let measured = measured_ns(states, woken, self.time_span_ns, self.sleep_length_ns);
        self.total = PULSE;
        let (mut by_timer, mut by_duration) = (0, 0);
        for (i, state) in states.iter().enumerate() {
            let bin = &mut self.bins[i];
            bin.hits -= bin.hits >> DECAY_SHIFT;
            bin.intercepts -= bin.intercepts >> DECAY_SHIFT;
            self.total += bin.hits + bin.intercepts;
            if state.residency() <= self.sleep_length_ns {
                by_timer = i;
                if state.target_residency_ns <= measured {
                    by_duration = i;
                }
            }
        }
        // One more bin, of hits only, behind the deepest state where that is worth less than a tick.
        if states[states.len() - 1].target_residency_ns < self.tick_ns {
            self.tick_hits -= self.tick_hits >> DECAY_SHIFT;
            self.total += self.tick_hits;
            if self.tick_ns as i64 <= self.sleep_length_ns {
                by_timer = states.len();
                if self.tick_ns <= measured {
                    self.tick_hits += PULSE;
                    return;
                }
            }
        }
        if by_timer == by_duration {
            self.bins[by_timer].hits += PULSE;
        } else {
            self.bins[by_duration].intercepts += PULSE;
        }
    }

    /// A shallower state, if most wake-ups came before the candidate was worth it.
    fn shallower(&self, states: &IdleStates, asking: &Asking, idx: usize, intercepts: u32) -> usize {
        let ok = |i: usize| !asking.tick_stopped || states[i].target_residency_ns >= asking.tick_ns;
        let (mut suitable, mut sum) = (idx, 0);
        for i in (0..idx).rev() {
            sum += self.bins[i].intercepts;
            if 2 * sum > intercepts {
                return if ok(i) && !states[i].disabled { i } else { suitable };
            }
            if states[i].disabled {
                continue;
            }
            if !ok(i) {
                if suitable != idx {
                    continue;
                }
                break;
            }
            suitable = i;
        }
        idx
    }

    /// `teo_select()` after the update. `Err`: the tick is retained, whatever the state.
    fn choose(&mut self, states: &IdleStates, asking: &Asking) -> Result<Choice, usize> {
        if states.len() < 2 {
            return Err(0);
        }
        let (mut idx, mut idx0, mut constraint) = ((!states[0].disabled).then_some(0), 0, 0);
        let (mut intercepts, mut hits, mut idx_intercepts, mut idx_hits) = (0, 0, 0, 0);
        for (i, state) in states.iter().enumerate().skip(1) {
            intercepts += self.bins[i - 1].intercepts;
            hits += self.bins[i - 1].hits;
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
        if idx == idx0 {
            let duration = states[idx].residency();
            return stop_or_retain(states, asking, (idx, idx0), duration, asking.tick_ns as i64 / 2);
        }
        let tick_intercepts = intercepts + self.bins[states.len() - 1].intercepts;
        let deepest = idx;
        if 2 * idx_intercepts > self.total - idx_hits {
            idx = self.shallower(states, asking, idx, idx_intercepts);
        }
        if idx == 0 && deepest != 0 {
            // So that it is known afterwards whether the guess was right.
            self.sleep_length_ns = asking.sleep_length_ns;
            return Err(0);
        }
        idx = idx.min(constraint);
        if idx == 0 || (states[0].polling && states[idx].residency() < RESIDENCY_THRESHOLD_NS) {
            return Err(idx);
        }
        self.sleep_length_ns = asking.sleep_length_ns;
        let mut duration = asking.sleep_length_ns;
        if states[idx].residency() > duration {
            idx = find_shallower_state(states, idx, duration);
        }
        let tick = asking.tick_ns as i64;
        if states[idx].residency() < tick && tick_intercepts > self.total / 2 + self.total / 8 {
            duration = tick / 2;
        }
        stop_or_retain(states, asking, (idx, idx0), duration, asking.delta_tick_ns)
    }
}

impl IdleGovernor for Teo612 {
    fn name(&self) -> &'static str {
        "teo"
    }

    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice {
        if let Some(woken) = self.woken.take() {
            self.update(states, &woken);
        }
        (self.selected_at, self.tick_ns) = (asking.now, asking.tick_ns);
        self.sleep_length_ns = i64::MAX;
        self.choose(states, asking).unwrap_or_else(|index| Choice { index, stop_tick: false })
    }

    fn reflect(&mut self, woken: &Woken) {
        self.time_span_ns = time_span_ns(woken, self.selected_at, self.sleep_length_ns, self.tick_ns);
        self.woken = Some(*woken);
    }

    fn boxed_clone(&self) -> Box<dyn IdleGovernor> {
        Box::new(self.clone())
    }
}
