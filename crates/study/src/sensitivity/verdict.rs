//! The verdict on a row, from its samples.

use super::decision_stump::decision_stump;
use super::{Classes, Condition, Constant, Influence, Method, Plan, Sample, SensitivityRow, Share, Side, Verdict};
use crate::compare::{Class, CompareRow, noise_of};
use wakelab_statistics::{critical_spearman, spearman};

/// A conclusion holds if it is the same in this share of the samples, %.
const HOLDS_PCT: usize = 95;
/// With fewer samples of a hypercube there is no verdict: 7 that agree leave a third of the ranges open (1 -
/// 0.05^(1/7)).
pub const SAMPLES_MIN: usize = 8;
/// The share of rows in which chance alone may make a rank correlation stand out, %.
const STANDS_OUT_PCT: f64 = 5.0;

/// The constants of a sample, and the compare% of the row with them.
type Point<'a> = (&'a [u64], f64);

/// Judges the row with this index.
pub(super) fn judge(plan: &Plan, row: &CompareRow, at: usize, samples: &[Sample]) -> SensitivityRow {
    let noise_pct = noise_of(row);
    let class = Class::of(row.compare_pct, noise_pct);
    let points: Vec<Point<'_>> =
        samples.iter().filter_map(|sample| Some((sample.values.as_slice(), sample.compare_pct[at]?))).collect();
    let holds: Vec<bool> = points.iter().map(|&(_, pct)| Class::of(pct, noise_pct) == class).collect();
    let same = Share { n: holds.iter().filter(|&&hold| hold).count(), of: holds.len() };
    let (verdict, influences) = match plan.method {
        Method::LatinHypercube => (of_hypercube(plan, &points, &holds, same), correlations(plan, &points)),
        Method::OneAtATime => {
            let ends: Vec<_> = (0..plan.constants.len()).map(|at| ends(plan, at, &points)).collect();
            let alike = |pct: f64| Class::of(pct, noise_pct) == class;
            (of_ends(plan, &ends, alike), influences(plan, &ends))
        }
        Method::Ensemble if 100 * same.n >= HOLDS_PCT * same.of && same.of > 0 => (Verdict::Holds, Vec::new()),
        Method::Ensemble => (Verdict::Uncertain, Vec::new()),
    };
    SensitivityRow {
        benchmark: row.benchmark.clone(),
        case: row.case.clone(),
        load: row.load.clone(),
        better: row.better,
        compare_pct: row.compare_pct,
        noise_pct,
        class,
        same,
        classes: classes(&points, noise_pct),
        range: range(&points),
        verdict,
        influences,
        stands_out_above: match plan.method {
            Method::LatinHypercube if points.len() < SAMPLES_MIN => None,
            Method::LatinHypercube => critical_spearman(points.len(), plan.constants.len(), STANDS_OUT_PCT / 100.0),
            Method::OneAtATime | Method::Ensemble => None,
        },
    }
}

fn classes(points: &[Point<'_>], noise_pct: f64) -> Classes {
    let of = |class| points.iter().filter(|&&(_, pct)| Class::of(pct, noise_pct) == class).count();
    Classes { better: of(Class::Better), same: of(Class::Same), worse: of(Class::Worse) }
}

fn of_hypercube(plan: &Plan, points: &[Point<'_>], holds: &[bool], same: Share) -> Verdict {
    if same.of < SAMPLES_MIN {
        return Verdict::Uncertain;
    }
    if 100 * same.n >= HOLDS_PCT * same.of {
        return Verdict::Holds;
    }
    let values: Vec<Vec<u64>> = points.iter().map(|(values, _)| values.to_vec()).collect();
    let Some(stump) = decision_stump(&values, holds) else { return Verdict::Uncertain };
    Verdict::Depends(vec![Condition {
        constant: plan.constants[stump.constant].clone(),
        side: stump.side,
        between: stump.between,
        inside: stump.inside,
        outside: stump.outside,
    }])
}

/// Of fewer samples than a verdict needs, some of so many constants correlate perfectly by chance.
fn correlations(plan: &Plan, points: &[Point<'_>]) -> Vec<Influence> {
    if points.len() < SAMPLES_MIN {
        return plan.constants.iter().map(nothing_of).collect();
    }
    let compare: Vec<f64> = points.iter().map(|&(_, pct)| pct).collect();
    let correlation = |at: usize| {
        let of_constant: Vec<f64> = points.iter().map(|(values, _)| values[at] as f64).collect();
        spearman(&of_constant, &compare)
    };
    let all = plan.constants.iter().enumerate();
    all.map(|(at, constant)| Influence { spearman: correlation(at), ..nothing_of(constant) }).collect()
}

fn nothing_of(constant: &Constant) -> Influence {
    let (of, name) = (constant.of.clone(), constant.name.clone());
    Influence { of, name, spearman: None, at_low_pct: None, at_high_pct: None }
}

/// Returns compare% with this constant at its lowest and at its highest.
fn ends(plan: &Plan, at: usize, points: &[Point<'_>]) -> [Option<f64>; 2] {
    // A sample is identified by all of its values, because a constant whose usual value is an end has it in other
    // samples, too.
    [0, 1].map(|end| {
        let wanted = plan.samples[2 * at + end].as_slice();
        points.iter().find(|(values, _)| *values == wanted).map(|&(_, pct)| pct)
    })
}

fn influences(plan: &Plan, ends: &[[Option<f64>; 2]]) -> Vec<Influence> {
    let one = |(constant, &[at_low_pct, at_high_pct]): (&Constant, &[Option<f64>; 2])| Influence {
        at_low_pct,
        at_high_pct,
        ..nothing_of(constant)
    };
    plan.constants.iter().zip(ends).map(one).collect()
}

fn of_ends(plan: &Plan, ends: &[[Option<f64>; 2]], alike: impl Fn(f64) -> bool) -> Verdict {
    let mut conditions = Vec::new();
    let mut known = true;
    for (constant, ends) in plan.constants.iter().zip(ends) {
        let Constant { value, low, high, .. } = *constant;
        for (end, side, between) in [(ends[0], Side::Above, [low, value]), (ends[1], Side::Below, [value, high])] {
            known &= end.is_some();
            if end.is_some_and(|pct| !alike(pct)) {
                let (inside, outside) = (Share { n: 1, of: 1 }, Share { n: 0, of: 1 });
                conditions.push(Condition { constant: constant.clone(), side, between, inside, outside });
            }
        }
    }
    match (conditions.is_empty(), known) {
        (false, _) => Verdict::Depends(conditions),
        (true, true) => Verdict::Holds,
        (true, false) => Verdict::Uncertain,
    }
}

fn range(points: &[Point<'_>]) -> Option<[f64; 3]> {
    let mut sorted: Vec<f64> = points.iter().map(|&(_, pct)| pct).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let middle = n.checked_sub(1)? / 2;
    Some([sorted[0], (sorted[middle] + sorted[n / 2]) / 2.0, sorted[n - 1]])
}
