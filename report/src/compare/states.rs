//! When runs changed state.

use std::fmt::Write;
use wakelab_measure::{RunStats, State};
use wakelab_study::compare::{Comparison, Side};

/// A line for each run that changed state, or one that says that none did.
pub(crate) fn states(comparison: &Comparison) -> String {
    let settle_ns = comparison.experiment.settle_ns;
    let mut text = String::new();
    for row in &comparison.rows {
        for (name, side) in [("base", &row.base), ("with", &row.with)] {
            for (repeat, run) in changed(side) {
                let changes: Vec<_> = run
                    .changes
                    .iter()
                    .map(|change| format!("{} at {} ms", name_of(change.state), change.at_ns / 1_000_000))
                    .collect();
                let measured = run.changes.iter().any(|change| change.at_ns >= settle_ns);
                let mark = if measured { "  (while it was measured: its numbers mix two states)" } else { "" };
                let changes = changes.join(", ");
                let _ = writeln!(text, "{} {}, {name}, repeat {repeat}: {changes}{mark}", row.case, row.load);
            }
        }
    }
    if text.is_empty() { "No run changed state: all stayed migrating.\n".to_owned() } else { text }
}

fn changed(side: &Side) -> impl Iterator<Item = (usize, &RunStats)> {
    (1..).zip(&side.runs).filter(|(_, run)| !run.changes.is_empty())
}

pub(super) fn name_of(state: State) -> &'static str {
    match state {
        State::Migrating => "migrating",
        State::Stacked => "stacked",
    }
}
