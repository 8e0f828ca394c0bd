//! Frequency, idle states and power of the simulated CPUs, where a side asks for a governor.
//!
//! What decides is in `wakelab-pm`; here is when it is asked, and what the hardware makes of the answer:
//!
//! ```text
//! averages change ─▶ cpufreq.rs: the policy's governor ─▶ a request ─(latency)─▶ clocks.rs: turbo, shared clocks
//!                                                                                        │
//! idle entry, exit ─▶ cpuidle.rs: the idle governor ─▶ active cores ─────────────────────┤
//!                                                                                        ▼
//! tick ─▶ freq_invariance.rs: APERF/MPERF ─▶ PELT's clock        clocks.rs: the work of tasks is spread anew
//!                                                                power_meter.rs: residency, energy
//! ```
//!
//! Without a side that asks, `System::pm` is `None`, and nothing of this is there.

mod build;
pub(crate) mod clocks;
mod cpufreq;
mod cpuidle;
pub(crate) mod freq_invariance;
mod model;
mod power_meter;
pub(crate) mod rcu;
mod side;
mod state;

pub use side::{Caps, PmSide};

pub(crate) use model::PmModel;
pub(crate) use state::Pm;
