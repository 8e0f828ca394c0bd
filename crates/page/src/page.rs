//! The data of a whole page: what was run, and what its sections show.

use crate::section::comparison::{Comparison, Metric};
use crate::section::heat::Heat;
use crate::section::latency::Latency;
use crate::section::migrations::Migrations;
use crate::section::over_time::{LlcSeries, Timeline};
use crate::section::search::{SearchCost, Statistic};
use crate::section::tables::Section;
use crate::section::topology::Topology;
use crate::section::wakeups::{Causes, Explained, Reasons};
use serde::Serialize;

/// All that a page shows. A part that is empty or `None` has no section.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Page {
    /// The page's headline.
    pub title: String,
    /// A sentence below the headline that the reader should know first. May be empty.
    pub lead: String,
    /// The verdict: the first line is the sentence, the others say how sure it is. May be empty.
    pub verdict: Vec<String>,
    /// The runs behind the page.
    pub run: Run,
    /// The sides that are compared or shown, the base first; at most [`crate::limits::SIDES`]. Everything else on the
    /// page refers to a side by its [`Side::name`], and colours are assigned in this order.
    pub sides: Vec<Side>,
    /// The case and the load at which choices of the page begin, such as those of the largest change.
    pub focus: Option<Place>,
    /// The machine.
    pub machine: Option<Topology>,
    /// One side against the other, by load.
    pub comparison: Option<Comparison>,
    /// The differences of power and energy, as those of a comparison; positive is less.
    pub power: Vec<Metric>,
    /// Search statistics by load: `sis_search`, `dom_eff` and so on.
    pub search: Vec<Statistic>,
    /// Histograms of the probes or the time of a search.
    pub search_cost: Vec<SearchCost>,
    /// Percentiles of the time from wake-up to run.
    pub latencies: Vec<Latency>,
    /// The number of wake-ups by the reason of their choice.
    pub reasons: Vec<Reasons>,
    /// Long waits by cause.
    pub causes: Vec<Causes>,
    /// Wake-ups by the LLC on which the wakee ran last and the LLC to which it went.
    pub migrations: Vec<Migrations>,
    /// The activity of each CPU over time; at most [`crate::limits::HEATS`] maps.
    pub heat: Vec<Heat>,
    /// Utilisation and `nr_idle_scan` of LLCs over time.
    pub llcs: Vec<LlcSeries>,
    /// Charts of frequency, idle states and power over time.
    pub timelines: Vec<Timeline>,
    /// The changes that perfect knowledge would have made, by load.
    pub regret: Vec<Statistic>,
    /// Some wake-ups with their explanations. The page shows the text of the first few and folds that of the others.
    pub explained: Vec<Explained>,
    /// Further sections of paragraphs and tables, in this order.
    pub sections: Vec<Section>,
    /// Notes that the reader needs to judge the numbers.
    pub notes: Vec<String>,
    /// Constants that are assumed, because no source gives them.
    pub assumed: Vec<Assumed>,
}

/// A row of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The benchmark and its case; empty if all rows are of one.
    pub case: String,
    /// The load; empty if there is only one.
    pub load: String,
}

/// The origin of the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// From the simulator.
    #[default]
    Simulated,
    /// From a running kernel.
    Measured,
    /// From both; the texts on the page say which is which.
    Both,
}

/// The runs behind the page. Empty texts are left out of the page.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Run {
    /// The command that writes this page.
    pub command: String,
    /// wakelab's version.
    pub version: String,
    /// The origin of the numbers.
    pub kind: Kind,
    /// The kernel's name, such as `v6.12`.
    pub kernel: String,
    /// The machine's name.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// Other facts as name and value: repeats, seed, measured time with its unit.
    pub facts: Vec<(String, String)>,
}

/// One of the sides that are compared.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Side {
    /// Its name, such as `SIS_UTIL`, by which everything on the page refers to it.
    pub name: String,
    /// The switches on top of the kernel's features, such as `NO_SIS_UTIL`; may be empty.
    pub switches: String,
    /// The state of each feature of interest.
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
    /// The owner of the constant, such as the machine's name.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Its value with the unit.
    pub value: String,
    /// The range of plausible values, with the unit. May be empty.
    pub range: String,
    /// The reason for this value.
    pub why: String,
}
