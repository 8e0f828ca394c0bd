//! Spearman's rank correlation, and what of it may be chance.

use crate::mean;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns Spearman's rank correlation (Am. J. Psychol. 15, 1904) of two lists of one length: Pearson's of their ranks,
/// where equal values share the mean of their ranks. Returns `None` if a list has only one value, or if a value is no
/// number.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
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
pub fn critical_spearman(n: usize, among: usize, chance: f64) -> Option<f64> {
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
