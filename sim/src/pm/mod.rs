//! Frequency, idle states and power of the simulated CPUs, where a side asks for a governor.
//!
//! What decides is in `wakelab-pm`; here is when it is asked, and what the hardware makes of the answer:
//!
//! ```text
//! averages change ─▶ cpufreq.rs: the policy's governor ─▶ a request ─(latency)─▶ clocks.rs: turbo, shared clocks
//!                                                                                        │
//! idle entry, exit ─▶ cpuidle.rs: the idle governor ─▶ active cores ─────────────────────┤
//!                                                                                        ▼
//! tick ─▶ scale.rs: APERF/MPERF ─▶ PELT's clock            speed.rs: work is spread anew; meter.rs: residency, energy
//! ```
//!
//! Without a side that asks, `System::pm` is `None`, and nothing of this is there.

mod build;
mod clocks;
mod cpufreq;
mod cpuidle;
mod demotion;
mod hardware;
mod meter;
mod model;
mod outcome;
pub(crate) mod rcu;
pub(crate) mod scale;
mod side;
pub(crate) mod speed;
mod state;
mod telling;
mod wheel;

pub use side::PmSide;

pub(crate) use model::PmModel;
pub(crate) use state::Pm;
