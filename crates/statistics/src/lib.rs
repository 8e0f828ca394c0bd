//! Means, spreads, and whether two means differ.
//!
//! Let *b* be the base values, with mean b̄, sample variance s²ᵦ and number nᵦ, and *w* the values of the other side:
//!
//! 1. std% = 100 s / mean, with s² = Σ(x − x̄)² / (n − 1).
//! 2. compare% = 100 (w̄ / b̄ − 1); if a lower metric is better, 100 (1 − w̄ / b̄). Positive is better. Of a base whose
//!    mean is negative, as slack can be, the signs are the other way about: it is 100 (w̄ − b̄) / |b̄|.
//! 3. Welch's t-test (Welch, Biometrika 34, 1947): t = (w̄ − b̄) / √(v_w + v_b) with v = s² / n, and
//!    ν = (v_w + v_b)² / (v_w² / (n_w − 1) + v_b² / (n_b − 1)) degrees of freedom. p is two-sided.
//! 4. The 95% interval of compare% is Fieller's (J. R. Stat. Soc. B 16, 1954) for the ratio R of the means, with
//!    Welch's ν: all R with (w̄ − R b̄)² ≤ t² (v_w + R² v_b), where t is the 97.5% point. It includes the spread of the
//!    base, which is the denominator, and excludes 0 exactly if p < 0.05. It has no ends if the mean of the base is not
//!    told from 0 at that level (b̄² ≤ t² v_b).
//!
//! It may use statrs. It knows no metric and no report, and never drops a value.

mod better;
mod geometric_mean;
mod rank_correlation;
mod weighted_mean;

pub use better::Better;
pub use geometric_mean::{GeometricMean, geometric_mean};
pub use rank_correlation::{critical_spearman, spearman};
pub use weighted_mean::{MeanRow, WeightedMean, weighted_mean};

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The name of the test.
pub const WELCH: &str = "Welch's t-test";

/// Returns the mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        // The sum of equal values, divided by their number, need not give the value back.
        [first, rest @ ..] if rest.iter().all(|value| value == first) => *first,
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

/// Returns the sample standard deviation in per cent of the mean (formula 1); 0 for one value, and if the mean is 0.
pub fn std_pct(values: &[f64]) -> f64 {
    let mean = mean(values);
    if mean == 0.0 { 0.0 } else { 100.0 * variance(values).sqrt() / mean.abs() }
}

/// Returns the sample variance; 0 for one value.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// How many times as good the other side is as the base, as a natural logarithm, from compare% (formula 2): of a metric
/// that is better if higher, ln(1 + compare% / 100), else -ln(1 - compare% / 100). `None` if there is no ratio, because
/// one of the means is 0 or below.
pub fn log_ratio(compare_pct: f64, better: Better) -> Option<f64> {
    let log = match better {
        Better::Higher => (compare_pct / 100.0).ln_1p(),
        Better::Lower => -(-compare_pct / 100.0).ln_1p(),
    };
    log.is_finite().then_some(log)
}

/// How large a difference is, whatever its sign: |[`log_ratio`]|, and infinite if there is no ratio. By this sizes are
/// compared, as per cents of a loss end at -100: -98% leaves a ninth of what -82% leaves.
pub fn size(compare_pct: f64, better: Better) -> f64 {
    log_ratio(compare_pct, better).map_or(f64::INFINITY, f64::abs)
}

/// How two sides differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference in % (formula 2).
    pub compare_pct: f64,
    /// The 95% interval (formula 4); `None` if a side has one value, if the interval has no ends, and for sides that
    /// are identical.
    pub ci95: Option<[f64; 2]>,
    /// The p value (formula 3); `None` if a side has one value, and for sides that are identical.
    pub p_value: Option<f64>,
}

/// Returns how `with` differs from `base`, whose mean is not 0.
///
/// Sides with the same value at each place, which is the value of one seed, are identical. Their values do not vary
/// independently, so that there is nothing to test and no interval. If neither of two other sides varies at all, p is 1
/// for equal means and 0 for others, and the interval is one point.
pub fn difference(base: &[f64], with: &[f64], better: Better) -> Difference {
    let (b, w) = (Sample::of(base), Sample::of(with));
    let pct = |ratio: f64| match (better, b.mean < 0.0) {
        (Better::Higher, false) | (Better::Lower, true) => 100.0 * (ratio - 1.0),
        (Better::Lower, false) | (Better::Higher, true) => 100.0 * (1.0 - ratio),
    };
    let compare_pct = pct(w.mean / b.mean);
    if base == with || base.len() < 2 || with.len() < 2 {
        return Difference { compare_pct, ci95: None, p_value: None };
    }
    if b.v + w.v == 0.0 {
        let p_value = Some(if w.mean == b.mean { 1.0 } else { 0.0 });
        return Difference { compare_pct, ci95: Some([compare_pct; 2]), p_value };
    }
    let student = welch_distribution(b, w);
    let t = (w.mean - b.mean) / (w.v + b.v).sqrt();
    let ends = fieller(b, w, student.inverse_cdf(0.975)).map(|ends| {
        let [one, other] = ends.map(pct);
        [one.min(other), one.max(other)]
    });
    Difference { compare_pct, ci95: ends, p_value: Some(2.0 * student.sf(t.abs())) }
}

/// The mean of a side and the variance of that mean.
#[derive(Clone, Copy)]
struct Sample {
    mean: f64,
    v: f64,
    n: usize,
}

impl Sample {
    fn of(values: &[f64]) -> Self {
        Sample { mean: mean(values), v: variance(values) / values.len() as f64, n: values.len() }
    }
}

/// Returns Student's distribution with Welch's degrees of freedom (formula 3).
fn welch_distribution(b: Sample, w: Sample) -> StudentsT {
    let part = |s: Sample| s.v * s.v / (s.n - 1) as f64;
    let freedom = (w.v + b.v).powi(2) / (part(w) + part(b));
    StudentsT::new(0.0, 1.0, freedom).expect("some side varies, so there are degrees of freedom")
}

/// Returns the ends of the interval of the ratio (formula 4): the roots of a R² − 2 h R + c.
fn fieller(b: Sample, w: Sample, t: f64) -> Option<[f64; 2]> {
    let a = b.mean * b.mean - t * t * b.v;
    if a <= 0.0 {
        return None;
    }
    let h = w.mean * b.mean;
    let c = w.mean * w.mean - t * t * w.v;
    let root = (h * h - a * c).max(0.0).sqrt();
    Some([(h - root) / a, (h + root) / a])
}
