//! The geometric mean of the differences of several rows.
//!
//! The geometric mean of m rows is G = exp(Σ lᵢ / m), with lᵢ = ln(w̄ᵢ / b̄ᵢ), or ln(b̄ᵢ / w̄ᵢ) where a lower metric is
//! better; b̄ᵢ and w̄ᵢ are the means of the sides of a row, v_bᵢ and v_wᵢ the variances of these means. It is printed
//! as 100 (G − 1), and as 100 (1 − 1 / G) if lower is better in all rows, so that the mean of one row is its compare%.
//!
//! Its 95% interval takes the rows as given: the variance of Σ lᵢ / m is Σ (v_wᵢ / w̄ᵢ² + v_bᵢ / b̄ᵢ²) / m² to first
//! order, with the degrees of freedom of Welch and Satterthwaite (Satterthwaite, Biometrics Bulletin 2, 1946) for this
//! sum. A row whose sides are identical adds no variance. Of a single row it is that row's own interval.
//!
//! With weights cᵢ the sum is Σ cᵢ lᵢ / Σ cᵢ, and its variance Σ cᵢ² (v_wᵢ / w̄ᵢ² + v_bᵢ / b̄ᵢ²) / (Σ cᵢ)². The
//! probability that the other side is better is that of a difference above 0, if nothing was known before: Student's
//! distribution of the sum divided by its standard error.

use crate::compare::Better;
use crate::statistics::{difference, mean, variance};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The geometric mean of the differences of several rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GeometricMean {
    /// How much better the other side is, %.
    pub pct: f64,
    /// The 95% interval of `pct`; `None` if a row has one value on a side, or if that of a single row has no ends.
    pub ci95: Option<[f64; 2]>,
    /// The rows that it is of.
    pub rows: usize,
    /// The rows that have no ratio, because a mean is 0 or negative.
    pub left_out: usize,
}

/// A row of a mean: the values of the base and of the other side, and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct MeanRow<'a> {
    /// The values of the base, one or more.
    pub base: &'a [f64],
    /// Those of the other side.
    pub with: &'a [f64],
    /// The direction in which they are better.
    pub better: Better,
    /// Its weight, 0 or more.
    pub weight: f64,
}

/// The logarithm of a geometric mean, with its variance.
#[derive(Clone, Copy, Debug)]
struct MeanLog {
    log: f64,
    /// The sum of the weights.
    weights: f64,
    /// The variance of the weighted sum; that of `log` is this divided by the square of the weights.
    variances: f64,
    /// The degrees of freedom of the variance; infinite if it is 0.
    freedom: f64,
    rows: usize,
    left_out: usize,
    all_lower: bool,
    /// Whether all rows have several values on both sides.
    all_repeated: bool,
}

impl MeanLog {
    /// `None` if no row with a weight has a ratio.
    fn of<'a>(rows: impl Iterator<Item = MeanRow<'a>>) -> Option<Self> {
        let (mut sum, mut weights, mut all_lower, mut all_repeated) = (0.0, 0.0, true, true);
        let (mut count, mut left_out) = (0, 0);
        // The sum of the variances, and of their squares by degrees of freedom.
        let (mut variances, mut per_freedom) = (0.0, 0.0);
        for MeanRow { base, with, better, weight } in rows {
            let ratio = mean(with) / mean(base);
            if !(ratio.is_finite() && ratio > 0.0 && mean(base) > 0.0) {
                left_out += 1;
                continue;
            }
            sum += weight * if better == Better::Higher { ratio.ln() } else { -ratio.ln() };
            weights += weight;
            count += 1;
            all_lower &= better == Better::Lower;
            all_repeated &= base.len() > 1 && with.len() > 1;
            // Sides that are identical have no difference that varies.
            for side in [base, with].into_iter().filter(|side| base != with && side.len() > 1) {
                let relative = weight * weight * variance(side) / side.len() as f64 / mean(side).powi(2);
                variances += relative;
                per_freedom += relative * relative / (side.len() - 1) as f64;
            }
        }
        let freedom = if variances == 0.0 { f64::INFINITY } else { variances * variances / per_freedom };
        (weights > 0.0).then(|| MeanLog {
            log: sum / weights,
            weights,
            variances,
            freedom,
            rows: count,
            left_out,
            all_lower,
            all_repeated,
        })
    }

    fn pct(&self, log: f64) -> f64 {
        if self.all_lower { -100.0 * (-log).exp_m1() } else { 100.0 * log.exp_m1() }
    }

    fn student(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom).expect("some side varies, so there are degrees of freedom")
    }

    fn mean(&self) -> GeometricMean {
        let interval = || {
            if self.variances == 0.0 {
                return [self.pct(self.log); 2];
            }
            let half = self.student().inverse_cdf(0.975) * self.variances.sqrt() / self.weights;
            [self.pct(self.log - half), self.pct(self.log + half)]
        };
        let ci95 = self.all_repeated.then(interval);
        GeometricMean { pct: self.pct(self.log), ci95, rows: self.rows, left_out: self.left_out }
    }

    /// `None` if a row has one value on a side.
    fn probability_better(&self) -> Option<f64> {
        self.all_repeated.then(|| match self.variances {
            0.0 if self.log == 0.0 => 0.5,
            0.0 => f64::from(self.log > 0.0),
            variances => self.student().cdf(self.log * self.weights / variances.sqrt()),
        })
    }
}

/// Returns the geometric mean of rows, each with the values of the base and of the other side. `None` if no row has a
/// ratio.
pub fn geometric_mean<'a>(rows: impl IntoIterator<Item = (&'a [f64], &'a [f64], Better)>) -> Option<GeometricMean> {
    let rows: Vec<MeanRow<'a>> =
        rows.into_iter().map(|(base, with, better)| MeanRow { base, with, better, weight: 1.0 }).collect();
    weighted_mean(&rows).map(|(mean, _)| mean)
}

/// Returns the geometric mean of weighted rows, and the probability that the other side is better; the latter is `None`
/// if a row has one value on a side. `None` if no row with a weight has a ratio.
pub fn weighted_mean(rows: &[MeanRow<'_>]) -> Option<(GeometricMean, Option<f64>)> {
    let counts = |row: &&MeanRow<'_>| row.weight > 0.0;
    let of_all = MeanLog::of(rows.iter().filter(counts).copied())?;
    let probability = of_all.probability_better();
    let mut found = of_all.mean();
    // Of one row, Fieller's interval of its own ratio is the better one, and the one that stands beside it.
    if found.rows == 1 {
        let has_ratio = |row: &&MeanRow<'_>| MeanLog::of(std::iter::once(**row)).is_some();
        if let Some(row) = rows.iter().filter(counts).find(has_ratio) {
            let of = difference(row.base, row.with, row.better);
            let identical = of_all.all_repeated && row.base == row.with;
            found.pct = of.compare_pct;
            found.ci95 = if identical { Some([of.compare_pct; 2]) } else { of.ci95 };
        }
    }
    Some((found, probability))
}
