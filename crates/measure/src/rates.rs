//! [`Rates`]: how many transactions each second had.

use serde::{Deserialize, Serialize};

/// A second, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// Percentiles of the transactions a second, over the whole seconds of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// The 20th percentile: a fifth of the seconds had as many at most.
    pub p20: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The most.
    pub max: f64,
}

/// The transactions of each second that has begun.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seconds(Vec<u64>);

impl Seconds {
    /// Counts a transaction that was done so long after measuring began, ns.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        let second = (ns / SECOND_NS) as usize;
        if second >= self.0.len() {
            self.0.resize(second + 1, 0);
        }
        self.0[second] += 1;
    }

    /// The percentiles of `measured_ns`. The second that the end cuts off is left out; if there is no whole one, what
    /// was measured stands for one.
    pub(crate) fn rates(mut self, measured_ns: u64) -> Rates {
        let whole = (measured_ns / SECOND_NS) as usize;
        if whole == 0 {
            let done: u64 = self.0.iter().sum();
            let rate = if measured_ns == 0 { 0.0 } else { done as f64 * SECOND_NS as f64 / measured_ns as f64 };
            return Rates { p20: rate, p50: rate, p90: rate, max: rate };
        }
        self.0.resize(whole, 0);
        self.0.sort_unstable();
        // The lowest that so many per cent of the seconds do not exceed.
        let at = |pct: usize| self.0[(whole * pct).div_ceil(100) - 1] as f64;
        Rates { p20: at(20), p50: at(50), p90: at(90), max: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(seconds: &[u64], measured_ns: u64) -> Rates {
        let mut all = Seconds::default();
        for (second, &done) in (0..).zip(seconds) {
            (0..done).for_each(|n| all.record(second * SECOND_NS + n));
        }
        all.rates(measured_ns)
    }

    #[test]
    fn percentiles_are_of_whole_seconds() {
        let ten = rates(&[7, 1, 9, 2, 10, 3, 8, 4, 6, 5], 10 * SECOND_NS);
        assert_eq!(ten, Rates { p20: 2.0, p50: 5.0, p90: 9.0, max: 10.0 });
        // The last is cut off, and one had none.
        let cut = rates(&[4, 0, 6, 100], 3 * SECOND_NS + 1);
        assert_eq!(cut, Rates { p20: 0.0, p50: 4.0, p90: 6.0, max: 6.0 });
        assert_eq!(rates(&[5], 3 * SECOND_NS), Rates { p20: 0.0, p50: 0.0, p90: 5.0, max: 5.0 });
    }

    #[test]
    fn less_than_a_second_stands_for_one() {
        assert_eq!(rates(&[50], SECOND_NS / 4).p50, 200.0);
        assert_eq!(rates(&[], 0), Rates::default());
    }
}
