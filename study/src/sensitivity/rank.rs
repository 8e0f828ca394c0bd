//! Rank correlation.

use crate::statistics::mean;

/// Spearman's rank correlation (Am. J. Psychol. 15, 1904) of two lists of one length: Pearson's of their ranks, where
/// equal values share the mean of theirs. `None` where a list has one value only, or something that is no number.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a)?, ranks(b)?);
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let sum = |term: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| term(a - mean_a, b - mean_b)).sum::<f64>();
    let spread = sum(|a, _| a * a) * sum(|_, b| b * b);
    // Rounding may lead past the ends.
    (spread > 0.0).then(|| (sum(|a, b| a * b) / spread.sqrt()).clamp(-1.0, 1.0))
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

    #[test]
    fn what_does_not_vary_does_not_correlate() {
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }
}
