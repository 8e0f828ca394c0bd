//! Idle states and the governors that choose among them (`drivers/cpuidle/`).
//!
//! ```text
//! goes idle:  select(states, Asking) ──▶ Choice { index, stop_tick }     wakes up:  reflect(Woken)
//! ```
//!
//! Each CPU has a governor of its own. haltpoll and ladder are not modelled.

mod menu;
mod shallow;
mod state;
mod teo;
mod teo_6_1;
mod teo_6_12;
mod teo_7_3;

pub use menu::{INTERVALS, Menu, get_typical_interval};
pub use shallow::Shallow;
pub use state::{IdleState, IdleStateError, IdleStates, cpuidle_poll_time};
pub use teo_6_1::Teo61;
pub use teo_6_12::Teo612;
pub use teo_7_3::Teo73;
pub use wakelab_kernel::{MenuRules, Typical};

use wakelab_kernel::{CpuidleRules, Teo};

/// A governor is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asking {
    /// Now, ns.
    pub now: u64,
    /// Time to the next timer if the tick is stopped, ns (`tick_nohz_get_sleep_length()`); may be below 0.
    pub sleep_length_ns: i64,
    /// Time to the next event, of which the tick is one unless it is stopped, ns (`delta_next`).
    pub delta_tick_ns: i64,
    /// The tick is stopped already (`tick_nohz_tick_stopped()`).
    pub tick_stopped: bool,
    /// A tick, ns.
    pub tick_ns: u64,
    /// The longest exit latency allowed, ns (`cpuidle_governor_latency_req()`); [`i64::MAX`] if there is no demand.
    pub latency_req_ns: i64,
    /// Tasks that went to sleep here for I/O (`nr_iowait_cpu()`).
    pub nr_iowaiters: u32,
    /// `sched_cpu_util()`: the CPU's effective utilisation, 0..=1024. Only teo_util reads it.
    pub cpu_util: u64,
    /// `arch_scale_cpu_capacity()`, 1..=1024. Only teo_util reads it.
    pub capacity: u64,
}

/// A governor's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The state.
    pub index: usize,
    /// The tick may be stopped.
    pub stop_tick: bool,
}

/// The outcome of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Woken {
    /// Now, ns.
    pub now: u64,
    /// The state that was entered.
    pub index: usize,
    /// Time from entry to the end of the exit, ns (`last_residency_ns`).
    pub residency_ns: u64,
    /// The tick woke the CPU (`tick_nohz_idle_got_tick()`).
    pub by_tick: bool,
    /// Polling ended because its time was up (`poll_time_limit`; [`cpuidle_poll_time`]).
    pub poll_time_limit: bool,
}

/// An idle governor on one CPU (`struct cpuidle_governor`).
pub trait IdleGovernor: std::fmt::Debug + Send + Sync {
    /// As in `current_governor`.
    fn name(&self) -> &'static str;

    /// Chooses a state.
    fn select(&mut self, states: &IdleStates, asking: &Asking) -> Choice;

    /// Takes note of what came of the choice.
    fn reflect(&mut self, woken: &Woken);

    /// A copy in a box.
    fn boxed_clone(&self) -> Box<dyn IdleGovernor>;
}

impl Clone for Box<dyn IdleGovernor> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// A state whose target residency is below this is entered without asking the timers, ns
/// (`RESIDENCY_THRESHOLD_NS`, since 6.12 at least).
const RESIDENCY_THRESHOLD_NS: i64 = 15_000;

/// An idle governor, described.
#[derive(Clone, Copy, Debug)]
pub struct IdleAbout {
    /// Its name.
    pub name: &'static str,
    /// A description, in a sentence.
    pub what: &'static str,
    /// Makes one for a CPU, in a kernel version's form; `None` if that form is not modelled.
    pub make: fn(&CpuidleRules) -> Option<Box<dyn IdleGovernor>>,
}

/// Every idle governor, the default first.
pub static IDLE_GOVERNORS: &[IdleAbout] = &[
    IdleAbout {
        name: "menu",
        what: "the next timer, corrected by how long the CPU slept before, or an interval that repeats itself",
        make: |rules| Some(Box::new(Menu::new(rules.menu))),
    },
    IdleAbout {
        name: "teo",
        what: "the next timer, unless most wake-ups lately came earlier",
        make: |rules| {
            Some(match rules.teo? {
                Teo::Recent => Box::new(Teo61::default()),
                Teo::TickHits => Box::new(Teo612::default()),
                Teo::ShortIdles => Box::new(Teo73::default()),
            })
        },
    },
    IdleAbout {
        name: "teo_util",
        what: "teo as posted in October 2022: a CPU above 1/64 of its capacity stays in a shallow state",
        make: |rules| match rules.teo? {
            Teo::Recent => Some(Box::new(Teo61::util_aware())),
            Teo::TickHits | Teo::ShortIdles => None,
        },
    },
    IdleAbout {
        name: "shallow",
        what: "always the shallowest state, a bound on what a governor can do for latencies",
        make: |_| Some(Box::new(Shallow)),
    },
];
