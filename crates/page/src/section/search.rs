//! Search statistics and regret by load, and histograms of the cost of a search.

use crate::figure::{Figure, num, opt};
use crate::text::{at, count, number, with_unit};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// A statistic by load. Its panel has a line for each side, which joins the loads of one case, and a mark for each
/// published value; of one load it has the numbers.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistic {
    /// Its name in the patch that introduced it, such as `dom_eff`.
    pub name: String,
    /// A few words on its meaning, such as `domain searches that found a CPU, per look`.
    pub about: String,
    /// The unit of its values, such as `%`; empty for plain counts.
    pub unit: String,
    /// Its values, with loads in the order of the chart.
    pub points: Vec<StatPoint>,
}

/// A value of a statistic.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StatPoint {
    /// The benchmark and its case, as in [`crate::Place::case`]. Points of different cases are never joined.
    pub case: String,
    /// The load.
    pub load: String,
    /// The name of the side; for a published value, of the side that it belongs to.
    pub side: String,
    /// The value, in the statistic's unit.
    pub value: f64,
    /// The ends of its 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it is a published value.
    pub published: bool,
}

pub(crate) fn search_view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let about = "What select_idle_sibling() counted, as the patches that introduced these statistics define them. \
                 Dashed lines with diamonds are published values.";
    let kind = if page.comparison.as_ref().is_some_and(|one| one.metrics.iter().all(without_values)) {
        "pairs"
    } else {
        "statistics"
    };
    statistics(&page.search, ("search", "Search statistics", kind, about), figures)
}

/// Whether only differences are known of a metric, as of a published table, whose rows have no order.
fn without_values(metric: &crate::Metric) -> bool {
    metric.rows.iter().all(|row| !row.base.mean.is_finite())
}

pub(crate) fn regret_view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let about = "Each search compared with perfect knowledge of the moment at which it began, and what it cost.";
    statistics(&page.regret, ("regret", "Regret", "statistics", about), figures)
}

fn statistics(
    statistics: &[Statistic],
    (id, title, kind, about): (&str, &str, &'static str, &str),
    figures: &mut Vec<Figure>,
) -> Result<Option<View>, Error> {
    if statistics.is_empty() {
        return Ok(None);
    }
    let mut view = View::new(id, title);
    view.text(about);
    let mut figure = statistics_figure(&format!("{id}-chart"), kind, title, statistics);
    figure.check(limits::VALUES, "show fewer loads or statistics on a page")?;
    figure.summary = summary(statistics);
    view.figure(figure, figures);
    Ok(Some(view))
}

/// The figure of statistics.
pub(crate) fn statistics_figure(id: &str, kind: &'static str, title: &str, statistics: &[Statistic]) -> Figure {
    let mut figure = Figure::new(id, kind, title)
        .column("statistic", "Statistic", "")
        .column("about", "What it is", "")
        .column("unit", "Unit", "")
        .column("case", "Case", "")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("source", "From", "")
        .column("value", "Value", "")
        .column("low", "Lower end", "")
        .column("high", "Upper end", "")
        .select("case", "Case");
    for statistic in statistics {
        for point in &statistic.points {
            let source = if point.published { "published" } else { "this run" };
            let (low, high) = (point.interval.map(|i| i.0), point.interval.map(|i| i.1));
            let texts = [&statistic.name, &statistic.about, &statistic.unit, &point.case, &point.load, &point.side];
            let mut row: Vec<serde_json::Value> = texts.into_iter().map(|text| text.as_str().into()).collect();
            row.extend([source.into(), num(point.value), opt(low), opt(high)]);
            figure.row(row);
        }
    }
    figure
}

/// Describes the first statistics at the highest load of each side.
fn summary(statistics: &[Statistic]) -> String {
    let one = |statistic: &Statistic| {
        let mine: Vec<&StatPoint> = statistic.points.iter().filter(|point| !point.published).collect();
        let StatPoint { case, load, .. } = mine.last()?;
        let values: Vec<String> = mine
            .iter()
            .filter(|point| (&point.case, &point.load) == (case, load))
            .map(|point| format!("{} {}", point.side, with_unit(point.value, &statistic.unit)))
            .collect();
        Some(format!("{}{}: {}.", statistic.name, at(case, load), values.join(", ")))
    };
    statistics.iter().filter_map(one).take(4).collect::<Vec<_>>().join(" ")
}

/// The histogram of the searches of one side.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SearchCost {
    /// The side's name.
    pub side: String,
    /// The benchmark and its case, as in [`crate::Place::case`].
    pub case: String,
    /// The load; empty if there is only one.
    pub load: String,
    /// The unit of the cost, such as `ns`.
    pub unit: String,
    /// The bins in rising order, without gaps.
    pub bins: Vec<CostBin>,
}

/// A bin of the histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CostBin {
    /// The lowest cost of the bin.
    pub from: f64,
    /// The highest cost of the bin.
    pub to: f64,
    /// The number of searches with such a cost.
    pub searches: u64,
}

pub(crate) fn cost_view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.search_cost.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("search-cost", "What a search costs");
    view.text("How many searches cost how much. Those that end in a fast path are counted where they are given.");
    let mut figure = Figure::new("search-cost-chart", "histogram", "Search cost")
        .column("case", "Case", "")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("unit", "Unit", "")
        .column("from", "From", "")
        .column("to", "To", "")
        .column("searches", "Searches", "")
        .column("share_pct", "Share of the searches", "%")
        .select("case", "Case")
        .select("load", "Load");
    let mut said = Vec::new();
    for cost in &page.search_cost {
        let all: u64 = cost.bins.iter().map(|bin| bin.searches).sum();
        for bin in &cost.bins {
            let share = 100.0 * bin.searches as f64 / all.max(1) as f64;
            let texts = [&cost.case, &cost.load, &cost.side, &cost.unit].map(|text| text.as_str().into());
            let values = [num(bin.from), num(bin.to), bin.searches.into(), num(share)];
            figure.row(texts.into_iter().chain(values).collect::<Vec<_>>());
        }
        if let Some(bin) = cost.bins.iter().max_by_key(|bin| bin.searches) {
            let range = if bin.from == bin.to {
                number(bin.from)
            } else {
                format!("{} to {}", number(bin.from), number(bin.to))
            };
            said.push(format!(
                "{}{}: {}, most often {range} {}.",
                cost.side,
                at(&cost.case, &cost.load),
                count(all as usize, "search", "searches"),
                cost.unit
            ));
        }
    }
    figure.check(limits::VALUES, "use fewer bins")?;
    figure.summary = said.into_iter().take(4).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}
