//! The verdict on a comparison: one rule for the terminal, the page, the letter and JSON.
//!
//! A row is
//!
//! 1. [`RowVerdict::Identical`] if both sides have the same value with every seed: the switch changed nothing.
//! 2. [`RowVerdict::Untested`] if there is one run per side, whatever the difference.
//! 3. [`RowVerdict::Better`] or [`RowVerdict::Worse`] if |compare%| exceeds its noise ([`noise_of`]),
//!    `max(5%, 2 √(σ_base² / n_base + σ_with² / n_with))`, where both σ are in % of the mean of the base, and p of
//!    Welch's test, corrected for the rows that are tested (Holm, Scandinavian Journal of Statistics 6, 1979), is below
//!    5%.
//! 4. [`RowVerdict::Undecided`] in place of 3 if the class does not hold with other constants: the samples of a
//!    sensitivity study, or the sets that fit the machine, have it in less than 95%. And if the side that is ahead
//!    starves more tasks than the other: tasks that never run leave their time to the others.
//! 5. [`RowVerdict::Same`] otherwise: not shown to differ, or by less than the model can tell
//!    ([`JudgedRow::is_small`]).
//!
//! By the limit of 3 the samples of a sensitivity study are classified, too. It is also the one by which `reproduce`
//! tells an effect of a published table, with n = 1, as postings rarely say of how many runs their spreads are
//! ([`noise_pct`](crate::compare::noise_pct)).

use crate::compare::{
    Class, CompareRow, Comparison, Control, ControlRow, DecidedNothing, MatrixComparison, Side, Until, half_width_pct,
    noise_of,
};
use crate::reproduce::{Known, known};
use crate::sensitivity::{self, Method, SAMPLES_MIN, Sensitivity, SensitivityRow};
use serde::Serialize;
use wakelab_measure::NeverRan;
use wakelab_statistics::{Better, size};

/// Below this p, corrected for the number of rows, a difference is more than chance.
pub const SIGNIFICANT: f64 = 0.05;

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// Both sides have the same value with every seed.
    Identical,
    /// The other side is better, by more than the noise and more than chance.
    Better,
    /// The other side is worse, by more than the noise and more than chance.
    Worse,
    /// The other side would be better or worse, but not with other constants, or because tasks starve on the side that
    /// is ahead.
    Undecided,
    /// The sides are not shown to differ.
    Same,
    /// They differ, and one run per side does not tell whether by chance.
    Untested,
}

impl RowVerdict {
    /// The name in the output.
    pub fn name(self) -> &'static str {
        match self {
            RowVerdict::Identical => "identical",
            RowVerdict::Better => "better",
            RowVerdict::Worse => "worse",
            RowVerdict::Undecided => "undecided",
            RowVerdict::Same => "same",
            RowVerdict::Untested => "untested",
        }
    }
}

/// A row with its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRow {
    /// The machine.
    pub machine: String,
    /// The kernel, of the sides that name none themselves.
    pub kernel: String,
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// The verdict.
    pub verdict: RowVerdict,
    /// The direction in which the metric is better.
    pub better: Better,
    /// How much better the other side is, %.
    pub compare_pct: f64,
    /// The 95% interval of `compare_pct`, not corrected for the number of rows; `None` for one repeat, and for
    /// identical sides.
    pub ci95: Option<[f64; 2]>,
    /// The p value, corrected for the rows that are tested; `None` if this one is not: identical, or one repeat.
    pub p_holm: Option<f64>,
    /// The noise limit, %: a larger difference is an effect.
    pub noise_pct: f64,
    /// The settings in which the sides differ that decided nothing.
    pub decided_nothing: Vec<DecidedNothing>,
    /// Whether those are all in which the sides differ, so that nothing is compared.
    pub compares_nothing: bool,
    /// The tasks that could run and got no CPU in the measured time, on each side, in the repeat with the most.
    pub never_ran: [NeverRan; 2],
}

impl JudgedRow {
    /// Whether the side that is ahead starves more tasks than the other.
    pub fn starves_ahead(&self) -> bool {
        let [base, with] = [0, 1].map(|side| self.never_ran[side].count);
        if self.compare_pct > 0.0 { with > base } else { base > with }
    }

    /// How large the difference is ([`size`]).
    pub fn size(&self) -> f64 {
        size(self.compare_pct, self.better)
    }

    /// Whether the sides differ by more than chance, but by less than the model is right to, which is 5%.
    pub fn is_small(&self) -> bool {
        self.verdict == RowVerdict::Same && self.p_holm.is_some_and(|p| p < SIGNIFICANT)
    }
}

/// In how many samples of a sensitivity study all rows that are better or worse, or would be, keep their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HoldsIn {
    /// The rows that are better or worse, or undecided.
    pub effects: usize,
    /// Those that hold in at least 95% of the samples.
    pub hold: usize,
    /// The samples with the class of the comparison, in the row with the fewest.
    pub fewest: usize,
    /// The samples.
    pub samples: usize,
    /// Whether the samples are the sets of constants that fit the machine, not draws from the ranges.
    pub fitted: bool,
}

/// The verdict on a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// The switches of the base side as given; may be empty.
    pub base: String,
    /// The switches of the other side as given; may be empty.
    pub with: String,
    /// The runs of a row on each side: the fewest and the most.
    pub repeats: [u32; 2],
    /// How exact the intervals were to be; `None` for a fixed number of repeats.
    pub until: Option<Until>,
    /// Whether all rows are there.
    pub complete: bool,
    /// The rows, in the order of the comparison.
    pub rows: Vec<JudgedRow>,
    /// The largest |compare%| of the base side against itself; `None` if that was not run.
    pub control_pct: Option<f64>,
    /// How far the assumed constants decide; `None` if that was not asked for, or if no row is better or worse.
    pub constants: Option<HoldsIn>,
    /// The record of such predictions in the published tables; empty under sched_ext.
    pub known: Vec<Known>,
    /// The schedulers of sched_ext on the sides, of whose predictions no published table tells.
    pub schedulers: Vec<String>,
    /// The runs that tell how sure the verdict is.
    pub certainty: Certainty<'a>,
}

impl Verdict<'_> {
    /// The rows of a verdict.
    pub fn rows_that_are(&self, verdict: RowVerdict) -> impl Iterator<Item = &JudgedRow> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }

    /// How many rows are of a verdict.
    pub fn count(&self, verdict: RowVerdict) -> usize {
        self.rows_that_are(verdict).count()
    }

    /// The rows whose interval is wider than it was to be. Those of which both sides are identical need none.
    pub fn wider(&self) -> impl Iterator<Item = &JudgedRow> {
        let limit = self.until.map(|until| until.half_width_pct);
        let wide = move |row: &JudgedRow| half_width_pct(row.ci95).is_none_or(|half| Some(half) > limit);
        let rows = self.rows.iter().filter(|row| row.verdict != RowVerdict::Identical);
        rows.filter(move |row| limit.is_some() && wide(row))
    }

    /// The rows whose numbers were put to the test.
    pub fn tested(&self) -> usize {
        self.rows.iter().filter(|row| row.p_holm.is_some()).count()
    }
}

/// The runs that tell how sure a comparison is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certainty<'a> {
    /// The base side against itself.
    pub control: Option<&'a Control>,
    /// The comparison with other constants.
    pub sensitivity: Option<&'a Sensitivity>,
}

/// Judges a comparison, with what was found of its certainty.
pub fn verdict<'a>(found: &Comparison, certainty: Certainty<'a>) -> Verdict<'a> {
    let Certainty { control, sensitivity } = certainty;
    let mut rows = judge(&found.rows.iter().map(|row| (found, row)).collect::<Vec<_>>());
    if let Some(study) = sensitivity {
        for (row, with_others) in rows.iter_mut().zip(&study.rows).filter(|(row, _)| is_effect(row)) {
            if !stands(study.method, with_others) {
                row.verdict = RowVerdict::Undecided;
            }
        }
    }
    let control_pct = control.map(|control| largest(control, found));
    Verdict {
        base: found.experiment.base.clone(),
        with: found.experiment.with.clone(),
        repeats: repeats([found]),
        until: found.experiment.until,
        complete: found.complete,
        control_pct,
        constants: sensitivity.and_then(|found| holds_in(&rows, found)),
        known: known(found),
        schedulers: found.schedulers.clone(),
        certainty,
        rows,
    }
}

/// Judges a matrix: a verdict for each variant, over all machines and kernels. The correction is for all rows of the
/// matrix that are tested.
pub fn matrix_verdicts(found: &MatrixComparison) -> Vec<Verdict<'static>> {
    let of_variant = |variant: usize| {
        let comparisons = found.of_variant(variant);
        comparisons.flat_map(|found| found.rows.iter().map(move |row| (found, row)))
    };
    let variants = found.variants.len();
    let all: Vec<_> = (0..variants).flat_map(of_variant).collect();
    let mut judged = judge(&all).into_iter();
    let known = known_of(found);
    let verdict = |(variant, name): (usize, &String)| {
        let first = found.of_variant(variant).next();
        let label = |name: &String, switches: Option<&String>, unnamed: &str| match switches {
            Some(switches) if name == unnamed => switches.clone(),
            _ => name.clone(),
        };
        let experiment = first.map(|comparison| &comparison.experiment);
        Verdict {
            base: label(&found.base, experiment.map(|it| &it.base), "base"),
            with: label(name, experiment.map(|it| &it.with), "with"),
            repeats: repeats(found.of_variant(variant)),
            until: experiment.and_then(|it| it.until),
            complete: found.complete,
            rows: judged.by_ref().take(of_variant(variant).count()).collect(),
            control_pct: None,
            constants: None,
            known: known.clone(),
            schedulers: schedulers_of(found.of_variant(variant)),
            certainty: Certainty::default(),
        }
    };
    found.variants.iter().enumerate().map(verdict).collect()
}

/// The verdicts of a matrix by comparison, in the order of [`MatrixComparison::comparisons`]: the rows of each with
/// what was concluded of them over the whole matrix.
pub fn by_comparison<'a>(found: &MatrixComparison, verdicts: &[Verdict<'a>]) -> Vec<Verdict<'a>> {
    let mut rows: Vec<_> = verdicts.iter().map(|verdict| verdict.rows.iter().cloned()).collect();
    let judged = |(at, comparison): (usize, &Comparison)| {
        let variant = at % found.variants.len();
        let of_it = rows[variant].by_ref().take(comparison.rows.len()).collect();
        let repeats = repeats([comparison]);
        let known = known(comparison);
        let schedulers = comparison.schedulers.clone();
        Verdict { rows: of_it, complete: comparison.complete, repeats, known, schedulers, ..verdicts[variant].clone() }
    };
    found.comparisons.iter().enumerate().map(judged).collect()
}

/// What the published tables say of predictions like these, each once.
fn known_of(found: &MatrixComparison) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    for one in found.blocks().flat_map(|block| known(&block[0])) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The schedulers of several comparisons, each once.
fn schedulers_of<'a>(found: impl Iterator<Item = &'a Comparison>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in found.flat_map(|comparison| &comparison.schedulers) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

/// The largest |compare%| of the base side against itself.
fn largest(control: &Control, found: &Comparison) -> f64 {
    let of = |(at, row): (usize, &ControlRow)| {
        let better = found.rows.get(at).map_or(Better::Higher, |row| row.better);
        (size(row.compare_pct, better), row.compare_pct.abs())
    };
    let all = control.rows.iter().enumerate().map(of);
    all.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, pct)| pct)
}

/// The fewest and the most runs of a row on a side; those that were asked for if there is no row.
fn repeats<'a>(found: impl IntoIterator<Item = &'a Comparison>) -> [u32; 2] {
    let mut ends: Option<[u32; 2]> = None;
    let mut asked = 0;
    for comparison in found {
        asked = comparison.experiment.repeats;
        for n in comparison.rows.iter().map(|row| row.base.n as u32) {
            let [least, most] = ends.unwrap_or([n; 2]);
            ends = Some([least.min(n), most.max(n)]);
        }
    }
    ends.unwrap_or([asked; 2])
}

/// What is judged of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Whether both sides have the same values.
    pub(crate) identical: bool,
    /// How much better the other side is, %.
    pub(crate) compare_pct: f64,
    /// The p value; `None` if it is not tested.
    pub(crate) p_value: Option<f64>,
    /// What the difference has to exceed to be an effect, %.
    pub(crate) noise_pct: f64,
}

/// Judges rows together: for each its verdict, the corrected p, and the noise, %.
pub(crate) fn judge_outcomes(rows: &[Outcome]) -> Vec<(RowVerdict, Option<f64>, f64)> {
    let p_values: Vec<Option<f64>> = rows.iter().map(|row| row.p_value.filter(|_| !row.identical)).collect();
    let judged = |(row, p_holm): (&Outcome, Option<f64>)| {
        let verdict = match (p_holm, Class::of(row.compare_pct, row.noise_pct)) {
            _ if row.identical => RowVerdict::Identical,
            (None, _) => RowVerdict::Untested,
            (Some(p), Class::Better) if p < SIGNIFICANT => RowVerdict::Better,
            (Some(p), Class::Worse) if p < SIGNIFICANT => RowVerdict::Worse,
            _ => RowVerdict::Same,
        };
        (verdict, p_holm, row.noise_pct)
    };
    rows.iter().zip(holm(&p_values)).map(judged).collect()
}

fn judge(rows: &[(&Comparison, &CompareRow)]) -> Vec<JudgedRow> {
    let outcome = |(_, row): &(&Comparison, &CompareRow)| Outcome {
        identical: row.is_identical(),
        compare_pct: row.compare_pct,
        p_value: row.p_value,
        noise_pct: noise_of(row),
    };
    let outcomes: Vec<Outcome> = rows.iter().map(outcome).collect();
    let judged = |(&(of, row), (verdict, p_holm, noise_pct)): (&(&Comparison, &CompareRow), _)| JudgedRow {
        machine: of.experiment.machine.clone(),
        kernel: of.experiment.kernel.clone(),
        benchmark: row.benchmark.clone(),
        case: row.case.clone(),
        load: row.load.clone(),
        verdict,
        compare_pct: row.compare_pct,
        ci95: row.ci95,
        p_holm,
        noise_pct,
        better: row.better,
        compares_nothing: !of.experiment.differ.is_empty() && of.experiment.differ.len() == row.decided_nothing.len(),
        decided_nothing: row.decided_nothing.clone(),
        never_ran: [&row.base, &row.with].map(never_ran),
    };
    let mut rows: Vec<JudgedRow> = rows.iter().zip(judge_outcomes(&outcomes)).map(judged).collect();
    for row in rows.iter_mut().filter(|row| is_effect(row) && row.starves_ahead()) {
        row.verdict = RowVerdict::Undecided;
    }
    rows
}

/// Of the repeats of a side the one in which the most tasks never ran.
fn never_ran(side: &Side) -> NeverRan {
    let most = side.runs.iter().map(|run| &run.never_ran).reduce(|a, b| if b.count > a.count { b } else { a });
    most.cloned().unwrap_or_default()
}

/// Holm's correction: of m values in rising order, the k-th (from 0) is multiplied by m - k, and none is below the one
/// before it.
fn holm(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut rising: Vec<(usize, f64)> = (0..).zip(p_values).filter_map(|(at, p)| Some((at, (*p)?))).collect();
    rising.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![None; p_values.len()];
    let (m, mut least) = (rising.len(), 0.0_f64);
    for (k, (at, p)) in rising.into_iter().enumerate() {
        least = least.max((p * (m - k) as f64).min(1.0));
        corrected[at] = Some(least);
    }
    corrected
}

/// Whether a row is better or worse, or would be.
fn is_effect(row: &JudgedRow) -> bool {
    matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse | RowVerdict::Undecided)
}

/// Whether the class of a row stands with other constants. Too few samples for a verdict say nothing as long as they
/// agree.
fn stands(method: Method, row: &SensitivityRow) -> bool {
    let few = method == Method::LatinHypercube && row.same.of < SAMPLES_MIN;
    row.verdict == sensitivity::Verdict::Holds || (few && row.same.n == row.same.of) || row.same.of == 0
}

/// `None` if no row is better or worse, or if no sample was run.
fn holds_in(rows: &[JudgedRow], found: &Sensitivity) -> Option<HoldsIn> {
    let effects: Vec<_> = rows.iter().zip(&found.rows).filter(|(row, _)| is_effect(row)).map(|(_, row)| row).collect();
    let fewest = effects.iter().min_by_key(|row| row.same.n)?;
    (fewest.same.of > 0).then(|| HoldsIn {
        effects: effects.len(),
        hold: effects.iter().filter(|row| row.verdict == sensitivity::Verdict::Holds).count(),
        fewest: fewest.same.n,
        samples: fewest.same.of,
        fitted: found.fitted.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_multiplies_the_smallest_by_all_and_never_falls() {
        // Holm, 1979, section 3: the k-th smallest is tested at alpha / (m - k + 1).
        let corrected = holm(&[Some(0.01), Some(0.04), None, Some(0.03), Some(0.005)]);
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-12;
        assert!(close(corrected[4], 0.02) && close(corrected[0], 0.03));
        assert!(close(corrected[3], 0.06) && close(corrected[1], 0.06), "0.04 alone would fall below 0.03 doubled");
        assert_eq!(corrected[2], None);
        assert_eq!(holm(&[Some(0.7), Some(0.9)]), [Some(1.0), Some(1.0)]);
    }
}
