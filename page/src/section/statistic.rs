//! Named statistics over the load: of searches, of regret.

use crate::figure::{Figure, num, opt};
use crate::text::with_unit;
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// A statistic over the load. Its panel has a line for each side, and marks for what was published.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistic {
    /// Its own name: that of the patch that introduced it, such as `dom_eff`.
    pub name: String,
    /// What it is, in a few words, such as `looks of domain searches that found a CPU`.
    pub about: String,
    /// Unit of its values, such as `%`; empty for plain counts.
    pub unit: String,
    /// Its values, loads in the order in which they are drawn.
    pub points: Vec<StatPoint>,
}

/// A value of a statistic.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StatPoint {
    /// The load as text.
    pub load: String,
    /// The side's name; for published values the side that they are of.
    pub side: String,
    /// The value, in the statistic's unit.
    pub value: f64,
    /// Lower and upper end of its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it is a published value.
    pub published: bool,
}

pub(crate) fn search_view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let about = "What select_idle_sibling() counted, as the patches that introduced these statistics define them. Dashed \
                 lines with diamonds are published values.";
    view(&page.search, ("search", "Search statistics", "Search statistics over the load", about), figures)
}

pub(crate) fn regret_view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let about = "Each search compared with perfect knowledge of the moment at which it began, and what it cost.";
    view(&page.regret, ("regret", "Regret against the oracle", "Regret over the load", about), figures)
}

fn view(
    statistics: &[Statistic],
    (id, title, chart, about): (&str, &str, &str, &str),
    figures: &mut Vec<Figure>,
) -> Result<Option<View>, Error> {
    if statistics.is_empty() {
        return Ok(None);
    }
    let mut view = View::new(id, title);
    view.text(about);
    let mut figure = Figure::new(format!("{id}-chart"), "statistics", chart)
        .column("statistic", "Statistic", "")
        .column("about", "What it is", "")
        .column("unit", "Unit", "")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("source", "From", "")
        .column("value", "Value", "")
        .column("low", "Lower end", "")
        .column("high", "Upper end", "");
    for statistic in statistics {
        for point in &statistic.points {
            let source = if point.published { "published" } else { "this run" };
            let (low, high) = (point.interval.map(|i| i.0), point.interval.map(|i| i.1));
            let texts = [&statistic.name, &statistic.about, &statistic.unit, &point.load, &point.side];
            let mut row: Vec<serde_json::Value> = texts.into_iter().map(|text| text.as_str().into()).collect();
            row.extend([source.into(), num(point.value), opt(low), opt(high)]);
            figure.row(row);
        }
    }
    figure.check(limits::VALUES, "show fewer loads or statistics on a page")?;
    figure.summary = summary(statistics);
    view.figure(figure, figures);
    Ok(Some(view))
}

/// Each side at the highest load, for the first statistics.
fn summary(statistics: &[Statistic]) -> String {
    let one = |statistic: &Statistic| {
        let mine: Vec<&StatPoint> = statistic.points.iter().filter(|point| !point.published).collect();
        let load = &mine.last()?.load;
        let values: Vec<String> = mine
            .iter()
            .filter(|point| point.load == *load)
            .map(|point| format!("{} {}", point.side, with_unit(point.value, &statistic.unit)))
            .collect();
        Some(format!("{} at load {load}: {}.", statistic.name, values.join(", ")))
    };
    statistics.iter().filter_map(one).take(4).collect::<Vec<_>>().join(" ")
}
