//! Utilisation and `nr_idle_scan` of LLCs over time.

use crate::figure::{Figure, num, opt};
use crate::text::number;
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;
use serde_json::Value;

/// One LLC of one side over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LlcSeries {
    /// The side's name.
    pub side: String,
    /// The LLC's name.
    pub llc: String,
    /// The values by time; all LLCs of all sides together [`crate::limits::POINTS`] at most.
    pub points: Vec<LlcPoint>,
    /// Moments at which the state flips, by time.
    pub flips: Vec<Flip>,
}

/// What an LLC has at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LlcPoint {
    /// When, ms of the run.
    pub at_ms: f64,
    /// Sum of its CPUs' util_avg, % of their capacity.
    pub util_pct: f64,
    /// Run queues that a search may look at; `None` where the kernel has no such limit.
    pub nr_idle_scan: Option<u32>,
}

/// A moment at which the system goes from one of its states to the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Flip {
    /// When, ms of the run.
    pub at_ms: f64,
    /// What happens, such as `from migrating to stacked`.
    pub what: String,
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.llcs.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("llc", "Utilisation and search limit of the last-level caches");
    view.text(
        "SIS_UTIL lets a search look at nr_idle_scan run queues, which falls with the square of the LLC's utilisation. \
         Vertical lines mark the moments at which the state flips.",
    );
    let mut figure = Figure::new("llc-chart", "llc", "LLC utilisation and nr_idle_scan over time")
        .column("llc", "LLC", "")
        .column("side", "Side", "")
        .column("at_ms", "Time", "ms")
        .column("util_pct", "Utilisation", "%")
        .column("nr_idle_scan", "nr_idle_scan", "")
        .column("flip", "State", "")
        .select("llc", "LLC");
    let mut said = Vec::new();
    for series in &page.llcs {
        let mut rows: Vec<(f64, Vec<Value>)> = Vec::new();
        for point in &series.points {
            let scan = point.nr_idle_scan.map(f64::from);
            rows.push((point.at_ms, vec![num(point.util_pct), opt(scan), Value::Null]));
        }
        for flip in &series.flips {
            rows.push((flip.at_ms, vec![Value::Null, Value::Null, flip.what.as_str().into()]));
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at_ms, values) in rows {
            let head = [series.llc.as_str().into(), series.side.as_str().into(), num(at_ms)];
            figure.row(head.into_iter().chain(values).collect::<Vec<_>>());
        }
        let flips: Vec<String> =
            series.flips.iter().map(|flip| format!("{} at {} ms", flip.what, number(flip.at_ms))).collect();
        if !flips.is_empty() {
            said.push(format!("LLC {} of {}: {}.", series.llc, series.side, flips.join(", ")));
        }
    }
    figure
        .check(limits::POINTS, "show fewer LLCs, or fewer points of each: thin() brings a series down to a number")?;
    figure.summary = if said.is_empty() { "No state flips.".into() } else { said.join(" ") };
    view.figure(figure, figures);
    Ok(Some(view))
}
