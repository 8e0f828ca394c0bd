//! teo of 5.15 to 6.2 or so (`drivers/cpuidle/governors/teo.c`, 6.1).

use super::state::IdleStates;
use super::teo::{DECAY_SHIFT, PULSE, STATES, find_shallower_state, measured_ns, time_span_ns};
use super::{Asking, Choice, IdleGovernor, Woken};

const NR_RECENT: usize = 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    intercepts: u32,
    hits: u32,
    recent: u32,
}

/// teo on one CPU (`struct teo_cpu`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teo61 {
    woken: Option<Woken>,
    selected_at: u64,
    time_span_ns: i64,
    sleep_length_ns: i64,
    bins: [Bin; STATES],
    total: u32,
    next_recent: usize,
    recent: [Option<usize>; NR_RECENT],
    tick_ns: u64,
    /// It reads the CPU's utilisation: teo_util.
    util_aware: bool,
}

/// A CPU is utilized above its capacity shifted by this (`UTIL_THRESHOLD_SHIFT`).
const UTIL_THRESHOLD_SHIFT: u32 = 6;

/// Sums over the states below the candidate.
#[derive(Clone, Copy, Default)]
struct Sums {
    intercepts: u32,
    hits: u32,
    recent: u32,
}

impl Teo61 {
    /// teo that keeps utilized CPUs in shallow states: "[RFC PATCH v4 2/2] cpuidle: teo: Introduce util-awareness",
    /// Kajetan Puchalski, 2 November 2022, by the rule of v3. It was merged in another form for 6.3, and removed in
    /// 2024.
    ///
    /// - With two states, a utilized CPU takes the shallowest that does not poll, whatever the metrics say.
    /// - With more, a utilized CPU for which teo chooses state 1 takes state 0, if that does not poll.
    pub fn util_aware() -> Self {
        Teo61 { util_aware: true, ..Teo61::default() }
    }

    /// `teo_cpu_is_utilized()`.
    fn is_utilized(&self, asking: &Asking) -> bool {
        self.util_aware && asking.cpu_util > asking.capacity >> UTIL_THRESHOLD_SHIFT
    }

    /// `teo_update()`.
    fn update(&mut self, states: &IdleStates, woken: &Woken) {
        let measured = measured_ns(states, woken, self.time_span_ns, self.sleep_length_ns);
        self.total = 0;
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
        let slot = self.next_recent;
        self.next_recent = (slot + 1) % NR_RECENT;
        if let Some(old) = self.recent[slot] {
            self.bins[old].recent -= 1;
        }
        if by_timer == by_duration {
            self.bins[by_timer].hits += PULSE;
            self.recent[slot] = None;
        } else {
            let bin = &mut self.bins[by_duration];
            bin.intercepts += PULSE;
            bin.recent += 1;
            self.recent[slot] = Some(by_duration);
        }
        self.total += PULSE;
    }

    /// The deepest state that the timer allows, within the latency that is allowed too, and the sums below it. `None`:
    /// no choice, with the state to take.
    fn candidate(&self, states: &IdleStates, asking: &Asking) -> Result<(usize, usize, usize, Sums), (usize, usize)> {
        let duration = asking.sleep_length_ns;
        let (mut idx, mut idx0, mut constraint) = (None, 0, 0);
        let (mut sums, mut below) = (Sums::default(), Sums::default());
        if states.len() < 2 {
            return Err((0, idx0));
        }
        if !states[0].disabled {
            idx = Some(0);
            if states[1].residency() > duration {
                return Err((0, idx0));
            }
        }
        if states.len() < 3
            && self.is_utilized(asking)
            && let Some(shallowest) = states.iter().position(|state| !state.disabled && !state.polling)
        {
            return Err((shallowest, idx0));
        }
        for (i, state) in states.iter().enumerate().skip(1) {
            let bin = self.bins[i - 1];
            sums.intercepts += bin.intercepts;
            sums.hits += bin.hits;
            sums.recent += bin.recent;
            if state.disabled {
                continue;
            }
            if idx.is_none() {
                (idx, idx0) = (Some(i), i);
            }
            if state.residency() > duration {
                break;
            }
            idx = Some(i);
            if state.exit() <= asking.latency_req_ns {
                constraint = i;
            }
            below = sums;
        }
        match idx {
            None => Err((0, idx0)),
            Some(idx) if idx == idx0 => Err((idx, idx0)),
            Some(idx) => Ok((idx, idx0, constraint, below)),
        }
    }

    /// A shallower state, if wake-ups come early, with the idle time that it stands for.
    fn shallower(&self, states: &IdleStates, asking: &Asking, idx: usize, below: Sums) -> (usize, i64) {
        let by_intercepts = 2 * below.intercepts > self.total - below.hits;
        let by_recent = below.recent > NR_RECENT as u32 / 2;
        let candidate = (idx, asking.sleep_length_ns);
        if !by_intercepts && !by_recent {
            return candidate;
        }
        let time_ok = |span: i64| !asking.tick_stopped || span >= asking.tick_ns as i64;
        let mut suitable = candidate;
        let mut sums = Sums::default();
        for i in (0..idx).rev() {
            sums.intercepts += self.bins[i].intercepts;
            sums.recent += self.bins[i].recent;
            let span = (states[i].residency() + states[i + 1].residency()) / 2;
            let enough_recent = !by_recent || 2 * sums.recent > below.recent;
            let enough_intercepts = !by_intercepts || 2 * sums.intercepts > below.intercepts;
            if enough_recent && enough_intercepts {
                return if time_ok(span) && !states[i].disabled { (i, span) } else { suitable };
            }
            if states[i].disabled {
                continue;
            }
            if !time_ok(span) {
                if suitable.0 != idx {
                    continue;
                }
                break;
            }
            suitable = (i, span);
        }
        candidate
    }
}

impl IdleGovernor for Teo61 {
    fn name(&self) -> &'static str {
        if self.util_aware { "teo_util" } else { "teo" }
    }

    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice {
        if let Some(woken) = self.woken.take() {
            self.update(states, &woken);
        }
        self.selected_at = asking.now;
        self.sleep_length_ns = asking.sleep_length_ns;
        self.tick_ns = asking.tick_ns;

        let (mut index, idx0, duration) = match self.candidate(states, asking) {
            Err((index, idx0)) => (index, idx0, asking.sleep_length_ns),
            Ok((candidate, idx0, constraint, below)) => {
                let (index, duration) = self.shallower(states, asking, candidate, below);
                let index = index.min(constraint);
                let shallower = index == 1 && self.is_utilized(asking) && !states[0].disabled && !states[0].polling;
                (if shallower { 0 } else { index }, idx0, duration)
            }
        };
        let retain = (states[index].polling || duration < asking.tick_ns as i64) && !asking.tick_stopped;
        if retain && index > idx0 && states[index].residency() > asking.delta_tick_ns {
            index = find_shallower_state(states, index, asking.delta_tick_ns);
        }
        Choice { index, stop_tick: !retain }
    }

    fn reflect(&mut self, woken: &Woken) {
        self.time_span_ns = time_span_ns(woken, self.selected_at, self.sleep_length_ns, self.tick_ns);
        self.woken = Some(*woken);
    }

    fn boxed_clone(&self) -> Box<dyn IdleGovernor> {
        Box::new(self.clone())
    }
}
