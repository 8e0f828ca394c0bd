//! Two results, or two recordings, side by side.
//!
//! [`diff_results`] compares the files that `wakelab compare` and `wakelab run` write as JSON, side by side and row by
//! row, and lists first what differs in what was run. [`diff_recordings`] compares what was counted in recordings.

mod config;
mod recordings;
mod results;

pub use config::Setting;
pub use recordings::{RecordingsError, diff_recordings};
pub use results::{ResultFile, ResultFileError, diff_results};

use crate::compare::noise_of_means;
use crate::verdict::{Certainty, JudgedRow, Outcome, RowVerdict, Verdict, judge_outcomes};
use wakelab_statistics::{Better, Difference, difference, mean, std_pct};

/// Two things side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The name of the first.
    pub a: String,
    /// The name of the second.
    pub b: String,
    /// The settings that differ, in the order of the files.
    pub settings: Vec<Setting>,
    /// Notes on the sides, such as that one is a sample; a sentence each.
    pub notes: Vec<String>,
    /// The rows that both have.
    pub rows: Vec<DiffRow>,
    /// The rows that only the first has.
    pub only_a: Vec<String>,
    /// The rows that only the second has.
    pub only_b: Vec<String>,
}

/// A quantity on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// The machine; empty if the files have one each.
    pub machine: String,
    /// The kernel; empty if the files have one each.
    pub kernel: String,
    /// The side of a comparison, `base`, `with` or the name of a variant; empty for recordings.
    pub side: String,
    /// The benchmark, or the group of quantities.
    pub benchmark: String,
    /// The case, or the quantity.
    pub case: String,
    /// The load; empty for recordings.
    pub load: String,
    /// The unit.
    pub unit: String,
    /// The direction in which it is better; `None` if there is none.
    pub better: Option<Better>,
    /// The values of the first, a value for each repeat.
    pub values_a: Vec<f64>,
    /// The values of the second.
    pub values_b: Vec<f64>,
    /// How much better the other side was than the base in each result, compare%; `None` for the base itself, and for
    /// recordings.
    pub compare_pct: Option<[f64; 2]>,
    /// The difference: of a quantity that has a direction how much better the second is, else how much more it has, %.
    pub difference: Difference,
}

impl DiffRow {
    /// The means of both.
    pub fn means(&self) -> [f64; 2] {
        [mean(&self.values_a), mean(&self.values_b)]
    }

    /// The standard deviations of both, % of their means; 0 for one value.
    pub fn std_pcts(&self) -> [f64; 2] {
        [std_pct(&self.values_a), std_pct(&self.values_b)]
    }

    /// Whether both have the same values.
    pub fn is_identical(&self) -> bool {
        self.values_a == self.values_b
    }
}

/// The difference of two lists of values; without a direction, more is positive.
fn difference_of(a: &[f64], b: &[f64], better: Option<Better>) -> Difference {
    difference(a, b, better.unwrap_or(Better::Higher))
}

/// Judges the rows by the rule of docs/trust.md. A quantity without a direction is neither better nor worse, and is not
/// among those that are corrected for.
pub fn judge(diff: &Diff) -> Verdict<'static> {
    let outcome = |row: &DiffRow| Outcome {
        identical: row.is_identical(),
        compare_pct: row.difference.compare_pct,
        p_value: row.difference.p_value.filter(|_| row.better.is_some()),
        noise_pct: noise_of_means(&row.values_a, &row.values_b),
    };
    let outcomes: Vec<Outcome> = diff.rows.iter().map(outcome).collect();
    let judged = judge_outcomes(&outcomes).into_iter().zip(&diff.rows).map(|((verdict, p_holm, noise_pct), row)| {
        let case = [row.case.as_str(), row.side.as_str()].into_iter().filter(|part| !part.is_empty());
        JudgedRow {
            machine: row.machine.clone(),
            kernel: row.kernel.clone(),
            benchmark: row.benchmark.clone(),
            case: case.collect::<Vec<_>>().join(" "),
            load: row.load.clone(),
            verdict: if row.better.is_none() && verdict != RowVerdict::Identical {
                RowVerdict::Untested
            } else {
                verdict
            },
            compare_pct: row.difference.compare_pct,
            ci95: row.difference.ci95,
            p_holm,
            noise_pct,
            better: row.better.unwrap_or(Better::Higher),
            decided_nothing: Vec::new(),
            compares_nothing: false,
            never_ran: Default::default(),
        }
    });
    let n = |row: &DiffRow| [row.values_a.len(), row.values_b.len()];
    let counts = || diff.rows.iter().flat_map(n).map(|n| n as u32);
    Verdict {
        base: diff.a.clone(),
        with: diff.b.clone(),
        repeats: [counts().min().unwrap_or(0), counts().max().unwrap_or(0)],
        until: None,
        complete: true,
        rows: judged.collect(),
        control_pct: None,
        constants: None,
        known: Vec::new(),
        schedulers: Vec::new(),
        certainty: Certainty::default(),
    }
}
