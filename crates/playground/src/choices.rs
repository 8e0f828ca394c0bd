//! The names that the page offers.

use serde::Serialize;
use wakelab_kernel::{Feature, Preset};
use wakelab_sched::select::{Reason, policy};
use wakelab_workload::{benchmarks, default_load, load_is_rate};

/// The names that can be chosen, and what the page says of them.
#[derive(Clone, Debug, Serialize)]
pub struct Choices {
    /// The version of the program.
    pub version: &'static str,
    /// The machines: name, description, number of CPUs.
    pub machines: Vec<(String, String, u32)>,
    /// The kernels' names, oldest first.
    pub kernels: Vec<&'static str>,
    /// The workloads.
    pub workloads: Vec<WorkloadChoice>,
    /// The switches that decide how an idle CPU is searched, and what each does.
    pub policies: Vec<(&'static str, &'static str)>,
    /// The other features that are modelled, and what each does.
    pub features: Vec<(&'static str, &'static str)>,
    /// The reasons by which a CPU is chosen, in the order in which frames count them, and the kind of each.
    pub reasons: Vec<(&'static str, Kind)>,
}

/// A workload.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadChoice {
    /// The name.
    pub name: String,
    /// A description of what it does.
    pub doc: &'static str,
    /// Whether it needs no load.
    pub own_load: Option<u32>,
    /// Whether its load is a rate.
    pub rate: bool,
}

/// The kind of a reason, by which the page colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An idle CPU was found without a search of the LLC.
    Fast,
    /// A search of the LLC found an idle CPU.
    Found,
    /// The search was not made, or found nothing: the target, though it is busy.
    FallBack,
    /// The wakee was put where it was for another reason.
    Other,
}

impl Kind {
    fn of(reason: Reason) -> Self {
        match reason {
            reason if reason.is_failed_search() => Kind::FallBack,
            Reason::Target | Reason::Prev | Reason::Recent => Kind::Fast,
            Reason::Smt
            | Reason::Core
            | Reason::CoreCpu
            | Reason::Scan
            | Reason::Oracle
            | Reason::Capacity
            | Reason::PrevFar
            | Reason::RecentFar => Kind::Found,
            _ => Kind::Other,
        }
    }
}

/// All that can be named.
pub fn choices() -> Choices {
    let is_policy = |feature: Feature| policy::switches().any(|switch| switch.feature == feature);
    let other = Feature::ALL.iter().copied().filter(|&one| one.modelled() && one != Feature::OWN && !is_policy(one));
    let workloads = benchmarks().iter().flat_map(|benchmark| {
        benchmark.cases().iter().map(|case| {
            let name = format!("{}:{}", benchmark.name(), case.name);
            WorkloadChoice { own_load: default_load(&name), rate: load_is_rate(&name), doc: case.doc, name }
        })
    });
    Choices {
        version: env!("CARGO_PKG_VERSION"),
        machines: wakelab_machine::all()
            .into_iter()
            .map(|machine| (machine.name, machine.description, machine.topology.nr_cpus()))
            .collect(),
        kernels: Preset::names(),
        workloads: workloads.collect(),
        policies: policy::switches().map(|switch| (switch.feature.name(), switch.does)).collect(),
        features: other.map(|feature| (feature.name(), feature.doc())).collect(),
        reasons: Reason::ALL.iter().map(|&reason| (reason.name(), Kind::of(reason))).collect(),
    }
}
