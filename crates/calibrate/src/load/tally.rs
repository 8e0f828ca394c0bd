//! What a task of a load has counted.

use super::Latency;
use hdrhistogram::Histogram;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest latency that is told from others, ns: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// Operations and their latencies. The task writes; who reads takes the lock twice a run, so that the task hardly ever
/// waits for it.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Option<Histogram<u64>>>);

impl Tally {
    /// An operation is done that began at `began`.
    pub(super) fn done_since(&self, began: Instant) {
        self.done(began.elapsed());
    }

    /// An operation is done.
    pub(super) fn done(&self, latency: Duration) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        own.get_or_insert_with(empty).saturating_record(ns.max(1));
    }

    /// Forgets what was counted.
    pub(super) fn clear(&self) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.as_mut().map(Histogram::reset);
    }

    /// How many operations all have done, and their latencies.
    pub(super) fn sum(all: &[Arc<Tally>]) -> (u64, Option<Latency>) {
        let mut sum = empty();
        for tally in all {
            if let Some(own) = tally.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                sum.add(own).expect("both have the same limits");
            }
        }
        let n = sum.len();
        let at = |quantile| sum.value_at_quantile(quantile);
        (n, (n > 0).then(|| Latency { n, p50: at(0.5), p99: at(0.99) }))
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_count_is_summed_and_can_be_forgotten() {
        let all: Vec<Arc<Tally>> = (0..3).map(|_| Arc::default()).collect();
        assert_eq!(Tally::sum(&all), (0, None));
        (1..=100).for_each(|us| all[us as usize % 2].done(Duration::from_micros(us)));
        let (n, latency) = Tally::sum(&all);
        let latency = latency.expect("latencies");
        assert_eq!((n, latency.n), (100, 100));
        assert!((50_000..50_100).contains(&latency.p50) && (99_000..99_100).contains(&latency.p99), "{latency:?}");
        all.iter().for_each(|tally| tally.clear());
        assert_eq!(Tally::sum(&all), (0, None));
    }
}
