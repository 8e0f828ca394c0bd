//! "shallow": the governor that always chooses state 0, the shallowest, against which others were measured.
//!
//! "[RFC PATCH v3 0/2] cpuidle: teo: Introduce util-awareness", Kajetan Puchalski, 31 October 2022, has its results.
//! Its code was not posted. Here it leaves the tick to `cpuidle_idle_call()`, which stops it unless a governor objects;
//! while a CPU polls the tick goes on, as under the other governors.

use super::{Asking, Choice, IdleGovernor, IdleStates, Woken};

/// The governor. It keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Shallow;

impl IdleGovernor for Shallow {
    fn name(&self) -> &'static str {
        "shallow"
    }

    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice {
        let index = states.iter().position(|state| !state.disabled).unwrap_or(0);
        Choice { index, stop_tick: !states[index].polling || asking.tick_stopped }
    }

    fn reflect(&mut self, _: &Woken) {}

    fn boxed_clone(&self) -> Box<dyn IdleGovernor> {
        Box::new(*self)
    }
}
