//! Many short runs, and their spread.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Numbers of many short runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The 10th percentile.
    pub p10: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// How many short runs.
    pub runs: usize,
}

impl Spread {
    /// The spread of one number that has none.
    pub fn exactly(value: f64) -> Self {
        Spread { median: value, p10: value, p90: value, runs: 1 }
    }

    /// The spread of these numbers. `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        // The nearest rank.
        let at = |permille: usize| values[(last * permille + 500) / 1000];
        Some(Spread { median: at(500), p10: at(100), p90: at(900), runs: values.len() })
    }

    /// Half of what lies between the percentiles, in % of the median.
    pub fn half_width_pct(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { 50.0 * (self.p90 - self.p10) / self.median.abs() }
    }

    /// The numbers less `other` ns, which were measured apart.
    #[must_use]
    pub fn less(self, other: f64) -> Self {
        Spread { median: self.median - other, p10: self.p10 - other, p90: self.p90 - other, ..self }
    }
}

/// ns as a float.
pub(crate) fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numbers_that_were_measured() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect()).expect("numbers");
        assert_eq!((spread.p10, spread.median, spread.p90, spread.runs), (10.0, 50.0, 90.0, 101));
        assert_eq!(Spread::of(vec![7.0]), Some(Spread::exactly(7.0)));
        assert_eq!(Spread::of(vec![]), None);
        assert_eq!(Spread::of(vec![f64::NAN, 3.0]), Some(Spread::exactly(3.0)));
    }

    #[test]
    fn half_the_width_is_relative_to_the_median() {
        let spread = Spread { median: 200.0, p10: 180.0, p90: 240.0, runs: 9 };
        assert_eq!(spread.half_width_pct(), 15.0);
        assert_eq!(spread.less(100.0).half_width_pct(), 30.0);
    }
}
