//! Recordings side by side.

use super::config::differing;
use super::{Diff, DiffRow, difference_of};
use crate::recordings::progress::Progress;
use crate::recordings::sources::{about, sources};
use crate::recordings::stats::{RunTally, stats};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wakelab_events::ReadError;
use wakelab_events::stream::{RecorderCounts, Source};
use wakelab_sched::select::Reason;
use wakelab_statistics::Better;

/// Recordings cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is nothing at a path.
    #[error("{}: not a recording; expected one, or a folder with several of the same kind", .0.display())]
    Nothing(PathBuf),
}

/// A recording, as numbers.
struct Counted {
    tally: RunTally,
    seconds: f64,
}

/// Compares what was counted in the recordings at one path with those at another. Each path may have several: they are
/// repeats of one thing. Simulated runs count as recordings.
///
/// # Errors
/// Fails if a recording cannot be read to its end.
pub fn diff_recordings(a: &Path, b: &Path, progress: &dyn Progress) -> Result<Diff, RecordingsError> {
    let (settings_a, counted_a) = counted(a, progress)?;
    let (settings_b, counted_b) = counted(b, progress)?;
    let reasons: BTreeSet<Reason> =
        counted_a.iter().chain(&counted_b).flat_map(|one| one.tally.all.reasons.keys().copied()).collect();
    let mut rows = Vec::new();
    let sampled = counted_a.iter().chain(&counted_b).any(|one| sample(one).is_some());
    // What a sample has is not what there was: a rate is that of the sample, and the longest wait may be missing.
    let (told, untold): (Vec<Quantity>, Vec<Quantity>) =
        quantities(&reasons).into_iter().partition(|quantity| !sampled || quantity.of_samples);
    let notes = notes(&[("A", &counted_a), ("B", &counted_b)], &untold);
    for quantity in told {
        let values = |all: &[Counted]| all.iter().filter_map(&quantity.value).collect::<Vec<f64>>();
        let (values_a, values_b) = (values(&counted_a), values(&counted_b));
        let known = [(&values_a, &counted_a), (&values_b, &counted_b)];
        // A recording that lacks it would make a mean of fewer recordings than the page says.
        if known.iter().any(|(values, all)| values.len() < all.len()) {
            continue;
        }
        rows.push(DiffRow {
            machine: String::new(),
            kernel: String::new(),
            side: String::new(),
            benchmark: quantity.group.to_owned(),
            case: quantity.name,
            load: String::new(),
            unit: quantity.unit.to_owned(),
            better: quantity.better,
            compare_pct: None,
            difference: difference_of(&values_a, &values_b, quantity.better),
            values_a,
            values_b,
        });
    }
    let name = |path: &Path| path.display().to_string();
    let settings = differing(&settings_a, &settings_b);
    Ok(Diff { a: name(a), b: name(b), settings, notes, rows, only_a: Vec::new(), only_b: Vec::new() })
}

/// The share of the decisions that a recording has, if it is a sample.
fn sample(one: &Counted) -> Option<f64> {
    one.tally.recorder.as_ref().and_then(RecorderCounts::sample)
}

/// Says which side is a sample, and what is not compared for that reason.
fn notes(sides: &[(&str, &Vec<Counted>)], untold: &[Quantity]) -> Vec<String> {
    let of_side = |(name, all): &(&str, &Vec<Counted>)| {
        let shares: Vec<f64> = all.iter().filter_map(sample).collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        Some(format!(
            "{name} is a sample: filters, --sample or --max-rate left decisions out, and {:.1}% of them are recorded",
            100.0 * least
        ))
    };
    let mut notes: Vec<String> = sides.iter().filter_map(of_side).collect();
    if !notes.is_empty() && !untold.is_empty() {
        let names: Vec<&str> = untold.iter().map(|quantity| quantity.name.as_str()).collect();
        notes.push(format!("not compared, because a sample cannot show them: {}", names.join(", ")));
    }
    notes
}

/// What a recording was made with: names and values.
type Settings = Vec<(String, String)>;

/// A number of a counted run; `None` if it has none.
type Value = Box<dyn Fn(&Counted) -> Option<f64>>;

/// What the recordings at a path are of, and their counts.
fn counted(path: &Path, progress: &dyn Progress) -> Result<(Settings, Vec<Counted>), RecordingsError> {
    let (found, errors) = sources(&[path.to_owned()]);
    if let Some(error) = errors.into_iter().next() {
        return Err(error.into());
    }
    let counted: Vec<Counted> = found.iter().map(|source| count(source, progress)).collect::<Result<_, _>>()?;
    let Some(first) = found.first() else { return Err(RecordingsError::Nothing(path.to_owned())) };
    let mut settings = Vec::new();
    let each = |of: &dyn Fn(&Source) -> Result<String, ReadError>| -> Result<String, ReadError> {
        let all: BTreeSet<String> = found.iter().map(of).collect::<Result<_, _>>()?;
        Ok(all.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", "))
    };
    settings.push(("kind".to_owned(), kind(first).to_owned()));
    settings.push(("recordings".to_owned(), found.len().to_string()));
    settings.push(("kernel".to_owned(), each(&|source| Ok(about(source)?.kernel))?));
    settings.push(("machine".to_owned(), each(&|source| Ok(about(source)?.machine))?));
    settings.push(("workload".to_owned(), each(&|source| Ok(about(source)?.workload))?));
    settings.push(("switches".to_owned(), each(&|source| Ok(about(source)?.variant))?));
    Ok((settings, counted))
}

fn kind(source: &Source) -> &'static str {
    match source {
        Source::Simulated(_) => "simulated",
        Source::Csv(_) | Source::Recorded(_) => "recorded",
    }
}

fn count(source: &Source, progress: &dyn Progress) -> Result<Counted, ReadError> {
    let (mut found, outcomes) = stats(std::slice::from_ref(source), &[], progress);
    if let Some(error) = outcomes.into_iter().find_map(|outcome| outcome.error) {
        return Err(error);
    }
    let (_, tally) = found.pop_first().expect("a source without an error was counted");
    let seconds = tally.span.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    Ok(Counted { tally, seconds })
}

/// What is compared, and how it is read.
struct Quantity {
    group: &'static str,
    name: String,
    unit: &'static str,
    better: Option<Better>,
    /// Whether a sample of the decisions tells it.
    of_samples: bool,
    value: Value,
}

fn quantities(reasons: &BTreeSet<Reason>) -> Vec<Quantity> {
    let mut all = Vec::new();
    let mut add = |group, name: &str, unit, better, value: Value| {
        let of_samples = unit != "/s" && name != "longest";
        all.push(Quantity { group, name: name.to_owned(), unit, better, of_samples, value });
    };
    let rate = |n: u64, of: &Counted| (of.seconds > 0.0).then(|| n as f64 / of.seconds);
    let share = |n: u64, of: u64| (of > 0).then(|| 100.0 * n as f64 / of as f64);
    add("wake-ups", "wake-ups", "/s", None, Box::new(move |of| rate(of.tally.all.wakeups, of)));
    add("wake-ups", "to another CPU", "%", None, Box::new(move |of| share(of.tally.all.moved, of.tally.all.moved_of)));
    add(
        "wake-ups",
        "to another LLC",
        "%",
        None,
        Box::new(move |of| share(of.tally.all.crossed, of.tally.all.crossed_of)),
    );
    add("wake-ups", "migrations by balancing", "/s", None, Box::new(move |of| rate(of.tally.balanced?, of)));
    for (name, at) in [("p50", 0), ("p95", 1), ("p99", 2), ("longest", 3)] {
        let value = move |of: &Counted| {
            let waits = of.tally.all.waits.latency();
            let ns = [waits.p50, waits.p95, waits.p99, waits.max][at];
            (of.tally.has_waits && waits.n > 0).then(|| ns as f64 / 1e3)
        };
        // The longest of all is one value, and says more of how long was recorded.
        let better = (name != "longest").then_some(Better::Lower);
        add("waits", name, "us", better, Box::new(value));
    }
    let search = |of: &Counted| of.tally.knows_reasons.then_some(of.tally.all.search);
    add(
        "searches",
        "past the fast path",
        "%",
        None,
        Box::new(move |of| {
            let search = search(of)?;
            share(search.sis_domain_search, search.sis_search)
        }),
    );
    add(
        "searches",
        "that failed",
        "%",
        None,
        Box::new(move |of| {
            let search = search(of)?;
            share(search.sis_failed, search.sis_search)
        }),
    );
    add(
        "searches",
        "run queues looked at past the fast path",
        "",
        None,
        Box::new(move |of| {
            let search = search(of)?;
            let looks = search.sis_scanned.checked_sub(search.sis_search - search.sis_domain_search)?;
            (search.sis_domain_search > 0).then(|| looks as f64 / search.sis_domain_search as f64)
        }),
    );
    for &reason in reasons {
        let value = move |of: &Counted| {
            let all: u64 = of.tally.all.reasons.values().sum();
            share(of.tally.all.reasons.get(&reason).copied().unwrap_or(0), all)
        };
        add("chosen by", reason.name(), "%", None, Box::new(value));
    }
    all
}
