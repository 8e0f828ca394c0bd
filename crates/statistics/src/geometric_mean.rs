//! The geometric mean of the differences of several rows.
//!
//! The geometric mean of m rows is G = exp(Σ lᵢ / m), with lᵢ = ln(w̄ᵢ / b̄ᵢ), or ln(b̄ᵢ / w̄ᵢ) where a lower metric is
//! better; b̄ᵢ and w̄ᵢ are the means of the sides of a row, v_bᵢ and v_wᵢ the variances of these means. It is printed
//! as 100 (G − 1), and as 100 (1 − 1 / G) if lower is better in all rows, so that the mean of one row is its compare%.
//!
//! Its 95% interval takes the rows as given: the variance of Σ lᵢ / m is Σ (v_wᵢ / w̄ᵢ² + v_bᵢ / b̄ᵢ²) / m² to first
//! order, with the degrees of freedom of Welch and Satterthwaite (Satterthwaite, Biometrics Bulletin 2, 1946) for this
//! sum. A row whose sides are identical adds no variance. Of a single row it is that row's own interval.

use crate::{Better, difference, mean, variance};
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

/// Returns the geometric mean of rows, each with the values of the base and of the other side. `None` if no row has a
/// ratio.
pub fn geometric_mean<'a>(rows: impl IntoIterator<Item = (&'a [f64], &'a [f64], Better)>) -> Option<GeometricMean> {
    let (mut sum, mut all_lower, mut all_repeated) = (0.0, true, true);
    let (mut count, mut left_out, mut only) = (0, 0, None);
    // The sum of the variances, and of their squares by degrees of freedom.
    let (mut variances, mut per_freedom) = (0.0, 0.0);
    for (base, with, better) in rows {
        let ratio = mean(with) / mean(base);
        if !(ratio.is_finite() && ratio > 0.0 && mean(base) > 0.0) {
            left_out += 1;
            continue;
        }
        sum += if better == Better::Higher { ratio.ln() } else { -ratio.ln() };
        count += 1;
        only = Some((base, with, better));
        all_lower &= better == Better::Lower;
        all_repeated &= base.len() > 1 && with.len() > 1;
        // Sides that are identical have no difference that varies.
        for side in [base, with].into_iter().filter(|side| base != with && side.len() > 1) {
            let relative = variance(side) / side.len() as f64 / mean(side).powi(2);
            variances += relative;
            per_freedom += relative * relative / (side.len() - 1) as f64;
        }
    }
    if count == 0 {
        return None;
    }
    // Of one row, Fieller's interval of its own ratio is the better one, and the one that stands beside it.
    if let (1, Some((base, with, better))) = (count, only) {
        let of = difference(base, with, better);
        let identical = all_repeated && base == with;
        let ci95 = if identical { Some([of.compare_pct; 2]) } else { of.ci95 };
        return Some(GeometricMean { pct: of.compare_pct, ci95, rows: 1, left_out });
    }
    let m = count as f64;
    let pct = |log: f64| if all_lower { -100.0 * (-log).exp_m1() } else { 100.0 * log.exp_m1() };
    let interval = || {
        if variances == 0.0 {
            return [pct(sum / m); 2];
        }
        let student = StudentsT::new(0.0, 1.0, variances * variances / per_freedom).expect("some side varies");
        let half = student.inverse_cdf(0.975) * variances.sqrt() / m;
        [pct(sum / m - half), pct(sum / m + half)]
    };
    let ci95 = all_repeated.then(interval);
    Some(GeometricMean { pct: pct(sum / m), ci95, rows: count, left_out })
}
