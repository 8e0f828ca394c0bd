//! One side against the other, by load.

use crate::figure::{Figure, num, opt};
use crate::text::{count, number, signed, with_unit};
use crate::view::{Block, CellView, HeadView, TableView, View};
use crate::{Error, Page, limits};
use serde::Serialize;
use serde_json::Value;

/// The difference of *with* to *base* for each metric and load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Comparison {
    /// The [`crate::Side::name`] of the side that is the reference.
    pub base: String,
    /// The [`crate::Side::name`] of the other side.
    pub with: String,
    /// The metrics that were measured.
    pub metrics: Vec<Metric>,
}

/// A metric with its rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Metric {
    /// The benchmark and the metric, such as `netperf TCP_RR: transactions`.
    pub name: String,
    /// The unit of the values, such as `1/s`.
    pub unit: String,
    /// Whether lower values are better.
    pub lower_is_better: bool,
    /// A row for each load, in the order of the chart.
    pub rows: Vec<MetricRow>,
}

/// One load of a metric.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MetricRow {
    /// The load as text, such as `28` or `25%`.
    pub load: String,
    /// The base side, in the metric's unit.
    pub base: Estimate,
    /// The other side, in the metric's unit.
    pub with: Estimate,
    /// How much better the other side is, in % of the base side's mean. Positive is better for every metric.
    pub better_pct: Estimate,
    /// The probability of such a difference by chance, 0 to 1, corrected for the number of rows.
    pub p: Option<f64>,
    /// The number of repeats on each side.
    pub repeats: u32,
    /// The conclusion.
    pub verdict: Verdict,
    /// The published difference in %; positive is better.
    pub published_pct: Option<f64>,
}

/// A mean with its confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The ends of the 95 % confidence interval; `None` for one repeat.
    pub interval: Option<(f64, f64)>,
}

/// The conclusion of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The other side is worse.
    Worse,
    /// The other side is better.
    Better,
    /// The sides are not shown to differ.
    Same,
    /// Both sides have the same value in every repeat.
    Identical,
    /// There are too few repeats to tell.
    #[default]
    Unknown,
}

impl Verdict {
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Worse => ("worse", "▼ worse", "worse"),
            Self::Better => ("better", "▲ better", "better"),
            Self::Same => ("same", "= not shown to differ", ""),
            Self::Identical => ("identical", "= identical", ""),
            Self::Unknown => ("unknown", "? too few repeats", ""),
        }
    }
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let Some(comparison) = &page.comparison else { return Ok(None) };
    let (base, with) = (&comparison.base, &comparison.with);
    let mut view = View::new("comparison", format!("{with} against {base}"));
    let mut rows: Vec<(&Metric, &MetricRow)> =
        comparison.metrics.iter().flat_map(|metric| metric.rows.iter().map(move |row| (metric, row))).collect();
    let of = |verdict| rows.iter().filter(|(_, row)| row.verdict == verdict).count();
    let unknown = match of(Verdict::Unknown) {
        0 => String::new(),
        n => format!(" Too few repeats to say in {n}."),
    };
    view.text(format!(
        "Of {}, {with} is worse in {}, better in {}; {} are identical, {} show no difference.{unknown} Positive is \
         better, whichever way a metric is good. Intervals are of 95 %; p is corrected for the number of rows (Holm).",
        count(rows.len(), "row", "rows"),
        of(Verdict::Worse),
        of(Verdict::Better),
        of(Verdict::Identical),
        of(Verdict::Same),
    ));
    let mut figure = figure(comparison);
    figure.check(limits::VALUES, "compare fewer metrics or loads on a page")?;
    if let Some((metric, row)) = rows.iter().min_by(|a, b| a.1.better_pct.mean.total_cmp(&b.1.better_pct.mean)) {
        let change = signed(row.better_pct.mean);
        figure.summary = format!("The lowest change is {change} % for {} at load {}.", metric.name, row.load);
    }
    view.figure(figure, figures);
    rows.sort_by(|a, b| a.1.verdict.cmp(&b.1.verdict).then(a.1.better_pct.mean.total_cmp(&b.1.better_pct.mean)));
    view.blocks.push(Block::Table { table: table(&rows, base, with) });
    Ok(Some(view))
}

fn figure(comparison: &Comparison) -> Figure {
    let (base, with) = (&comparison.base, &comparison.with);
    let mut figure =
        Figure::new("comparison-chart", "comparison", format!("Change from {base} to {with} over the load"))
            .column("metric", "Metric", "")
            .column("unit", "Unit", "")
            .column("load", "Load", "")
            .column("base", base, "")
            .column("base_low", &format!("{base}, lower end"), "")
            .column("base_high", &format!("{base}, upper end"), "")
            .column("with", with, "")
            .column("with_low", &format!("{with}, lower end"), "")
            .column("with_high", &format!("{with}, upper end"), "")
            .column("better_pct", "Better by", "%")
            .column("better_low_pct", "Better by, lower end", "%")
            .column("better_high_pct", "Better by, upper end", "%")
            .column("p", "p", "")
            .column("repeats", "Repeats", "")
            .column("verdict", "Verdict", "")
            .column("published_pct", "Published", "%")
            .select("metric", "Metric");
    for metric in &comparison.metrics {
        for row in &metric.rows {
            let mut values: Vec<Value> = vec![metric.name.as_str().into(), metric.unit.as_str().into()];
            values.push(row.load.as_str().into());
            for Estimate { mean, interval } in [row.base, row.with, row.better_pct] {
                values.extend([num(mean), opt(interval.map(|i| i.0)), opt(interval.map(|i| i.1))]);
            }
            values.extend([opt(row.p), row.repeats.into(), row.verdict.words().0.into(), opt(row.published_pct)]);
            figure.row(values);
        }
    }
    figure
}

fn table(rows: &[(&Metric, &MetricRow)], base: &str, with: &str) -> TableView {
    let caption = "All rows: regressions first, the largest on top".into();
    let mut table = TableView { id: "comparison-table".into(), caption, cards: true, ..Default::default() };
    let published = rows.iter().any(|(_, row)| row.published_pct.is_some());
    let heads = [("Metric", ""), ("Load", "num"), (base, "num"), (with, "num"), ("Better by", "num")];
    let more = [("95 % interval", "num"), ("p", "num"), ("Verdict", ""), ("Published", "num")];
    let heads = heads.into_iter().chain(more.into_iter().take(if published { 4 } else { 3 }));
    table.columns = heads.map(|(title, class)| HeadView { title: title.into(), class }).collect();
    for (metric, row) in rows {
        let interval = |(low, high)| format!("{} to {} %", signed(low), signed(high));
        let pct = |value: Option<f64>| value.map_or("n/a".into(), |value| format!("{} %", signed(value)));
        let way = if metric.lower_is_better { "less is better" } else { "more is better" };
        let (_, verdict, class) = row.verdict.words();
        let mut cells = vec![
            CellView::text(format!("{} ({way})", metric.name)),
            CellView::number(row.load.clone()),
            CellView::number(with_unit(row.base.mean, &metric.unit)),
            CellView::number(with_unit(row.with.mean, &metric.unit)),
            CellView::number(pct(Some(row.better_pct.mean))),
            CellView::number(row.better_pct.interval.map_or("n/a".into(), interval)),
            CellView::number(row.p.map_or("n/a".into(), |p| if p < 0.0001 { "<0.0001".into() } else { number(p) })),
            CellView { text: verdict.into(), link: None, class },
        ];
        if published {
            cells.push(CellView::number(pct(row.published_pct)));
        }
        table.rows.push(cells);
    }
    // A column without any value is left out.
    for at in (0..table.columns.len()).rev() {
        if table.rows.iter().all(|row| row[at].text == "n/a") {
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    table
}
