//! Polling.

use super::state::IdleStates;

const CPUIDLE_POLL_MIN: u64 = 10_000;

/// How long a CPU polls before it asks the governor again, ns (`cpuidle_poll_time()`, 6.1): until a deeper state would
/// have been worth it, and a sixteenth of a tick at most.
pub fn cpuidle_poll_time(states: &IdleStates, tick_ns: u64) -> u64 {
    let max = tick_ns / 16;
    let mut deeper = states.iter().skip(1).filter(|state| !state.disabled).map(|state| state.target_residency_ns);
    deeper.find(|&residency| residency >= CPUIDLE_POLL_MIN).map_or(max, |residency| residency.min(max))
}
