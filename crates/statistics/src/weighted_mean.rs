//! The weighted geometric mean of rows whose sides ran with the same seeds.
//!
//! Of row i with weight cᵢ let lᵢ = ln(w̄ᵢ / b̄ᵢ), or ln(b̄ᵢ / w̄ᵢ) where a lower metric is better; b̄ᵢ and w̄ᵢ are the
//! means of its n repeats. The mean is L = Σ cᵢ lᵢ / Σ cᵢ, printed as 100 (exp(L) − 1).
//!
//! Repeat k of both sides has one seed, so that what the seed does to both cancels: to first order the variance of lᵢ
//! is that of the differences d_k = w_k / w̄ᵢ − b_k / b̄ᵢ, divided by n, with n − 1 degrees of freedom. The variance of
//! L is Σ cᵢ² var(lᵢ) / (Σ cᵢ)², with the degrees of freedom of Welch and Satterthwaite (Satterthwaite, Biometrics
//! Bulletin 2, 1946). The probability that the other side is better is that of a mean above 0 if nothing was known
//! before: Student's distribution of L divided by its standard error.

use crate::{Better, mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A row of a mean.
#[derive(Clone, Copy, Debug)]
pub struct MeanRow<'a> {
    /// The values of the base, one for each repeat.
    pub base: &'a [f64],
    /// Those of the other side, with the same seeds.
    pub with: &'a [f64],
    /// The direction in which they are better.
    pub better: Better,
    /// How much it counts, 0 or more.
    pub weight: f64,
}

impl MeanRow<'_> {
    /// The logarithm of the ratio of the means, positive if the other side is better; 0 for identical sides. `None` if
    /// they have no ratio, because one is 0 or negative.
    pub fn log(&self) -> Option<f64> {
        if self.base == self.with {
            return Some(0.0);
        }
        let (base, with) = (mean(self.base), mean(self.with));
        let log = (with / base).ln();
        let has_ratio = base > 0.0 && with > 0.0 && log.is_finite();
        has_ratio.then_some(if self.better == Better::Higher { log } else { -log })
    }

    /// The variance of [`MeanRow::log`]; `None` for one repeat.
    fn variance(&self) -> Option<f64> {
        let n = self.base.len();
        if n < 2 || self.with.len() != n {
            return None;
        }
        if self.base == self.with {
            return Some(0.0);
        }
        let (base, with) = (mean(self.base), mean(self.with));
        let differences: Vec<f64> = self.base.iter().zip(self.with).map(|(b, w)| w / with - b / base).collect();
        Some(variance(&differences) / n as f64)
    }
}

/// A weighted geometric mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedMean {
    /// How much better the other side is, %.
    pub pct: f64,
    /// The 95% interval of `pct`; `None` if a row has one repeat, and if the sides differ but no difference varies.
    pub ci95: Option<[f64; 2]>,
    /// How probable it is that the other side is better, 0 to 1; `None` where there is no interval.
    pub probability_better: Option<f64>,
}

/// Returns the mean of rows that have a ratio each. `None` if the weights are 0.
pub fn weighted_mean(rows: &[MeanRow<'_>]) -> Option<WeightedMean> {
    let (mut sum, mut weights, mut variances, mut per_freedom) = (0.0, 0.0, Some(0.0), 0.0);
    for row in rows.iter().filter(|row| row.weight > 0.0) {
        sum += row.weight * row.log()?;
        weights += row.weight;
        let of_row = row.variance().map(|variance| row.weight * row.weight * variance);
        variances = variances.zip(of_row).map(|(all, one): (f64, f64)| {
            per_freedom += one * one / (row.base.len() - 1) as f64;
            all + one
        });
    }
    if weights == 0.0 {
        return None;
    }
    let pct = |log: f64| 100.0 * log.exp_m1();
    let log = sum / weights;
    let (ci95, probability_better) = match variances {
        None => (None, None),
        Some(0.0) if log == 0.0 => (Some([0.0; 2]), Some(0.5)),
        Some(0.0) => (None, None),
        Some(variances) => {
            let student = StudentsT::new(0.0, 1.0, variances * variances / per_freedom).expect("something varies");
            let error = variances.sqrt() / weights;
            let half = student.inverse_cdf(0.975) * error;
            (Some([pct(log - half), pct(log + half)]), Some(student.cdf(log / error)))
        }
    };
    Some(WeightedMean { pct: pct(log), ci95, probability_better })
}
