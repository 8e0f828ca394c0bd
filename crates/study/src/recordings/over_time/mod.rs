//! What a page shows over time of a recording or of a simulated run: what each CPU did, caches, frequencies and idle
//! states, and where wakees went.

mod builder;
mod time_bins;

pub(crate) use builder::OverTimeBuilder;

use std::collections::BTreeMap;
use wakelab_page::Heat;
use wakelab_sched::cpumask::Cpu;

/// A run over time. Times are those of the source, ns.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// The start.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
    /// The activity of each CPU, without the name of a side; `None` if the source has no switches.
    pub heat: Option<Heat>,
    /// By the lowest CPU of an LLC: the lowest and the highest utilisation in each bin of time.
    pub caches: BTreeMap<Cpu, Vec<CacheAt>>,
    /// By package: the mean frequency of busy CPUs, MHz.
    pub frequency: BTreeMap<u32, Vec<(u64, f64)>>,
    /// By package: its mean power with its cores and clusters, mW; empty if that is not known.
    pub power: BTreeMap<u32, Vec<(u64, f64)>>,
    /// The shares of the time of all CPUs in which they ran tasks or were in an idle state, %; empty if idle states are
    /// not known.
    pub states: Vec<StateOverTime>,
    /// The wake-ups by the LLC on which the wakee ran last and the LLC to which it went; for a simulation, only those
    /// of the measured time.
    pub moved: BTreeMap<(u32, u32), u64>,
    /// All LLCs.
    pub llcs: Vec<u32>,
}

impl OverTime {
    /// Whether there is anything for a chart over time.
    pub fn shows(&self) -> bool {
        let governed = !self.frequency.is_empty() || !self.states.is_empty() || !self.power.is_empty();
        self.heat.is_some() || !self.caches.is_empty() || governed
    }
}

/// An LLC at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheAt {
    /// The time, ns.
    pub t_ns: u64,
    /// The sum of the utilisation of its CPUs, % of their capacity.
    pub util_pct: f64,
    /// The `nr_idle_scan` that SIS_UTIL computed from it; `None` if SIS_UTIL is off.
    pub nr_idle_scan: Option<u32>,
}

/// The states of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// They run tasks.
    Running,
    /// They are idle, in the state of this number if the governor chose one.
    Idle(Option<u32>),
}

/// A state with its share of the time, by time.
pub type StateOverTime = (CpuState, Vec<(u64, f64)>);
