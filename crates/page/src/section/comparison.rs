//! One side against the other: each row's difference with its interval and the noise that it has to exceed.

use crate::figure::{Figure, num, opt};
use crate::section::search::{StatPoint, Statistic, statistics_figure};
use crate::text::{decimals, fixed, signed};
use crate::view::{Block, CellView, HeadView, TableView, View};
use crate::{Error, Page, limits};
use serde::Serialize;
use serde_json::Value;

/// The difference of one side to the other for each metric and load.
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
    /// The benchmark and its case, such as `netperf TCP_RR`, as in [`crate::Place::case`].
    pub case: String,
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
    /// The noise limit, %: a larger difference is an effect.
    pub noise_pct: Option<f64>,
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
    /// It would be better or worse, but not with other constants.
    Undecided,
    /// The sides are not shown to differ.
    Same,
    /// Both sides have the same value in every repeat.
    Identical,
    /// There are too few repeats to tell.
    #[default]
    Untested,
    /// The verdict is not of this quantity.
    Unjudged,
}

impl Verdict {
    /// The name in the data, the words and the class of a cell.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Worse => ("worse", "▼ worse", "worse"),
            Self::Better => ("better", "▲ better", "better"),
            Self::Undecided => ("undecided", "? undecided: other constants", ""),
            Self::Same => ("same", "= not shown to differ", ""),
            Self::Identical => ("identical", "= identical", ""),
            Self::Untested => ("untested", "? one run per side", ""),
            Self::Unjudged => ("", "n/a", ""),
        }
    }
}

/// Above this many rows a chart shows one case at a time.
const TOGETHER: usize = 60;

/// Decimals of differences, as on the terminal.
const PCT: usize = 2;

type Row<'a> = (&'a Metric, &'a MetricRow);

fn rows(metrics: &[Metric]) -> Vec<Row<'_>> {
    metrics.iter().flat_map(|metric| metric.rows.iter().map(move |row| (metric, row))).collect()
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let Some(Comparison { base, with, metrics }) = &page.comparison else { return Ok(None) };
    let mut view = View::new("comparison", "Differences");
    let mut rows = rows(metrics);
    let mut figure = differences("comparison-chart", format!("{with} against {base}"), (base, with), metrics);
    figure.check(limits::VALUES, "compare fewer metrics or loads on a page")?;
    let pcts = || rows.iter().map(|(_, row)| row.better_pct.mean);
    if let (Some(low), Some(high)) = (pcts().min_by(f64::total_cmp), pcts().max_by(f64::total_cmp)) {
        figure.summary = format!("Changes range from {} % to {} %.", signed(low, PCT), signed(high, PCT));
    }
    view.figure(figure, figures);
    rows.sort_by(|a, b| a.1.verdict.cmp(&b.1.verdict).then(a.1.better_pct.mean.total_cmp(&b.1.better_pct.mean)));
    let caption = "All rows: regressions first, the largest on top";
    view.blocks.push(Block::Table { table: table("comparison-table", caption, &rows, (base, with)) });
    let corrected = if rows.iter().any(|(_, row)| row.p.is_some()) {
        " Intervals are of 95 %; p is corrected for the number of rows (Holm)."
    } else {
        ""
    };
    view.text(format!("Positive is better, whichever way a metric is good.{corrected}"));
    if let Some(figure) = both_sides(base, with, metrics) {
        figure.check(limits::VALUES, "compare fewer metrics or loads on a page")?;
        view.figure(figure, figures);
    }
    Ok(Some(view))
}

pub(crate) fn power(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    let (Some(Comparison { base, with, .. }), false) = (&page.comparison, page.power.is_empty()) else {
        return Ok(None);
    };
    let mut view = View::new("power-difference", "Power and energy");
    let title = format!("Power and energy: {with} against {base}");
    let mut figure = differences("power-chart", title, (base, with), &page.power);
    figure.check(limits::VALUES, "compare fewer loads on a page")?;
    let rows = rows(&page.power);
    let one = |(metric, row): &Row<'_>| {
        format!("{} at load {}: {} %", metric.name, row.load, signed(row.better_pct.mean, PCT))
    };
    figure.summary = format!("{}.", rows.iter().take(4).map(one).collect::<Vec<_>>().join("; "));
    view.figure(figure, figures);
    let caption = "Power of the machine, and energy for each thing done";
    view.blocks.push(Block::Table { table: table("power-table", caption, &rows, (base, with)) });
    view.text("Positive is less power or energy. p is of each row alone: the verdict leaves power out.");
    Ok(Some(view))
}

/// The figure of differences, a row for each.
fn differences(id: &str, title: String, (base, with): (&str, &str), metrics: &[Metric]) -> Figure {
    let mut figure = Figure::new(id, "differences", title)
        .column("metric", "Metric", "")
        .column("unit", "Unit", "")
        .column("case", "Case", "")
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
        .column("noise_pct", "Noise limit", "%")
        .column("p", "p", "")
        .column("repeats", "Repeats", "")
        .column("verdict", "Verdict", "")
        .column("published_pct", "Published", "%");
    if metrics.iter().map(|metric| metric.rows.len()).sum::<usize>() > TOGETHER {
        figure = figure.select("case", "Case");
    }
    for (metric, row) in rows(metrics) {
        let texts = [&metric.name, &metric.unit, &metric.case, &row.load];
        let mut values: Vec<Value> = texts.map(|text| text.as_str().into()).to_vec();
        for Estimate { mean, interval } in [row.base, row.with, row.better_pct] {
            values.extend([num(mean), opt(interval.map(|i| i.0)), opt(interval.map(|i| i.1))]);
        }
        values.extend([opt(row.noise_pct), opt(row.p), row.repeats.into(), row.verdict.words().0.into()]);
        values.push(opt(row.published_pct));
        figure.row(values);
    }
    figure
}

/// Both sides over the load; `None` if no metric has several loads with values.
fn both_sides(base: &str, with: &str, metrics: &[Metric]) -> Option<Figure> {
    let statistic = |metric: &Metric| {
        let points = metric.rows.iter().flat_map(|row| {
            [(base, row.base), (with, row.with)].map(|(side, Estimate { mean, interval })| StatPoint {
                case: metric.case.clone(),
                load: row.load.clone(),
                side: side.to_owned(),
                value: mean,
                interval,
                published: false,
            })
        });
        let way = if metric.lower_is_better { "less is better" } else { "more is better" };
        Statistic {
            name: metric.name.clone(),
            about: way.to_owned(),
            unit: metric.unit.clone(),
            points: points.filter(|point| point.value.is_finite()).collect(),
        }
    };
    let several = metrics.iter().filter(|metric| metric.rows.len() > 1);
    let statistics: Vec<Statistic> = several.map(statistic).filter(|one| !one.points.is_empty()).collect();
    (!statistics.is_empty())
        .then(|| statistics_figure("values-chart", "statistics", "Both sides over the load", &statistics))
}

fn table(id: &str, caption: &str, rows: &[Row<'_>], (base, with): (&str, &str)) -> TableView {
    let mut table = TableView { id: id.into(), caption: caption.into(), ..Default::default() };
    // One metric is named in the heads of its columns.
    let one = rows.iter().all(|(metric, _)| metric.name == rows[0].0.name).then(|| rows[0].0);
    // What matters comes first: a narrow screen shows the left columns.
    let heads = [("Metric", ""), ("Load", ""), ("Verdict", ""), ("Better by", "num"), ("95 % interval", "num")];
    let more = [(base, "num"), (with, "num"), ("Noise limit", "num"), ("p", "num"), ("Published", "num")];
    table.columns = heads.into_iter().chain(more).map(|(title, class)| HeadView::new(title, class)).collect();
    for at in [3, 4, 7, 9] {
        table.columns[at].unit = "%".into();
    }
    if let Some(metric) = one {
        table.columns[5].unit.clone_from(&metric.unit);
        table.columns[6].unit.clone_from(&metric.unit);
    }
    for (metric, row) in rows {
        let interval = |(low, high)| format!("{} to {}", signed(low, PCT), signed(high, PCT));
        let pct = |value: Option<f64>| value.map_or("n/a".into(), |value| signed(value, PCT));
        let way = if metric.lower_is_better { "less is better" } else { "more is better" };
        let (_, verdict, class) = row.verdict.words();
        let unit = if one.is_some() { String::new() } else { format!(" {}", metric.unit) };
        // A metric has one precision on both sides.
        let of_metric = metric.rows.iter().flat_map(|row| [row.base.mean, row.with.mean]);
        let precision = decimals(of_metric);
        let value = |mean: f64| if mean.is_finite() { fixed(mean, precision) + &unit } else { "n/a".into() };
        table.rows.push(vec![
            CellView::text(format!("{} ({way})", metric.name)),
            CellView::text(row.load.clone()),
            CellView { text: verdict.into(), class, ..CellView::default() },
            CellView::number(pct(Some(row.better_pct.mean))),
            CellView::number(row.better_pct.interval.map_or("n/a".into(), interval)),
            CellView::number(value(row.base.mean)),
            CellView::number(value(row.with.mean)),
            CellView::number(row.noise_pct.map_or("n/a".into(), |noise| fixed(noise, 1))),
            CellView::number(row.p.map_or("n/a".into(), p_value)),
            CellView::number(pct(row.published_pct)),
        ]);
    }
    // A column without any value is left out, and one metric needs no column.
    for at in (0..table.columns.len()).rev() {
        let empty = table.rows.iter().all(|row| row[at].text == "n/a");
        if empty || (at == 0 && one.is_some() && rows.len() > 1) {
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    if let (Some(metric), true) = (one, rows.len() > 1) {
        table.caption = format!("{}. {caption}", metric.name);
    }
    table
}

/// Two decimals, no more than "less than 0.01", and below 0.05 what is below it: there the verdict's limit is.
fn p_value(p: f64) -> String {
    match p {
        ..0.01 => "<0.01".into(),
        0.045..0.05 => "<0.05".into(),
        p => fixed(p, 2),
    }
}
