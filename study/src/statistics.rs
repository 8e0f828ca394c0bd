//! Means, spreads, whether two means differ, and rank correlation.
//!
//! Let *b* be the base values, with mean b̄, sample variance s²ᵦ and number nᵦ, and *w* the values of the other side:
//!
//! 1. std% = 100 s / mean, with s² = Σ(x − x̄)² / (n − 1).
//! 2. compare% = 100 (w̄ / b̄ − 1); if a lower metric is better, 100 (1 − w̄ / b̄). Positive is better.
//! 3. Welch's t-test (Welch, Biometrika 34, 1947): t = (w̄ − b̄) / √(v_w + v_b) with v = s² / n, and
//!    ν = (v_w + v_b)² / (v_w² / (n_w − 1) + v_b² / (n_b − 1)) degrees of freedom. p is two-sided.
//! 4. The 95% interval of compare% is Fieller's (J. R. Stat. Soc. B 16, 1954) for the ratio R of the means, with
//!    Welch's ν: all R with (w̄ − R b̄)² ≤ t² (v_w + R² v_b), where t is the 97.5% point. It includes the spread of the
//!    base, which is the denominator, and excludes 0 exactly if p < 0.05. It has no ends if the mean of the base is not
//!    told from 0 at that level (b̄² ≤ t² v_b).

use crate::compare::Better;
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
fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// How two sides differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference in % (formula 2).
    pub compare_pct: f64,
    /// The 95% interval (formula 4); `None` if a side has one value, or if the interval has no ends.
    pub ci95: Option<[f64; 2]>,
    /// The p value (formula 3); `None` if a side has one value.
    pub p_value: Option<f64>,
}

/// Returns how `with` differs from `base`, whose mean is not 0.
///
/// If neither side varies at all, p is 1 for equal means and 0 for others, and the interval is one point.
pub fn difference(base: &[f64], with: &[f64], better: Better) -> Difference {
    let (b, w) = (Sample::of(base), Sample::of(with));
    let pct = |ratio: f64| match better {
        Better::Higher => 100.0 * (ratio - 1.0),
        Better::Lower => 100.0 * (1.0 - ratio),
    };
    let compare_pct = pct(w.mean / b.mean);
    if base.len() < 2 || with.len() < 2 {
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

/// Returns Spearman's rank correlation (Am. J. Psychol. 15, 1904) of two lists of one length: Pearson's of their ranks,
/// where equal values share the mean of their ranks. Returns `None` if a list has only one value, or if a value is no
/// number.
pub(crate) fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a)?, ranks(b)?);
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let sum = |term: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| term(a - mean_a, b - mean_b)).sum::<f64>();
    let spread = sum(|a, _| a * a) * sum(|_, b| b * b);
    // Rounding may exceed the ends.
    (spread > 0.0).then(|| (sum(|a, b| a * b) / spread.sqrt()).clamp(-1.0, 1.0))
}

/// Returns the size that a rank correlation of `n` pairs has to exceed, so that the largest of `among` independent ones
/// exceeds it by chance with a likelihood of at most `chance`: two-sided with Bonferroni's correction, by Student's t
/// with n - 2 degrees of freedom. Returns `None` for fewer than four pairs, for which t is meaningless.
pub(crate) fn critical_spearman(n: usize, among: usize, chance: f64) -> Option<f64> {
    let freedom = n.checked_sub(2).filter(|&freedom| freedom > 1)? as f64;
    let each = chance / among.max(1) as f64;
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - each / 2.0);
    Some(t / (freedom + t * t).sqrt())
}

fn ranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut rank = 0.0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = rank + (equal.len() - 1) as f64 / 2.0;
        equal.iter().for_each(|&at| ranks[at] = shared);
        rank += equal.len() as f64;
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rises_together_correlates_whatever_its_form() {
        let a = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&a, &[1.0, 8.0, 27.0, 64.0]), Some(1.0));
        assert_eq!(spearman(&a, &[5.0, 0.0, -5.0, -500.0]), Some(-1.0));
    }

    #[test]
    fn equal_values_share_their_rank() {
        // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / √(4.5 × 5).
        let rho = spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((rho - 4.5 / 22.5_f64.sqrt()).abs() < 1e-12, "{rho}");
    }

    /// By tables of Student's t: 2.042 at 30 degrees of freedom, two-sided 5%; 3.385 at 0.2%.
    #[test]
    fn a_correlation_among_many_has_to_be_larger_to_stand_out() {
        let near = |found: Option<f64>, t: f64| (found.unwrap() - t / (30.0 + t * t).sqrt()).abs() < 1e-3;
        assert!(near(critical_spearman(32, 1, 0.05), 2.042));
        assert!(near(critical_spearman(32, 25, 0.05), 3.385));
        assert_eq!(critical_spearman(3, 25, 0.05), None);
    }

    #[test]
    fn what_does_not_vary_does_not_correlate() {
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }
}
