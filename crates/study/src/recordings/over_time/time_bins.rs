//! Values over time in bins, in a bounded amount of memory.

use super::CacheAt;

/// A value that can be merged with the value of the next bin.
pub(super) trait Merge {
    /// Adds the value of the next bin.
    fn merge(&mut self, next: &Self);
}

/// The length of a bin at the start, ns.
const FIRST_BIN_NS: u64 = 1_000;

/// Bins of time. When time exceeds the last bin, the bins are merged in pairs.
#[derive(Clone, Debug)]
pub(super) struct Bins<T> {
    start_ns: u64,
    bin_ns: u64,
    most: usize,
    bins: Vec<T>,
}

impl<T: Merge + Default + Clone> Bins<T> {
    /// Creates at most `most` bins, at least 2, from `start_ns` on.
    pub(super) fn new(start_ns: u64, most: usize) -> Self {
        Bins { start_ns, bin_ns: FIRST_BIN_NS, most, bins: Vec::new() }
    }

    /// Returns the bin of a time.
    pub(super) fn at(&mut self, ns: u64) -> &mut T {
        let ns = ns.saturating_sub(self.start_ns);
        while ns / self.bin_ns >= self.most as u64 {
            self.lengthen();
        }
        let at = (ns / self.bin_ns) as usize;
        if self.bins.len() <= at {
            self.bins.resize(at + 1, T::default());
        }
        &mut self.bins[at]
    }

    /// Calls `of` for each bin that an interval touches, with the time in that bin, ns.
    pub(super) fn spread(&mut self, from_ns: u64, to_ns: u64, mut of: impl FnMut(&mut T, u64)) {
        let (mut at, to) = (from_ns.max(self.start_ns), to_ns);
        if at < to {
            self.at(to - 1);
        }
        while at < to {
            let bins = (at - self.start_ns) / self.bin_ns + 1;
            // The end of the last bin may be later than any time.
            let end = self.start_ns.saturating_add(bins.saturating_mul(self.bin_ns));
            let until = to.min(end);
            of(self.at(at), until - at);
            at = until;
        }
    }

    #[cold]
    fn lengthen(&mut self) {
        self.bin_ns *= 2;
        let together = |two: &[T]| {
            let mut sum = two[0].clone();
            two[1..].iter().for_each(|next| sum.merge(next));
            sum
        };
        self.bins = self.bins.chunks(2).map(together).collect();
    }

    /// Returns the middle of each bin, ns, and its value, up to `end_ns`.
    pub(super) fn finish(mut self, end_ns: u64) -> Vec<(u64, T)> {
        if end_ns > self.start_ns {
            self.at(end_ns - 1);
        }
        let (start, bin) = (self.start_ns, self.bin_ns);
        let middle = |at: u64| start.saturating_add(at.saturating_mul(bin)).saturating_add(bin / 2);
        (0..).zip(self.bins).map(|(at, value)| (middle(at), value)).collect()
    }
}

/// A sum.
impl Merge for u64 {
    fn merge(&mut self, next: &Self) {
        *self = self.saturating_add(*next);
    }
}

/// The lowest and the highest value of an LLC in a bin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extremes(Option<[CacheAt; 2]>);

impl Extremes {
    /// Adds a value.
    pub(super) fn take(&mut self, at: CacheAt) {
        let [low, high] = self.0.unwrap_or([at, at]);
        let lower = if at.util_pct < low.util_pct { at } else { low };
        let higher = if at.util_pct > high.util_pct { at } else { high };
        self.0 = Some([lower, higher]);
    }

    /// Returns both of each bin, by time.
    pub(super) fn of_bins(bins: Bins<Extremes>) -> Vec<CacheAt> {
        let of_bin = |(_, Extremes(ends)): (u64, Extremes)| match ends {
            Some([low, high]) if low.t_ns < high.t_ns => vec![low, high],
            Some([low, high]) if low.t_ns > high.t_ns => vec![high, low],
            Some([low, _]) => vec![low],
            None => Vec::new(),
        };
        bins.finish(0).into_iter().flat_map(of_bin).collect()
    }
}

impl Merge for Extremes {
    fn merge(&mut self, next: &Self) {
        next.0.into_iter().flatten().for_each(|at| self.take(at));
    }
}

/// The sum of value × ns, and of ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeMean(u128, u64);

impl TimeMean {
    /// Adds `value` for `ns`.
    pub(super) fn take(&mut self, value: u64, ns: u64) {
        self.merge(&TimeMean(u128::from(value) * u128::from(ns), ns));
    }

    /// Returns a thousandth of the mean of each bin that has one.
    pub(super) fn of_bins(bins: Bins<TimeMean>, end_ns: u64) -> Vec<(u64, f64)> {
        let of = |(at, TimeMean(sum, ns)): (u64, TimeMean)| (ns > 0).then(|| (at, (sum / u128::from(ns)) as f64 / 1e3));
        bins.finish(end_ns).into_iter().filter_map(of).collect()
    }
}

impl Merge for TimeMean {
    fn merge(&mut self, next: &Self) {
        self.0 += next.0;
        self.1 = self.1.saturating_add(next.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_time_ends_the_last_bin() {
        let mut bins: Bins<u64> = Bins::new(5_000, 8);
        for _ in 0..9 {
            bins.spread(0, u64::MAX, |sum, ns| *sum = sum.saturating_add(ns));
        }
        bins.lengthen();
        let found = bins.finish(0);
        assert_eq!(found[0].1, u64::MAX, "the sum stays at its end");
    }

    #[test]
    fn however_long_it_takes_no_time_is_lost() {
        let mut bins: Bins<u64> = Bins::new(5_000, 8);
        bins.spread(0, 6_500, |sum, ns| *sum += ns);
        bins.spread(6_500, 1_000_000, |sum, ns| *sum += ns);
        assert_eq!(bins.bin_ns, 128_000);
        let found = bins.finish(1_000_000);
        assert_eq!(found.iter().map(|(_, ns)| ns).sum::<u64>(), 995_000);
        assert_eq!((found.len(), found[0]), (8, (69_000, 128_000)));
    }
}
