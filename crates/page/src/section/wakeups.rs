//! Why wake-ups went where they did: the share of each reason, and the explanation of some of them.

use crate::colour::{self, Family};
use crate::figure::{Figure, num};
use crate::section::looked::Looked;
use crate::text::{at, number};
use crate::view::{Block, LegendPart, View};
use crate::{Error, Page, limits};
use serde::Serialize;

/// The reasons of one side at one load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reasons {
    /// The side's name.
    pub side: String,
    /// The benchmark and its case, as in [`crate::Place::case`].
    pub case: String,
    /// The load; empty if there is only one.
    pub load: String,
    /// The number of wake-ups for each reason, in the order in which they are stacked.
    pub counts: Vec<ReasonCount>,
}

/// The number of wake-ups with one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// The name of the reason, of which [`crate::colour::REASONS`] has the colour.
    pub reason: String,
    /// The meaning, for the legend. May be empty.
    pub meaning: String,
    /// The number of wake-ups.
    pub wakeups: u64,
}

pub(crate) fn reasons(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.reasons.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("reasons", "Why wake-ups landed where they did");
    view.text("The step of the placement code that decided, as a share of the wake-ups.");
    let mut met: Vec<(&str, &str)> = Vec::new();
    for count in page.reasons.iter().flat_map(|reasons| &reasons.counts) {
        if !met.iter().any(|(reason, _)| *reason == count.reason) {
            met.push((&count.reason, &count.meaning));
        }
    }
    let title = |family| match family {
        Family::Idle => "An idle CPU was found:",
        Family::FallBack => "Nothing idle was found, the target is busy:",
        Family::Rule => "A rule decided:",
    };
    view.blocks.push(Block::Legend { parts: LegendPart::all(met.into_iter(), title) });
    let mut figure = Figure::new("reasons-chart", "reasons", "Wake-ups by reason")
        .column("case", "Case", "")
        .column("load", "Load", "")
        .column("side", "Side", "")
        .column("reason", "Reason", "")
        .column("wakeups", "Wake-ups", "")
        .column("share_pct", "Share of the wake-ups", "%")
        .select("case", "Case");
    let mut said = Vec::new();
    for reasons in &page.reasons {
        let all: u64 = reasons.counts.iter().map(|count| count.wakeups).sum();
        let share = |wakeups: u64| 100.0 * wakeups as f64 / all.max(1) as f64;
        for ReasonCount { reason, wakeups, .. } in &reasons.counts {
            let texts = [&reasons.case, &reasons.load, &reasons.side, reason].map(|text| text.as_str().into());
            figure.row(texts.into_iter().chain([(*wakeups).into(), num(share(*wakeups))]).collect::<Vec<_>>());
        }
        if let Some(most) = reasons.counts.iter().max_by_key(|count| count.wakeups) {
            let at = at(&reasons.case, &reasons.load);
            said.push(format!("{}{at}: {}.", reasons.side, mostly(&most.reason, share(most.wakeups))));
        }
    }
    figure.check(limits::VALUES, "show fewer loads on a page")?;
    figure.summary = said.into_iter().take(6).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}

/// The long waits of one side by cause.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Causes {
    /// The side's name.
    pub side: String,
    /// The waits of each cause, in the order in which they are stacked.
    pub sums: Vec<CauseSum>,
}

/// The waits of one cause.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CauseSum {
    /// The name of the cause, of which [`crate::colour::CAUSES`] has the colour.
    pub cause: String,
    /// The meaning, for the legend. May be empty.
    pub meaning: String,
    /// How many.
    pub waits: u64,
    /// Their sum, ms.
    pub ms: f64,
}

pub(crate) fn causes(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.causes.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("causes", "Why tasks waited");
    view.text("The time spent in long waits, by cause.");
    let mut met: Vec<(&str, &str)> = Vec::new();
    for sum in page.causes.iter().flat_map(|causes| &causes.sums) {
        if !met.iter().any(|(cause, _)| *cause == sum.cause) {
            met.push((&sum.cause, &sum.meaning));
        }
    }
    let title = |family| match family {
        Family::Idle => "Its CPU was idle:",
        Family::FallBack => "Behind other tasks:",
        Family::Rule => "Else:",
    };
    view.blocks.push(Block::Legend { parts: LegendPart::all(met.into_iter(), title) });
    let mut figure = Figure::new("causes-chart", "causes", "Waiting by cause")
        .column("side", "Side", "")
        .column("cause", "Cause", "")
        .column("waits", "Waits", "")
        .column("sum_ms", "Sum", "ms")
        .column("share_pct", "Share of the waiting", "%");
    let mut said = Vec::new();
    for Causes { side, sums } in &page.causes {
        let all: f64 = sums.iter().map(|sum| sum.ms).sum();
        let share = |ms: f64| if all > 0.0 { 100.0 * ms / all } else { 0.0 };
        for CauseSum { cause, waits, ms, .. } in sums {
            let texts = [side, cause].map(|text| text.as_str().into());
            let numbers = [(*waits).into(), num(*ms), num(share(*ms))];
            figure.row(texts.into_iter().chain(numbers).collect::<Vec<_>>());
        }
        if let Some(most) = sums.iter().max_by(|a, b| a.ms.total_cmp(&b.ms)) {
            said.push(format!("{side}: {}.", mostly(&most.cause, share(most.ms))));
        }
    }
    figure.check(limits::VALUES, "show fewer runs on a page")?;
    figure.summary = said.into_iter().take(6).collect::<Vec<_>>().join(" ");
    view.figure(figure, figures);
    Ok(Some(view))
}

/// A wake-up with the explanation of its CPU.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Explained {
    /// The title, such as the row or time of the wake-up.
    pub title: String,
    /// Why it is shown, such as `the slowest of base`. May be empty.
    pub why: String,
    /// The reason of the decision or the cause of the wait, which has a colour. May be empty.
    pub key: String,
    /// The text of `wakelab explain` with its line breaks.
    pub text: String,
    /// The CPUs that the decision looked at, to be drawn on the machine; the first [`crate::limits::DRAWN`] are.
    pub looked: Option<Looked>,
}

/// So many texts are open when the page is: of a page that has nothing else, and of others.
const OPEN: [usize; 2] = [10, 1];

pub(crate) fn explained(page: &Page) -> Result<Option<View>, Error> {
    if page.explained.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("explained", "Wake-ups explained");
    let drawn = page.explained.iter().filter(|one| one.looked.is_some()).count();
    if drawn > 0 {
        view.text(
            "Numbers are the order in which CPUs were looked at, the ring is the CPU that was chosen. CPUs that are \
             filled were idle. w is the waker's CPU, p the wakee's previous one.",
        );
    }
    if drawn > limits::DRAWN {
        view.text(format!("The first {} of {drawn} are drawn.", limits::DRAWN));
    }
    let open = OPEN[usize::from(page.comparison.is_some())];
    let mut left = limits::DRAWN;
    for (at, Explained { title, why, key, text, looked }) in page.explained.iter().enumerate() {
        let drawing = match looked {
            Some(looked) if left > 0 => {
                left -= 1;
                looked.draw().map_err(|why| Error::Inconsistent { what: format!("'{title}'"), why })?
            }
            _ => String::new(),
        };
        view.blocks.push(Block::Lines {
            title: title.clone(),
            key: colour::key(key).map(colour::Key::property),
            about: why.clone(),
            drawing,
            lines: text.clone(),
            open: at < open,
        });
    }
    Ok(Some(view))
}

/// What has the largest share, %.
fn mostly(what: &str, pct: f64) -> String {
    let how = if pct > 50.0 { "mostly" } else { "most of all" };
    format!("{how} {what} ({} %)", number(pct))
}
