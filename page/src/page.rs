//! What a page says of the run, and its sections.

use crate::section::{
    comparison::Comparison, explained::Explained, heat::Heat, latency::Latency, llc::LlcSeries, migrations::Migrations,
    reasons::Reasons, search_cost::SearchCost, statistic::Statistic, tables::Section, timeline::Timeline,
    topology::Topology,
};
use serde::Serialize;

/// All that a page shows. What is empty or `None` has no section.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Page {
    /// The page's headline.
    pub title: String,
    /// A sentence below the headline: what the reader should know first. May be empty.
    pub lead: String,
    /// What was run.
    pub run: Run,
    /// What is compared or shown, *base* first. Sides are named by [`Side::name`] everywhere else; their colours come in
    /// this order. [`crate::limits::SIDES`] at most.
    pub sides: Vec<Side>,
    /// The machine, to be drawn.
    pub machine: Option<Topology>,
    /// One side against the other over the load.
    pub comparison: Option<Comparison>,
    /// Search statistics over the load: `sis_search`, `dom_eff` and so on.
    pub search: Vec<Statistic>,
    /// How many looks or how much time a search took.
    pub search_cost: Vec<SearchCost>,
    /// Percentiles of the time from wake-up to run.
    pub latencies: Vec<Latency>,
    /// Where wake-ups landed, by reason.
    pub reasons: Vec<Reasons>,
    /// Tasks that moved between LLCs.
    pub migrations: Vec<Migrations>,
    /// What each CPU did over time; [`crate::limits::HEATS`] at most.
    pub heat: Vec<Heat>,
    /// Utilisation and `nr_idle_scan` of LLCs over time.
    pub llcs: Vec<LlcSeries>,
    /// Frequency, idle states, power and whatever else goes over time.
    pub timelines: Vec<Timeline>,
    /// What perfect knowledge would have changed, over the load.
    pub regret: Vec<Statistic>,
    /// Chosen wake-ups, explained.
    pub explained: Vec<Explained>,
    /// Sections of paragraphs and tables, in this order.
    pub sections: Vec<Section>,
    /// What the reader has to know to judge the numbers.
    pub notes: Vec<String>,
    /// Constants that are assumed.
    pub assumed: Vec<Assumed>,
}

/// Where numbers come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// From the simulator.
    #[default]
    Simulated,
    /// From a running kernel.
    Measured,
    /// From both; the texts say which is which.
    Both,
}

/// What was run. Empty texts are left out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Run {
    /// The command that makes this page again.
    pub command: String,
    /// wakelab's version.
    pub version: String,
    /// Where the numbers come from.
    pub kind: Kind,
    /// The kernel's name, such as `v6.12`.
    pub kernel: String,
    /// The machine's name.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// Anything else, as name and value: repeats, seed, time measured (with its unit).
    pub facts: Vec<(String, String)>,
}

/// One of what is compared.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Side {
    /// Its name, such as `base`; the same everywhere in the page.
    pub name: String,
    /// What is switched on top of the kernel's features, such as `NO_SIS_UTIL`. Empty for nothing.
    pub switches: String,
    /// The features that it ran with.
    pub features: Vec<Feature>,
}

/// A scheduler feature of a side.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Feature {
    /// Its name in the kernel's features file, without `NO_`.
    pub name: String,
    /// Whether it is on.
    pub on: bool,
}

/// A constant that no source gives.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Assumed {
    /// What it belongs to, such as the machine's name.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Its value with the unit.
    pub value: String,
    /// The range within which it may be, with the unit. May be empty.
    pub range: String,
    /// Why this value.
    pub why: String,
}
