//! How long menu thinks the CPU will be idle.

use super::menu::{BUCKETS, DECAY, Menu, NSEC_PER_USEC, RESOLUTION};
use super::menu_typical::get_typical_interval;
use super::state::IdleStates;
use super::{Asking, RESIDENCY_THRESHOLD_NS};

const KTIME_MAX: u64 = i64::MAX as u64;

/// What was predicted.
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
            let multiplier = 1 + 10 * u64::from(asking.nr_iowaiters);
            latency_req = latency_req.min((ns / multiplier) as i64);
        } else if ns < asking.tick_ns {
            ns = if self.rules.stopped_takes_delta { delta_tick.max(0) as u64 } else { self.next_timer_ns };
        }
        Some(Predicted { ns, latency_req, delta_tick })
    }

    /// 6.12 and later; `None` if state 0 is the only choice.
    pub(super) fn predict_typical_first(&mut self, states: &IdleStates, asking: &Asking) -> Option<Predicted> {
        // 32 bits in the kernel, times a long.
        let mut ns = u64::from(get_typical_interval(&self.intervals, u32::MAX, self.rules.typical)) * NSEC_PER_USEC;
        let mut delta_tick = asking.tick_ns as i64 / 2;
        if ns > RESIDENCY_THRESHOLD_NS as u64 || asking.tick_stopped {
            delta_tick = self.look_at_timers(asking);
            ns = ns.min(u64::from(self.corrected_us()) * NSEC_PER_USEC);
            let safe = self.rules.safe_timer_range && self.next_timer_ns <= 2 * asking.tick_ns;
            if asking.tick_stopped && ns < asking.tick_ns && !safe {
                ns = self.next_timer_ns;
            }
        } else {
            self.next_timer_ns = KTIME_MAX;
            self.bucket = BUCKETS / 2 - 1;
        }
        let latency_req = asking.latency_req_ns;
        (!self.no_choice(states, asking)).then_some(Predicted { ns, latency_req, delta_tick })
    }

    fn no_choice(&self, states: &IdleStates, asking: &Asking) -> bool {
        let Some(next) = states.get(1).filter(|_| asking.latency_req_ns != 0) else { return true };
        let too_short = self.next_timer_ns < next.target_residency_ns || asking.latency_req_ns < next.exit();
        too_short && !states[0].disabled
    }
}
