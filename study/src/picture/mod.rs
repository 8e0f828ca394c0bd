//! What a page shows of one run besides its statistics: what each CPU did, the caches, frequencies and idle states over time,
//! where wakees went, and some wake-ups explained. Simulated runs are listened to ([`Pictured`]), recordings are read
//! ([`crate::stats::stats_and_pictures`]); either takes the same memory however long it is.

mod bins;
mod chosen;
mod live;
mod painter;
mod runner;
mod values;

pub use chosen::{Chosen, WhyChosen, chosen};
pub(crate) use live::Live;
pub(crate) use painter::Painter;
pub use runner::{Pictured, Pictures};

use std::collections::BTreeMap;
use wakelab_measure::{Latency, StateChange};
use wakelab_page::Heat;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::Reason;

/// A simulated run.
#[derive(Clone, Debug)]
pub struct Picture {
    /// How long wakees waited until they ran, of the measured time.
    pub waits: Latency,
    /// Wake-ups of the measured time by the reason of their choice.
    pub reasons: BTreeMap<Reason, u64>,
    /// The whole run over time.
    pub over_time: OverTime,
    /// When measuring began, ns.
    pub settle_ns: u64,
    /// Every change of state.
    pub changes: Vec<StateChange>,
    /// Names of idle states, by number.
    pub idle_states: Vec<String>,
    /// The wake-up of the measured time after which the wakee waited longest, and one for each reason; or why there are none.
    pub chosen: Result<Vec<Chosen>, String>,
}

/// What happened over time. Times are those of the source, ns.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// When it begins.
    pub start_ns: u64,
    /// When it was over.
    pub end_ns: u64,
    /// What each CPU did, without a side's name; `None` where no switches tell it.
    pub heat: Option<Heat>,
    /// By the lowest CPU of a cache: the lowest and the highest utilisation of stretches of time, by time.
    pub caches: BTreeMap<Cpu, Vec<CacheAt>>,
    /// By package: the mean frequency of busy CPUs, MHz.
    pub frequency: BTreeMap<u32, Vec<(u64, f64)>>,
    /// By package: the mean power of it with its cores and clusters, mW; empty where that is not known.
    pub power: BTreeMap<u32, Vec<(u64, f64)>>,
    /// Shares of the time of all CPUs in which they ran tasks or were in an idle state, %; empty where these are not known.
    pub states: Vec<StateOverTime>,
    /// Wake-ups by the cache on which the wakee ran last and the one to which it went; of a simulation those of the measured
    /// time.
    pub moved: BTreeMap<(u32, u32), u64>,
    /// All caches.
    pub llcs: Vec<u32>,
}

impl OverTime {
    /// Whether there is anything that a chart over time shows.
    pub fn shows(&self) -> bool {
        let governed = !self.frequency.is_empty() || !self.states.is_empty() || !self.power.is_empty();
        self.heat.is_some() || !self.caches.is_empty() || governed
    }
}

/// A cache at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheAt {
    /// When.
    pub t_ns: u64,
    /// Sum of the utilisation of its CPUs, % of their capacity.
    pub util_pct: f64,
    /// What SIS_UTIL made of it; `None` where it is off.
    pub nr_idle_scan: Option<u32>,
}

/// What CPUs are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// They run tasks.
    Running,
    /// They are idle, in the state of this number if its governor chose one.
    Idle(Option<u32>),
}

/// A state, and its share of the time by time.
pub type StateOverTime = (CpuState, Vec<(u64, f64)>);
