//! What counts as an effect, of a posting's row and of a simulated one.

use super::result::CompareRow;
use serde::Serialize;
use wakelab_statistics::{mean, variance};

/// The class of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Positive and above the noise.
    Better,
    /// Within the noise.
    Same,
    /// Negative and above the noise.
    Worse,
}

impl Class {
    /// Returns the class of a difference in %, which has to exceed `noise_pct` to be an effect.
    pub fn of(compare_pct: f64, noise_pct: f64) -> Self {
        match compare_pct {
            pct if pct > noise_pct => Class::Better,
            pct if pct < -noise_pct => Class::Worse,
            _ => Class::Same,
        }
    }

    /// The name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Class::Better => "better",
            Class::Same => "same",
            Class::Worse => "worse",
        }
    }
}

/// Returns what a difference has to exceed to be an effect, %: `max(5, 2 √(σ_base² + σ_with²))` of the posting's
/// spreads, or 10 if it gives none.
pub fn noise_pct(spreads: Option<(f64, f64)>) -> f64 {
    match spreads {
        Some((base, with)) => (2.0 * base.hypot(with)).max(5.0),
        None => 10.0,
    }
}

/// The noise limit of this row, %; 10 for one repeat, which has no spread.
pub fn noise_of(row: &CompareRow) -> f64 {
    noise_of_means(&row.base.values, &row.with.values)
}

/// The same for the values of two sides. Both spreads are in % of the base, so that the limit is that of the
/// difference, whichever side is called the base.
pub fn noise_of_means(base: &[f64], with: &[f64]) -> f64 {
    let of_mean = |values: &[f64]| 100.0 * (variance(values) / values.len() as f64).sqrt() / mean(base).abs();
    noise_pct((base.len() > 1 && with.len() > 1).then(|| (of_mean(base), of_mean(with))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_twice_the_spread_and_at_least_five() {
        assert_eq!(noise_pct(Some((3.0, 4.0))), 10.0);
        assert_eq!(noise_pct(Some((0.1, 0.1))), 5.0);
        assert_eq!(noise_pct(None), 10.0);
    }

    /// A side with a tenth of the mean and the same relative spread: what the limit is in absolute numbers does not
    /// depend on which side is the base, and the mean of more runs has a smaller one.
    #[test]
    fn the_limit_is_of_the_means_and_the_same_in_both_directions() {
        let (high, low) = ([900.0, 1000.0, 1100.0], [90.0, 100.0, 110.0]);
        let forth = noise_of_means(&high, &low) * 1000.0;
        let back = noise_of_means(&low, &high) * 100.0;
        assert!((forth - back).abs() < 1e-6 && forth > 5000.0, "{forth} {back}");
        let more = noise_of_means(&high.repeat(4), &low.repeat(4)) * 1000.0;
        assert!(more < 0.6 * forth, "{more} {forth}");
        assert_eq!((noise_of_means(&high[..1], &low[..1]), noise_of_means(&[1.0; 3], &[2.0; 3])), (10.0, 5.0));
    }
}
