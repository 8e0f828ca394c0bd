//! Values over time: frequency, idle states, power.

use crate::figure::{Figure, num};
use crate::text::{anchor, with_unit};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// A chart of values over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Timeline {
    /// Its title, such as `Frequency of busy CPUs`.
    pub title: String,
    /// A sentence on it. May be empty.
    pub about: String,
    /// What the values are, in words, such as `Frequency`.
    pub value: String,
    /// Their unit, such as `MHz`.
    pub unit: String,
    /// How it is drawn.
    pub shape: Shape,
    /// The series; all of their points together [`crate::limits::POINTS`] at most.
    pub series: Vec<Series>,
}

/// How values over time are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Points that lines connect.
    #[default]
    Line,
    /// A value stays until the next one.
    Step,
    /// Series of one side on top of each other, such as shares of the time. They need points at the same times.
    Stacked,
}

/// One series of a timeline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// The side's name.
    pub side: String,
    /// What it is of, such as `package 0` or `C6`; empty if there is one for each side.
    pub label: String,
    /// (time in ms of the run, value in the timeline's unit), by time.
    pub points: Vec<(f64, f64)>,
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
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
        figure.check(limits::POINTS, "thin() brings a series down to a number of points")?;
        let of_side = |(side, means): (&str, Vec<String>)| format!("{side}: {} on average.", means.join(", "));
        figure.summary = said.into_iter().map(of_side).collect::<Vec<_>>().join(" ");
        view.text(timeline.about.clone());
        view.figure(figure, figures);
    }
    Ok(Some(view))
}
