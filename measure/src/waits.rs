//! Times that tasks waited, in a histogram of bounded size.

use crate::Latency;
use hdrhistogram::Histogram;

/// A frame, ns.
const FRAME_NS: u64 = 16_000_000;
/// The longest time that is told apart from longer ones, ns: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// How long tasks waited.
#[derive(Clone, Debug)]
pub struct Waits {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
    missed_16ms: u64,
}

impl Waits {
    /// None yet. Percentiles will be exact to so many digits, 1 to 3; each digit takes ten times the memory: 1 takes 5
    /// KiB at most, 3 takes 500.
    ///
    /// # Panics
    /// With other numbers of digits.
    pub fn new(digits: u8) -> Self {
        let mut histogram = Histogram::new(digits).expect("1 to 3 digits");
        histogram.auto(true);
        Waits { histogram, sum: 0, max: 0, missed_16ms: 0 }
    }

    /// Adds one, ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // It grows as it has to; a value that it cannot hold would be lost, and there is none up to the longest.
        let _ = self.histogram.record(ns.min(LONGEST_NS));
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.missed_16ms += u64::from(ns > FRAME_NS);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Waits) {
        // A histogram that grows by itself takes any other.
        let _ = self.histogram.add(&other.histogram);
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.missed_16ms += other.missed_16ms;
    }

    /// Percentiles.
    pub fn latency(&self) -> Latency {
        let n = self.histogram.len();
        // A bucket's value is the highest in it, which may lie above the highest that came.
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
    fn nothing_is_all_zero() {
        assert_eq!(Waits::new(1).latency(), Latency::default());
    }
}
