//! Parts that the forms of teo share (`drivers/cpuidle/governors/teo.c`): how a wake-up is measured, and how the tick
//! is kept.

use super::state::IdleStates;
use super::{Asking, Choice, Woken};

/// The amount that an event adds to its metric (`PULSE`).
pub(super) const PULSE: u32 = 1024;
/// Metrics lose an eighth at each update (`DECAY_SHIFT`).
pub(super) const DECAY_SHIFT: u32 = 3;
/// How many idle states cpuidle has room for (`CPUIDLE_STATE_MAX`).
pub(super) const STATES: usize = 10;

/// `teo_find_shallower_state()`: the deepest enabled state below `from` that is worth `duration`, or the shallowest.
pub(super) fn find_shallower_state(states: &IdleStates, from: usize, duration: i64) -> usize {
    let mut found = from;
    for i in (0..from).rev().filter(|&i| !states[i].disabled) {
        found = i;
        if states[i].residency() <= duration {
            break;
        }
    }
    found
}

/// `teo_select()` from `end:` on, 6.12 to 7.3. `Err`: the state, and the tick is retained. `chosen` is the state with
/// the shallowest that is enabled; `duration` the expected idle time, `delta_tick` that to the next event, ns.
pub(super) fn stop_or_retain(
    states: &IdleStates,
    asking: &Asking,
    chosen: (usize, usize),
    duration: i64,
    delta_tick: i64,
) -> Result<Choice, usize> {
    let (index, shallowest) = chosen;
    if (!states[index].polling && duration >= asking.tick_ns as i64) || asking.tick_stopped {
        return Ok(Choice { index, stop_tick: true });
    }
    // The tick would come before the state is worth it.
    let too_deep = index > shallowest && states[index].residency() > delta_tick;
    Err(if too_deep { find_shallower_state(states, index, delta_tick) } else { index })
}

/// How long the CPU slept, by what is known, ns: a wake-up as late as the timer is taken for one by the timer, and half
/// of the exit latency for the mean one (`teo_update()`).
pub(super) fn measured_ns(states: &IdleStates, woken: &Woken, time_span_ns: i64, sleep_length_ns: i64) -> u64 {
    if time_span_ns >= sleep_length_ns {
        return u64::MAX;
    }
    let latency = states[woken.index].exit_latency_ns;
    if woken.residency_ns >= latency { woken.residency_ns - latency / 2 } else { woken.residency_ns / 2 }
}

/// Time since the selection, ns; a wake-up by the tick or by the end of polling counts as one by the timer
/// (`teo_reflect()`).
pub(super) fn time_span_ns(woken: &Woken, selected_at: u64, sleep_length_ns: i64, tick_ns: u64) -> i64 {
    let safety_net = woken.by_tick && sleep_length_ns > tick_ns as i64;
    if woken.poll_time_limit || safety_net { sleep_length_ns } else { woken.now.wrapping_sub(selected_at) as i64 }
}
