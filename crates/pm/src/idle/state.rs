//! Idle states, and how long a CPU polls.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One state (`struct cpuidle_state`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// `POLL`, `C1`, ...
    pub name: String,
    /// The longest time that leaving it takes, ns.
    pub exit_latency_ns: u64,
    /// The shortest stay that saves energy, ns.
    pub target_residency_ns: u64,
    /// The power of a CPU in it, µW.
    pub power_uw: u64,
    /// The CPU stays in C0 and looks for work (CPUIDLE_FLAG_POLLING).
    #[serde(default)]
    pub polling: bool,
    /// The user has switched it off.
    #[serde(default)]
    pub disabled: bool,
}

impl IdleState {
    /// The polling state that x86 has first (`cpuidle_poll_state_init()`).
    pub fn poll(power_uw: u64) -> IdleState {
        let name = "POLL".to_owned();
        IdleState { name, exit_latency_ns: 0, target_residency_ns: 0, power_uw, polling: true, disabled: false }
    }

    pub(super) fn exit(&self) -> i64 {
        self.exit_latency_ns as i64
    }

    pub(super) fn residency(&self) -> i64 {
        self.target_residency_ns as i64
    }
}

/// A CPU's states, the shallowest first: at least one and at most ten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleStates(Vec<IdleState>);

/// Why states cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdleStateError {
    /// None, or more than cpuidle has room for (CPUIDLE_STATE_MAX, 10).
    Count(usize),
    /// A state's exit latency or target residency is below that of the one before it.
    NotDeeper {
        /// Its name.
        name: String,
        /// `exit_latency_ns` or `target_residency_ns`.
        key: &'static str,
    },
    /// A state uses more than the one before it.
    PowerRises {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for IdleStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count} idle states: expected 1 to 10"),
            Self::NotDeeper { name, key } => {
                write!(
                    f,
                    "idle state {name}: `{key}` is below that of the state before it: list the shallowest state first"
                )
            }
            Self::PowerRises { name } => {
                write!(f, "idle state {name}: it uses more power than the state before it: a deeper state uses less")
            }
        }
    }
}

impl std::error::Error for IdleStateError {}

impl IdleStates {
    /// An error says which state is not deeper than the one before it.
    pub fn new(states: Vec<IdleState>) -> Result<IdleStates, IdleStateError> {
        if !(1..=10).contains(&states.len()) {
            return Err(IdleStateError::Count(states.len()));
        }
        for pair in states.windows(2) {
            let (before, state) = (&pair[0], &pair[1]);
            let not_deeper = |key| IdleStateError::NotDeeper { name: state.name.clone(), key };
            if state.exit_latency_ns < before.exit_latency_ns {
                return Err(not_deeper("exit_latency_ns"));
            }
            if state.target_residency_ns < before.target_residency_ns {
                return Err(not_deeper("target_residency_ns"));
            }
            if state.power_uw > before.power_uw {
                return Err(IdleStateError::PowerRises { name: state.name.clone() });
            }
        }
        Ok(IdleStates(states))
    }
}

impl std::ops::Deref for IdleStates {
    type Target = [IdleState];

    fn deref(&self) -> &[IdleState] {
        &self.0
    }
}

const CPUIDLE_POLL_MIN: u64 = 10_000;

/// How long a CPU polls before it asks the governor again, ns (`cpuidle_poll_time()`, 6.1): until a deeper state would
/// have been worth it, and a sixteenth of a tick at most.
pub fn cpuidle_poll_time(states: &IdleStates, tick_ns: u64) -> u64 {
    let max = tick_ns / 16;
    let mut deeper = states.iter().skip(1).filter(|state| !state.disabled).map(|state| state.target_residency_ns);
    deeper.find(|&residency| residency >= CPUIDLE_POLL_MIN).map_or(max, |residency| residency.min(max))
}
