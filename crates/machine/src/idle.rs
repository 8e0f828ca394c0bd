//! Idle states, and what the processor makes of requests for deep ones.

use crate::{Amount, Origin};
use serde::Serialize;
use wakelab_sched::cpumask::CpuMask;

/// An idle state (`cpuidle/state*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The CPUs that have it.
    pub cpus: CpuMask,
    /// Its number: deeper states have higher ones.
    pub index: u32,
    /// `POLL`, `C1`, `C6`.
    pub name: String,
    /// The driver's description (`desc`).
    pub description: Option<String>,
    /// The longest time that it takes to leave the state, ns.
    pub exit_latency_ns: u64,
    /// The target residency: how long a CPU must stay so that the state saves energy, ns.
    pub residency_ns: u64,
    /// The power of a core whose CPUs are all in this state or a deeper one, uW.
    pub power_uw: Option<Amount>,
    /// Whether the state is switched off (`disable`).
    pub disabled: bool,
    /// Where the values were taken from.
    pub origin: Origin,
}

/// Demotion: the processor puts a core that is woken often into a shallower idle state than it requests (Intel:
/// auto-demotion, `MSR_PKG_CST_CONFIG_CONTROL`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Demotion {
    /// The idle state in which the core stays, by name.
    pub to: String,
    /// A core is demoted if its last sleep was shorter than this, us. If it sleeps for longer, it goes deeper.
    pub below_us: Amount,
    /// Where the values were taken from.
    pub origin: Origin,
}
