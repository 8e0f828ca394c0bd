//! What happens to the tick when a CPU goes idle.

use super::state::IdleStates;
use super::{Asking, Choice, IdleGovernor};

/// What becomes of the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tick {
    /// It is stopped until the next timer, or stays stopped (`tick_nohz_idle_stop_tick()`).
    Stop,
    /// It goes on.
    Retain,
}

/// Whom the idle loop asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ask {
    /// The governor, always.
    Governor,
    /// The same, but where there is only one state it is entered without asking, and the tick is stopped if the last idle
    /// period ended by it (5.10 to 7.3 as maintained).
    OnlyState {
        /// The tick ended the last idle period (`got_tick`).
        got_tick: bool,
    },
}

/// The CPU goes idle: the state to enter, and the tick (`cpuidle_idle_call()`, 6.1 and 7.3). The tick is stopped only if
/// the next timer is more than a tick away (`tick_nohz_next_event()`); one that is stopped stays so.
pub fn idle_entry(governor: &mut dyn IdleGovernor, states: &IdleStates, asking: &Asking, ask: Ask) -> (usize, Tick) {
    let Choice { index, stop_tick } = match ask {
        Ask::OnlyState { got_tick } if states.len() == 1 => Choice { index: 0, stop_tick: got_tick },
        _ => governor.select(states, asking),
    };
    let far = asking.sleep_length_ns > asking.tick_ns as i64;
    let tick = if asking.tick_stopped || (stop_tick && far) { Tick::Stop } else { Tick::Retain };
    (index, tick)
}
