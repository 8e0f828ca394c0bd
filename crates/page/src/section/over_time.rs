//! Values over time: utilisation and `nr_idle_scan` of LLCs, frequency, idle states, power.

use crate::figure::{Figure, num, opt};
use crate::text::{anchor, fixed, with_unit};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;
use serde_json::Value;

/// One LLC of one side over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LlcSeries {
    /// The side's name.
    pub side: String,
    /// The name of the LLC.
    pub llc: String,
    /// The values, by time. All LLCs of all sides together have at most [`crate::limits::POINTS`].
    pub points: Vec<LlcPoint>,
    /// The flips of the state, by time.
    pub flips: Vec<Flip>,
}

/// An LLC at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LlcPoint {
    /// The time since the start of the run, ms.
    pub at_ms: f64,
    /// The sum of `util_avg` of its CPUs, % of their capacity.
    pub util_pct: f64,
    /// The number of run queues that a search may probe; `None` if the kernel has no such limit.
    pub nr_idle_scan: Option<u32>,
}

/// A moment at which the system changes from one of its states to the other.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Flip {
    /// The time since the start of the run, ms.
    pub at_ms: f64,
    /// The change, such as `to stacked`.
    pub what: String,
}

pub(crate) fn llcs(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.llcs.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("llc", "Utilisation and search limit of the last-level caches");
    view.text(
        "SIS_UTIL lets a search probe nr_idle_scan run queues, which falls with the square of the LLC's utilisation. \
         Triangles mark the moments at which the state changes.",
    );
    let mut figure = Figure::new("llc-chart", "llc", "LLC utilisation and nr_idle_scan over time")
        .column("llc", "LLC", "")
        .column("side", "Side", "")
        .column("at_ms", "Time", "ms")
        .column("util_pct", "Utilisation", "%")
        .column("nr_idle_scan", "nr_idle_scan", "")
        .column("flip", "Change of state", "")
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
            series.flips.iter().map(|flip| format!("{} at {} ms", flip.what, fixed(flip.at_ms, 1))).collect();
        if !flips.is_empty() {
            said.push(format!("LLC {} of {}: {}.", series.llc, series.side, flips.join(", ")));
        }
    }
    figure.check(limits::POINTS, "show fewer LLCs, or fewer points of each")?;
    figure.summary = if said.is_empty() { "No change of state.".into() } else { said.join(" ") };
    view.figure(figure, figures);
    Ok(Some(view))
}

/// A chart of values over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Timeline {
    /// Its title, such as `Frequency of busy CPUs`.
    pub title: String,
    /// A sentence about it. May be empty.
    pub about: String,
    /// The title of the value axis, such as `Frequency`.
    pub value: String,
    /// The unit of the values, such as `MHz`.
    pub unit: String,
    /// The kind of chart.
    pub shape: Shape,
    /// The series. All of them together have at most [`crate::limits::POINTS`] points.
    pub series: Vec<Series>,
}

/// The kind of a chart over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Lines connect the points.
    #[default]
    Line,
    /// Each value lasts until the next one.
    Step,
    /// The series of one side are stacked, such as shares of the time. They need points at the same times.
    Stacked,
}

/// One series of a timeline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// The side's name.
    pub side: String,
    /// Its label within the side, such as `package 0` or `C6`; empty if each side has only one series.
    pub label: String,
    /// Pairs of time since the start of the run, ms, and value in the unit of the timeline, by time.
    pub points: Vec<(f64, f64)>,
}

pub(crate) fn timelines(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.timelines.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("power", "Frequency, idle states and power");
    for (i, timeline) in page.timelines.iter().enumerate() {
        let kind = match timeline.shape {
            Shape::Line => "line",
            Shape::Step => "step",
            Shape::Stacked => "stacked",
        };
        let mut figure = Figure::new(format!("time-{i}-{}", anchor(&timeline.title)), kind, timeline.title.clone())
            .column("side", "Side", "")
            .column("label", "Of", "")
            .column("at_ms", "Time", "ms")
            .column("value", &timeline.value, &timeline.unit);
        let mut said: Vec<(&str, Vec<String>)> = Vec::new();
        for series in &timeline.series {
            for &(at_ms, value) in &series.points {
                let texts = [series.side.as_str().into(), series.label.as_str().into()];
                figure.row(texts.into_iter().chain([num(at_ms), num(value)]).collect::<Vec<_>>());
            }
            let mean = series.points.iter().map(|point| point.1).sum::<f64>() / series.points.len().max(1) as f64;
            let mean = format!("{} {}", series.label, with_unit(mean, &timeline.unit)).trim().to_owned();
            match said.iter_mut().find(|(side, _)| *side == series.side) {
                Some((_, means)) => means.push(mean),
                None => said.push((&series.side, vec![mean])),
            }
        }
        figure.check(limits::POINTS, "show fewer points of each series")?;
        let of_side = |(side, means): (&str, Vec<String>)| format!("{side}: {} on average.", means.join(", "));
        figure.summary = said.into_iter().map(of_side).collect::<Vec<_>>().join(" ");
        view.text(timeline.about.clone());
        view.figure(figure, figures);
    }
    Ok(Some(view))
}
