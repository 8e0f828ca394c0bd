//! What teo of 6.1 and 6.12 makes of a wake-up.

use super::Woken;
use super::state::IdleStates;

/// How long the CPU slept, by what is known, ns: a wake-up as late as the timer is taken for one by the timer, and half of
/// the exit latency for the mean one (`teo_update()`).
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
