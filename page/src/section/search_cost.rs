//! How much each search took.

use crate::figure::{Figure, num};
use crate::text::{count, number};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// The histogram of one side's searches.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SearchCost {
    /// The side's name.
    pub side: String,
    /// The load as text; empty if there is one only.
    pub load: String,
    /// What is counted: `run queues looked at` or `ns`.
    pub unit: String,
    /// The bins from the lowest on, without gaps.
    pub bins: Vec<CostBin>,
}

/// A bin of the histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CostBin {
    /// The lowest cost in it.
    pub from: f64,
    /// The highest cost in it.
    pub to: f64,
    /// Searches that cost so much.
    pub searches: u64,
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.search_cost.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("search-cost", "What a search costs");
    view.text("How many searches cost how much. Those that end in a fast path are counted where they are given.");
    let mut figure = Figure::new("search-cost-chart", "histogram", "Search cost")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("unit", "Unit", "")
        .column("from", "From", "")
        .column("to", "To", "")
        .column("searches", "Searches", "")
        .column("share_pct", "Share of the searches", "%")
        .select("load", "Load");
    let mut said = Vec::new();
    for cost in &page.search_cost {
        let all: u64 = cost.bins.iter().map(|bin| bin.searches).sum();
        for bin in &cost.bins {
            let share = 100.0 * bin.searches as f64 / all.max(1) as f64;
            let texts = [&cost.load, &cost.side, &cost.unit].map(|text| text.as_str().into());
            let values = [num(bin.from), num(bin.to), bin.searches.into(), num(share)];
            figure.row(texts.into_iter().chain(values).collect::<Vec<_>>());
        }
        if let Some(bin) = cost.bins.iter().max_by_key(|bin| bin.searches) {
            let range = if bin.from == bin.to {
                number(bin.from)
            } else {
                format!("{} to {}", number(bin.from), number(bin.to))
            };
            let at = if cost.load.is_empty() { String::new() } else { format!(" at load {}", cost.load) };
            said.push(format!(
                "{}{at}: {}, most often {range} {}.",
                cost.side,
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
