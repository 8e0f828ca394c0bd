//! Latency: how long wakees wait until they run.

use crate::figure::{Figure, num};
use crate::text::{at, with_unit};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// Percentiles of the time from wake-up to run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Latency {
    /// The side's name.
    pub side: String,
    /// The benchmark and its case, as in [`crate::Place::case`].
    pub case: String,
    /// The load; empty if there is only one.
    pub load: String,
    /// The name of the tasks; empty for all tasks.
    pub tasks: String,
    /// The percentiles in rising order.
    pub percentiles: Vec<Percentile>,
}

/// One percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Percentile {
    /// The share of the wake-ups that waited no longer, 0 to 100 %. 100 is the maximum.
    pub percent: f64,
    /// The time, us.
    pub us: f64,
}

/// Returns the usual name of a percentile: p50, p99.9, max.
fn name(percent: f64) -> String {
    if percent >= 100.0 { "max".into() } else { format!("p{percent}") }
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.latencies.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("latency", "From wake-up to run");
    view.text("How long wakees waited, from the start of the choice until they ran. The scale is logarithmic.");
    let mut figure = Figure::new("latency-chart", "percentiles", "Time from wake-up to run")
        .column("case", "Case", "")
        .column("load", "Load", "")
        .column("tasks", "Tasks", "")
        .column("side", "Side", "")
        .column("percentile", "Percentile", "")
        .column("percent", "Waited no longer", "%")
        .column("us", "Time from wake-up to run", "us")
        .select("case", "Case")
        .select("load", "Load")
        .select("tasks", "Tasks");
    let mut said = Vec::new();
    for latency in &page.latencies {
        let tasks = if latency.tasks.is_empty() { &"all".to_owned() } else { &latency.tasks };
        for &Percentile { percent, us } in &latency.percentiles {
            let texts =
                [&latency.case, &latency.load, tasks, &latency.side].map(|text| serde_json::Value::from(text.as_str()));
            let values = [name(percent).into(), num(percent), num(us)];
            figure.row(texts.into_iter().chain(values).collect::<Vec<_>>());
        }
        let ends = latency.percentiles.first().zip(latency.percentiles.last());
        if let Some((low, high)) = ends {
            let text = |p: &Percentile| format!("{} {}", name(p.percent), with_unit(p.us, "us"));
            let at = at(&latency.case, &latency.load);
            said.push(format!("{}{at}, {tasks} tasks: {}, {}.", latency.side, text(low), text(high)));
        }
    }
    figure.check(limits::VALUES, "show fewer loads or tasks on a page")?;
    figure.summary = said.into_iter().take(4).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}
