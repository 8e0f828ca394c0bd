//! [`Latency`] and [`Waits`]: percentiles of times, from a histogram of bounded size.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The time that a frame may take, ns.
const FRAME_NS: u64 = 16_000_000;

/// The longest time that the histogram distinguishes from longer ones, ns: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Percentiles of latencies or of waits, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The number of values.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    pub p75: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.5th percentile.
    pub p995: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub max: u64,
    /// The number of values longer than a frame may take, 16 ms.
    pub missed_16ms: u64,
}

impl Latency {
    /// A percentile, ns. It is named by the tenths of a per cent below it: 500 is the median. Returns `None` for a
    /// percentile that is not a field.
    pub fn at(&self, permille: u32) -> Option<u64> {
        match permille {
            500 => Some(self.p50),
            750 => Some(self.p75),
            900 => Some(self.p90),
            950 => Some(self.p95),
            990 => Some(self.p99),
            995 => Some(self.p995),
            999 => Some(self.p999),
            _ => None,
        }
    }
}

/// A histogram of times, for example of how long tasks waited.
#[derive(Clone, Debug)]
pub struct Waits {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
    missed_16ms: u64,
}

impl Waits {
    /// An empty histogram, whose percentiles are exact to `digits` digits, 1 to 3. Each digit takes ten times the
    /// memory: 1 takes up to 5 KiB, 3 up to 500 KiB.
    ///
    /// # Panics
    /// If `digits` is not in 1..=3.
    pub fn new(digits: u8) -> Self {
        let mut histogram = Histogram::new(digits).expect("1 to 3 digits");
        histogram.auto(true);
        Self::of(histogram)
    }

    /// An empty histogram, exact to three digits, that never allocates after this.
    pub(crate) fn preallocated() -> Self {
        Self::of(Histogram::new_with_max(LONGEST_NS, 3).expect("the bounds are valid"))
    }

    fn of(histogram: Histogram<u64>) -> Self {
        Waits { histogram, sum: 0, max: 0, missed_16ms: 0 }
    }

    /// Adds a time, ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // A value out of range would be lost, and there is none up to the longest.
        let _ = self.histogram.record(ns.min(LONGEST_NS));
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.missed_16ms += u64::from(ns > FRAME_NS);
    }

    /// Adds all times of another histogram.
    pub fn merge(&mut self, other: &Waits) {
        // A histogram that grows by itself accepts any other.
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.missed_16ms += other.missed_16ms;
    }

    /// The percentiles of the recorded times; all are 0 if there are none.
    pub fn latency(&self) -> Latency {
        let n = self.histogram.len();
        // A bucket's value is the highest in it, which may be above the highest that was recorded.
        let at = |quantile| if n == 0 { 0 } else { self.histogram.value_at_quantile(quantile).min(self.max) };
        Latency {
            n,
            mean: if n == 0 { 0.0 } else { self.sum as f64 / n as f64 },
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p995: at(0.995),
            p999: at(0.999),
            max: self.max,
            missed_16ms: self.missed_16ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_are_the_whole() {
        let (mut whole, mut a, mut b) = (Waits::new(2), Waits::new(2), Waits::new(2));
        for ns in 1..=1000_u64 {
            whole.record(ns * 1000);
            if ns % 3 == 0 { a.record(ns * 1000) } else { b.record(ns * 1000) }
        }
        a.merge(&b);
        assert_eq!(a.latency(), whole.latency());
        assert_eq!((whole.latency().n, whole.latency().max), (1000, 1_000_000));
        assert!((490_000..=510_000).contains(&whole.latency().p50), "{:?}", whole.latency());
    }

    #[test]
    fn a_preallocated_histogram_has_the_percentiles_of_one_that_grows() {
        let (mut preallocated, mut grows) = (Waits::preallocated(), Waits::new(3));
        for n in 0..50 {
            let ns = 7 * 3_u64.pow(n % 33);
            preallocated.record(ns);
            grows.record(ns);
        }
        assert_eq!(preallocated.latency(), grows.latency());
    }

    #[test]
    fn nothing_is_all_zero() {
        assert_eq!(Waits::new(1).latency(), Latency::default());
    }
}
