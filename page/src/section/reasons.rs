//! Where wake-ups landed, by reason.

use crate::figure::{Figure, num};
use crate::text::number;
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// The reasons of one side at one load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reasons {
    /// The side's name.
    pub side: String,
    /// The load as text; empty if there is one only.
    pub load: String,
    /// How often each reason was given; the order is that in which they are stacked.
    pub counts: Vec<ReasonCount>,
}

/// How often a reason was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// Its name, such as `prev` or `target: limit`.
    pub reason: String,
    /// Wake-ups with it.
    pub wakeups: u64,
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.reasons.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("reasons", "Why wake-ups landed where they did");
    view.text("The step of the placement code that decided, as a share of the wake-ups.");
    let mut figure = Figure::new("reasons-chart", "reasons", "Wake-ups by reason")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("reason", "Reason", "")
        .column("wakeups", "Wake-ups", "")
        .column("share_pct", "Share of the wake-ups", "%");
    let mut said = Vec::new();
    for reasons in &page.reasons {
        let all: u64 = reasons.counts.iter().map(|count| count.wakeups).sum();
        let share = |wakeups: u64| 100.0 * wakeups as f64 / all.max(1) as f64;
        for ReasonCount { reason, wakeups } in &reasons.counts {
            let texts = [&reasons.load, &reasons.side, reason].map(|text| text.as_str().into());
            figure.row(texts.into_iter().chain([(*wakeups).into(), num(share(*wakeups))]).collect::<Vec<_>>());
        }
        if let Some(most) = reasons.counts.iter().max_by_key(|count| count.wakeups) {
            let at = if reasons.load.is_empty() { String::new() } else { format!(" at load {}", reasons.load) };
            said.push(format!("{}{at}: mostly {} ({} %).", reasons.side, most.reason, number(share(most.wakeups))));
        }
    }
    figure.check(limits::VALUES, "show fewer loads on a page")?;
    figure.summary = said.into_iter().take(6).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}
