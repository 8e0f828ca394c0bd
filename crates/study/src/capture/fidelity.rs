//! How much a captured workload is like the recording, simulated on the machine and the kernel that were recorded.
//!
//! Both sides are read by the same code, one from the recording, the other from the events of the simulation.

use super::timeline::{Counts, Timelines, Times};
use super::{CaptureError, CaptureOptions, Captured, follow};
use crate::recordings::progress::Progress;
use crate::recordings::sources::about;
use crate::recordings::stats::stats;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_events::stream::Source;
use wakelab_machine::Machine;
use wakelab_measure::{Latency, Waits};
use wakelab_sched::select::Reason;

/// How alike two numbers or two runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Within the closer limits.
    Faithful,
    /// Within the wider limits.
    Roughly,
    /// Beyond them: no comparison of policies is to be believed.
    Not,
}

impl Likeness {
    /// Returns the word of tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Likeness::Faithful => "faithful",
            Likeness::Roughly => "roughly",
            Likeness::Not => "not",
        }
    }
}

/// The limits of a quantity: up to which difference it is faithful, and roughly so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limits {
    /// The ratio of the larger to the smaller.
    Ratio(f64, f64),
    /// The difference, in the quantity's unit.
    Difference(f64, f64),
    /// Shown, and not judged.
    None,
}

/// A rate, such as wake-ups a second: within 10%, within 30%.
const RATE: Limits = Limits::Ratio(1.1, 1.3);
/// A time that has a distribution: within a quarter, within a factor of 2.
const TIME: Limits = Limits::Ratio(1.25, 2.0);
/// The tail of a distribution.
const TAIL: Limits = Limits::Ratio(1.5, 3.0);
/// A share, %: within 5 points, within 15.
const SHARE: Limits = Limits::Difference(5.0, 15.0);
/// A difference of times that no limit is about, ns.
const NEGLIGIBLE_NS: f64 = 2_000.0;
/// The most families of tasks that are compared, those with the most waits.
const MOST_FAMILIES: usize = 6;

/// A quantity on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct FidelityRow {
    /// The name of the quantity.
    pub quantity: String,
    /// Its unit: `/s`, `%`, `us`.
    pub unit: &'static str,
    /// In the recording. `None` if the recording does not have it.
    pub recorded: Option<f64>,
    /// In the simulation.
    pub simulated: f64,
    /// The limits.
    pub limits: Limits,
}

impl FidelityRow {
    /// How alike the two sides are; `None` if that is not judged.
    pub fn likeness(&self) -> Option<Likeness> {
        let (recorded, simulated) = (self.recorded?, self.simulated);
        let (distance, [close, wide]) = match self.limits {
            Limits::None => return None,
            Limits::Difference(close, wide) => ((recorded - simulated).abs(), [close, wide]),
            Limits::Ratio(close, wide) => {
                let negligible = self.unit == "us" && (recorded - simulated).abs() <= NEGLIGIBLE_NS / 1000.0;
                let (low, high) = (recorded.min(simulated), recorded.max(simulated));
                let ratio = if negligible || high == 0.0 { 1.0 } else { high / low.max(f64::MIN_POSITIVE) };
                (ratio, [close, wide])
            }
        };
        Some(match distance {
            _ if distance <= close => Likeness::Faithful,
            _ if distance <= wide => Likeness::Roughly,
            _ => Likeness::Not,
        })
    }
}

/// How much a captured workload is like the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// The quantities.
    pub rows: Vec<FidelityRow>,
}

impl Fidelity {
    /// The verdict: that of the row that is least alike.
    pub fn verdict(&self) -> Likeness {
        self.rows.iter().filter_map(FidelityRow::likeness).max().unwrap_or(Likeness::Not)
    }
}

/// What was followed in a window, as numbers.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    seconds: f64,
    counts: Counts,
    /// By CPU: the part of the time in which it was busy, %.
    busy: Vec<f64>,
    /// The CPUs of the machine, or, if that is not known, those that were seen.
    nr_cpus: usize,
}

impl Seen {
    pub(super) fn of(lines: &Timelines, machine: Option<&Machine>) -> Self {
        let length = (lines.to_ns - lines.from_ns).max(1) as f64;
        Seen {
            seconds: length / 1e9,
            counts: lines.counts.clone(),
            busy: lines.busy_ns.iter().map(|&ns| 100.0 * ns as f64 / length).collect(),
            nr_cpus: machine.map_or(lines.busy_ns.len(), |machine| machine.topology.nr_cpus() as usize),
        }
    }
}

/// The events of a source, as numbers.
#[derive(Clone, Debug)]
pub struct Facts {
    seen: Seen,
    reasons: BTreeMap<Reason, u64>,
    searches: wakelab_measure::SearchStats,
    balanced: Option<u64>,
}

impl Facts {
    /// Reads a source in the window of the options.
    ///
    /// # Errors
    /// Fails as [`capture`](super::capture) does.
    pub fn of(source: &Source, options: &CaptureOptions<'_>, progress: &dyn Progress) -> Result<Self, CaptureError> {
        let lines = follow(source, &about(source)?, options, progress)?;
        Facts::with(Seen::of(&lines, options.machine), source, progress)
    }

    /// Reads what is still missing of a source that was captured.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub fn of_captured(captured: &Captured, source: &Source, progress: &dyn Progress) -> Result<Self, CaptureError> {
        Facts::with(captured.seen.clone(), source, progress)
    }

    fn with(seen: Seen, source: &Source, progress: &dyn Progress) -> Result<Self, CaptureError> {
        let (mut counted, outcomes) = stats(std::slice::from_ref(source), &[], progress);
        if let Some(error) = outcomes.into_iter().find_map(|outcome| outcome.error) {
            return Err(error.into());
        }
        let tally = counted.pop_first().map(|(_, tally)| tally);
        Ok(Facts {
            seen,
            reasons: tally.as_ref().map(|tally| tally.all.reasons.clone()).unwrap_or_default(),
            searches: tally.as_ref().map(|tally| tally.all.search).unwrap_or_default(),
            balanced: tally.and_then(|tally| tally.balanced),
        })
    }

    /// The waits of all families, or what they ran between two switches.
    fn all(&self, times: impl Fn(&Times) -> &Waits) -> Latency {
        let mut all = Waits::new(2);
        self.seen.counts.families.values().for_each(|of| all.merge(times(of)));
        all.latency()
    }
}

/// Compares a recording with the simulation of what was captured of it.
pub fn fidelity(recorded: &Facts, simulated: &Facts) -> Fidelity {
    let row = |quantity: Quantity| {
        let Quantity { name, unit, limits, value } = quantity;
        let (recorded, simulated) = (value(recorded), value(simulated)?);
        Some(FidelityRow { quantity: name, unit, recorded, simulated, limits })
    };
    Fidelity { rows: quantities(recorded, &[simulated]).into_iter().filter_map(row).collect() }
}

/// A quantity as it was recorded, as it is simulated, and as it is predicted for another side.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedRow {
    /// The quantity, in the recording and in the simulation of what was captured of it.
    pub as_recorded: FidelityRow,
    /// In the simulation of the other side.
    pub predicted: f64,
    /// In a recording that was made of the other side. `None` if there is none, or if it does not have it.
    pub came_out: Option<f64>,
}

impl PredictedRow {
    /// How alike the prediction is to what came out, by the limits of fidelity; `None` if that is not judged.
    pub fn likeness(&self) -> Option<Likeness> {
        FidelityRow { recorded: self.came_out, simulated: self.predicted, ..self.as_recorded.clone() }.likeness()
    }
}

/// The prediction for a side.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The side: what is switched, or the kernel.
    pub side: String,
    /// The quantities.
    pub rows: Vec<PredictedRow>,
}

/// Returns what the simulation of a captured workload predicts for a side, and what came out if that was recorded.
pub fn prediction(
    side: String,
    [recorded, simulated]: [&Facts; 2],
    predicted: &Facts,
    came_out: Option<&Facts>,
) -> Prediction {
    let mut others = vec![simulated, predicted];
    others.extend(came_out);
    let row = |quantity: Quantity| {
        let Quantity { name, unit, limits, value } = quantity;
        let (predicted, simulated) = (value(predicted)?, value(simulated)?);
        let as_recorded = FidelityRow { quantity: name, unit, recorded: value(recorded), simulated, limits };
        Some(PredictedRow { as_recorded, predicted, came_out: came_out.and_then(&value) })
    };
    Prediction { side, rows: quantities(recorded, &others).into_iter().filter_map(row).collect() }
}

/// How a quantity is read.
type Value = Box<dyn Fn(&Facts) -> Option<f64>>;

/// What is compared, and how it is read.
struct Quantity {
    name: String,
    unit: &'static str,
    limits: Limits,
    value: Value,
}

/// The quantities of a recording: families are those of the recording, reasons those of any side.
fn quantities(recorded: &Facts, others: &[&Facts]) -> Vec<Quantity> {
    let mut all = Vec::new();
    let mut add = |name: &str, unit, limits, value: Value| {
        all.push(Quantity { name: name.to_owned(), unit, limits, value });
    };
    add("wake-ups", "/s", RATE, Box::new(|of| Some(of.seen.counts.wakeups as f64 / of.seen.seconds)));
    add("switches from tasks", "/s", RATE, Box::new(|of| Some(of.seen.counts.switches as f64 / of.seen.seconds)));
    add("preempted", "%", SHARE, Box::new(|of| Some(share(of.seen.counts.preemptions, of.seen.counts.switches))));
    add(
        "woken elsewhere than before",
        "%",
        SHARE,
        Box::new(|of| Some(share(of.seen.counts.moved, of.seen.counts.wakeups))),
    );
    add("balanced", "/s", Limits::None, Box::new(|of| of.balanced.map(|n| n as f64 / of.seen.seconds)));
    let busy = |of: &Facts| Some(of.seen.busy.iter().sum::<f64>() / of.seen.nr_cpus.max(1) as f64);
    add("busy, mean of CPUs", "%", SHARE, Box::new(busy));
    add("busy, busiest CPU", "%", Limits::None, Box::new(|of| of.seen.busy.iter().copied().reduce(f64::max)));
    for (runs, what) in [(false, "wait"), (true, "run")] {
        let tail = if runs { Limits::None } else { TAIL };
        for (at, limits) in [("p50", TIME), ("p95", TAIL), ("p99", tail), ("max", Limits::None)] {
            let times = move |of: &Facts| of.all(|times| if runs { &times.runs } else { &times.waits });
            add(&format!("{what}, {at}"), "us", limits, Box::new(move |of| Some(quantile(&times(of), at))));
        }
    }
    for family in families(recorded) {
        for at in ["p50", "p99"] {
            let limits = if at == "p50" { TIME } else { TAIL };
            let name = format!("wait of {family}, {at}");
            let family = family.clone();
            let value = move |of: &Facts| Some(quantile(&of.seen.counts.families.get(&family)?.waits.latency(), at));
            add(&name, "us", limits, Box::new(value));
        }
    }
    if !recorded.reasons.is_empty() {
        let scanned = |of: &Facts| Some(share(of.searches.sis_domain_search, of.searches.sis_search));
        add("searches that scanned", "%", SHARE, Box::new(scanned));
        let failed = |of: &Facts| Some(share(of.searches.sis_failed, of.searches.sis_search));
        add("searches that failed", "%", SHARE, Box::new(failed));
        let sides = others.iter().copied().chain([recorded]);
        let reasons: BTreeSet<Reason> = sides.flat_map(|of| of.reasons.keys().copied()).collect();
        for reason in reasons {
            let part = move |of: &Facts| {
                let all: u64 = of.reasons.values().sum();
                Some(share(of.reasons.get(&reason).copied().unwrap_or(0), all))
            };
            add(&format!("chosen: {}", reason.name()), "%", SHARE, Box::new(part));
        }
    }
    all
}

/// The families with the most waits, of those that are not nearly nothing.
fn families(recorded: &Facts) -> Vec<String> {
    let n = |name: &String| recorded.seen.counts.families[name].waits.latency().n;
    let all: u64 = recorded.seen.counts.families.keys().map(n).sum();
    let mut names: Vec<String> =
        recorded.seen.counts.families.keys().filter(|name| n(name) * 50 >= all.max(1)).cloned().collect();
    names.sort_by_key(|name| std::cmp::Reverse(n(name)));
    names.truncate(MOST_FAMILIES);
    if names.len() < 2 { Vec::new() } else { names }
}

fn quantile(latency: &Latency, at: &str) -> f64 {
    let ns = match at {
        "p50" => latency.p50,
        "p95" => latency.p95,
        "p99" => latency.p99,
        _ => latency.max,
    };
    ns as f64 / 1000.0
}

fn share(n: u64, of: u64) -> f64 {
    100.0 * n as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &'static str, recorded: f64, simulated: f64, limits: Limits) -> FidelityRow {
        FidelityRow { quantity: String::new(), unit, recorded: Some(recorded), simulated, limits }
    }

    #[test]
    fn a_verdict_is_that_of_the_row_that_is_least_alike() {
        let faithful = row("/s", 100.0, 109.0, RATE);
        let roughly = row("%", 20.0, 30.0, SHARE);
        let not = row("us", 10.0, 40.0, TIME);
        assert_eq!(faithful.likeness(), Some(Likeness::Faithful));
        assert_eq!(Fidelity { rows: vec![faithful.clone(), roughly.clone()] }.verdict(), Likeness::Roughly);
        assert_eq!(Fidelity { rows: vec![faithful, roughly, not] }.verdict(), Likeness::Not);
        assert_eq!(Fidelity { rows: Vec::new() }.verdict(), Likeness::Not, "nothing is known");
    }

    #[test]
    fn a_prediction_is_judged_by_what_came_out() {
        let as_recorded = row("%", 80.0, 79.0, SHARE);
        let predicted = PredictedRow { as_recorded, predicted: 20.0, came_out: Some(22.0) };
        assert_eq!(predicted.likeness(), Some(Likeness::Faithful));
        assert_eq!(PredictedRow { came_out: None, ..predicted.clone() }.likeness(), None);
        assert_eq!(PredictedRow { came_out: Some(80.0), ..predicted }.likeness(), Some(Likeness::Not));
    }

    #[test]
    fn times_that_differ_by_less_than_can_be_told_are_alike() {
        assert_eq!(row("us", 1.0, 2.9, TIME).likeness(), Some(Likeness::Faithful));
        assert_eq!(row("us", 0.0, 0.0, TIME).likeness(), Some(Likeness::Faithful));
        assert_eq!(row("/s", 0.0, 5.0, RATE).likeness(), Some(Likeness::Not));
    }
}
