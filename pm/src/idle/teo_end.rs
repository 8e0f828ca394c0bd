//! How teo ends since 6.12.

use super::state::IdleStates;
use super::teo_6_1::find_shallower_state;
use super::{Asking, Choice};

/// `teo_select()` from `end:` on, 6.12 to 7.3. `Err`: the state, and the tick is retained. `chosen` is the state with the
/// shallowest that is enabled; `duration` the expected idle time, `delta_tick` that to the next event, ns.
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
