//! menu (`drivers/cpuidle/governors/menu.c`): how long it predicts the CPU to be idle, and the state that it selects.

use super::state::IdleStates;
use super::{Asking, Choice, IdleGovernor, MenuRules, RESIDENCY_THRESHOLD_NS, Typical, Woken};

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

    /// Goes through the states. `Err`: the tick is stopped, and this is the state.
    fn deepest_that_fits(
        &self,
        states: &IdleStates,
        asking: &Asking,
        predicted: &mut Predicted,
    ) -> Result<Option<usize>, usize> {
        let mut found = None;
        for (i, state) in states.iter().enumerate().filter(|(_, state)| !state.disabled) {
            let idx = *found.get_or_insert(i);
            let fits = state.target_residency_ns <= predicted.ns;
            let too_slow = state.exit() > predicted.latency_req;
            if self.rules.latency_first && too_slow {
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
                && match self.rules.latency_first {
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

    /// `menu_update()`: corrects the prediction by the last idle time.
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
        let mut index = match self.deepest_that_fits(states, asking, &mut predicted) {
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

const KTIME_MAX: u64 = i64::MAX as u64;

/// A prediction.
pub(super) struct Predicted {
    pub(super) ns: u64,
    pub(super) latency_req: i64,
    pub(super) delta_tick: i64,
}

impl Menu {
    /// `which_bucket()`: by magnitude, and by whether tasks wait for I/O.
    fn which_bucket(&self, duration_ns: u64, nr_iowaiters: u32) -> usize {
        let base = if self.rules.iowaiters && nr_iowaiters != 0 { BUCKETS / 2 } else { 0 };
        let bounds = [10, 100, 1_000, 10_000, 100_000].map(|us| us * NSEC_PER_USEC);
        base + bounds.iter().take_while(|&&bound| duration_ns >= bound).count()
    }

    /// The timers' prediction, corrected, in µs, rounded.
    fn corrected_us(&self) -> u32 {
        let unit = u128::from(RESOLUTION * u64::from(DECAY) * NSEC_PER_USEC);
        // 64 bits in the kernel, which a sleep of 26 days overflows; here it is cut to what an unsigned int holds.
        let factor = u128::from(self.correction_factor[self.bucket]);
        let us = (u128::from(self.next_timer_ns) * factor + unit / 2) / unit;
        u32::try_from(us).unwrap_or(u32::MAX)
    }

    fn look_at_timers(&mut self, asking: &Asking) -> i64 {
        let (delta, delta_tick) = match asking.sleep_length_ns {
            // 5.10 does not look whether the time is below 0; a simulator has no late timers.
            ..0 => (0, 0),
            delta => (delta as u64, asking.delta_tick_ns),
        };
        self.next_timer_ns = delta;
        self.bucket = self.which_bucket(delta, asking.nr_iowaiters);
        delta_tick
    }

    /// 5.3 to 6.1; `None` if state 0 is the only choice.
    pub(super) fn predict(&mut self, states: &IdleStates, asking: &Asking) -> Option<Predicted> {
        let delta_tick = self.look_at_timers(asking);
        if self.no_choice(states, asking) {
            return None;
        }
        let by_timer = self.corrected_us();
        let us = by_timer.min(get_typical_interval(&self.intervals, by_timer, self.rules.typical));
        let mut ns = u64::from(us) * NSEC_PER_USEC;
        let mut latency_req = asking.latency_req_ns;
        if !asking.tick_stopped {
            latency_req = latency_req.min(self.interactivity_req(asking, ns));
        } else if ns < asking.tick_ns {
            ns = if self.rules.stopped_takes_delta { delta_tick.max(0) as u64 } else { self.next_timer_ns };
        }
        Some(Predicted { ns, latency_req, delta_tick })
    }

    /// 6.6 and later; `None` if state 0 is the only choice.
    pub(super) fn predict_typical_first(&mut self, states: &IdleStates, asking: &Asking) -> Option<Predicted> {
        // 32 bits in the kernel, times a long.
        let mut ns = u64::from(get_typical_interval(&self.intervals, u32::MAX, self.rules.typical)) * NSEC_PER_USEC;
        let mut delta_tick = asking.tick_ns as i64 / 2;
        let stopped_reads_timers = asking.tick_stopped && self.rules.stopped_reads_timers;
        if ns > RESIDENCY_THRESHOLD_NS as u64 || stopped_reads_timers {
            delta_tick = self.look_at_timers(asking);
            ns = ns.min(u64::from(self.corrected_us()) * NSEC_PER_USEC);
            let safe = self.rules.safe_timer_range && self.next_timer_ns <= 2 * asking.tick_ns;
            if stopped_reads_timers && ns < asking.tick_ns && !safe {
                ns = self.next_timer_ns;
            }
        } else {
            self.next_timer_ns = KTIME_MAX;
            self.bucket = self.which_bucket(KTIME_MAX, asking.nr_iowaiters);
        }
        if self.no_choice(states, asking) {
            return None;
        }
        let mut latency_req = asking.latency_req_ns;
        if asking.tick_stopped && !self.rules.stopped_reads_timers && ns < asking.tick_ns {
            ns = self.next_timer_ns;
        } else if !asking.tick_stopped && self.rules.iowaiters {
            latency_req = latency_req.min(self.interactivity_req(asking, ns));
        }
        Some(Predicted { ns, latency_req, delta_tick })
    }

    /// The exit latency that tasks which wait for I/O allow (`performance_multiplier()`, up to 6.8).
    fn interactivity_req(&self, asking: &Asking, predicted_ns: u64) -> i64 {
        (predicted_ns / (1 + 10 * u64::from(asking.nr_iowaiters))) as i64
    }

    fn no_choice(&self, states: &IdleStates, asking: &Asking) -> bool {
        let Some(next) = states.get(1).filter(|_| asking.latency_req_ns != 0) else { return true };
        let too_short = self.next_timer_ns < next.target_residency_ns || asking.latency_req_ns < next.exit();
        too_short && !states[0].disabled
    }
}

/// How many idle times menu remembers.
pub const INTERVALS: usize = 8;

/// The intervals that fit between the thresholds.
struct Kept {
    min: u32,
    max: u32,
    count: u64,
    avg: u64,
    variance: u64,
}

impl Kept {
    /// The average is small against what it varies by, or hardly varies at all.
    fn is_typical(&self) -> bool {
        let steady = self.avg * self.avg > self.variance.saturating_mul(36) && self.is_most();
        self.variance <= u64::MAX / 36 && (steady || self.variance <= 400)
    }

    fn is_most(&self) -> bool {
        self.count * 4 >= INTERVALS as u64 * 3
    }
}

fn keep(intervals: &[u32; INTERVALS], fits: impl Fn(u32) -> bool, form: Typical) -> Kept {
    let kept = || intervals.iter().copied().filter(|&value| fits(value));
    let count = kept().count() as u64;
    let divisor = count.max(1);
    let avg = kept().map(u64::from).sum::<u64>() / divisor;
    let variance = match form {
        // The mean of the squares less the square of the rounded mean.
        Typical::BothSides => (sum(kept().map(|v| u64::from(v).pow(2))) / divisor).wrapping_sub(avg * avg),
        _ => sum(kept().map(|v| u64::from(v).abs_diff(avg).pow(2))) / divisor,
    };
    Kept { min: kept().min().unwrap_or(u32::MAX), max: kept().max().unwrap_or(0), count, avg, variance }
}

/// A sum of squares, of which the longest times make one that wraps, as the kernel's u64 does.
fn sum(squares: impl Iterator<Item = u64>) -> u64 {
    squares.fold(0, u64::wrapping_add)
}

/// The typical idle time, µs, of the last ones; [`u32::MAX`] if there is none (`get_typical_interval()`).
/// `predicted_us` is what the timers predict; only 5.3 to 6.1 read it.
pub fn get_typical_interval(intervals: &[u32; INTERVALS], predicted_us: u32, form: Typical) -> u32 {
    let (mut above, mut below) = match form {
        Typical::BothSides => (-1, i64::from(u32::MAX)),
        // The largest int is still kept.
        _ => (-1, i64::from(i32::MAX) + 1),
    };
    loop {
        let kept = keep(intervals, |value| i64::from(value) > above && i64::from(value) < below, form);
        let useless = match form {
            Typical::BelowPrediction => kept.min >= predicted_us,
            _ => kept.max == 0,
        };
        if useless {
            return u32::MAX;
        }
        if kept.is_typical() {
            return kept.avg as u32;
        }
        if kept.count * 4 <= INTERVALS as u64 * 3 {
            return u32::MAX;
        }
        // A threshold of the first form is the largest less one, and what equals it is kept: the largest goes.
        match form {
            Typical::BothSides if kept.avg - u64::from(kept.min) > u64::from(kept.max) - kept.avg => {
                above = i64::from(kept.min);
            }
            _ => below = i64::from(kept.max),
        }
    }
}
