//! A histogram by powers of two.

use serde::{Deserialize, Serialize};

/// A bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The lowest value in it.
    pub from: u64,
    /// The first value above it.
    pub below: u64,
    /// The number of values in it.
    pub count: u64,
}

/// Counts values in buckets \[0, 1), \[1, 2), \[2, 4), \[4, 8)...
#[derive(Clone, Debug)]
pub(crate) struct Log2Histogram {
    /// Index 0 counts the value 0, index n the values of n bits.
    counts: [u64; 65],
}

impl Log2Histogram {
    pub(crate) fn new() -> Self {
        Log2Histogram { counts: [0; 65] }
    }

    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[(u64::BITS - value.leading_zeros()) as usize] += 1;
    }

    /// The buckets from the lowest that is not empty to the highest, empty ones between them included.
    pub(crate) fn buckets(&self) -> Vec<Bucket> {
        let Some(first) = self.counts.iter().position(|&count| count > 0) else {
            return Vec::new();
        };
        let last = self.counts.iter().rposition(|&count| count > 0).expect("there is a first");
        (first..=last).map(|bits| bucket(bits as u32, self.counts[bits])).collect()
    }
}

fn bucket(bits: u32, count: u64) -> Bucket {
    let from = if bits == 0 { 0 } else { 1 << (bits - 1) };
    Bucket { from, below: 1u64.checked_shl(bits).unwrap_or(u64::MAX), count }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(values: &[u64]) -> Vec<(u64, u64, u64)> {
        let mut histogram = Log2Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram.buckets().into_iter().map(|b| (b.from, b.below, b.count)).collect()
    }

    #[test]
    fn a_bucket_begins_at_its_power_of_two() {
        assert_eq!(buckets(&[3, 4, 7, 8]), [(2, 4, 1), (4, 8, 2), (8, 16, 1)]);
    }

    #[test]
    fn empty_buckets_between_others_are_listed() {
        assert_eq!(buckets(&[1, 4]), [(1, 2, 1), (2, 4, 0), (4, 8, 1)]);
    }

    #[test]
    fn zero_and_the_greatest_have_buckets() {
        assert_eq!(buckets(&[0]), [(0, 1, 1)]);
        assert_eq!(buckets(&[u64::MAX]), [(1 << 63, u64::MAX, 1)]);
        assert_eq!(buckets(&[]), []);
    }
}
