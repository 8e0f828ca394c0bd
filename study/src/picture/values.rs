//! What is kept of a value in a stretch of time.

use super::CacheAt;
use super::bins::{Bins, Merge};

/// The lowest and the highest of a cache's values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends(Option<[CacheAt; 2]>);

impl Ends {
    /// Takes in what it is at a moment.
    pub(super) fn take(&mut self, at: CacheAt) {
        let [low, high] = self.0.unwrap_or([at, at]);
        let lower = if at.util_pct < low.util_pct { at } else { low };
        let higher = if at.util_pct > high.util_pct { at } else { high };
        self.0 = Some([lower, higher]);
    }

    /// Both of each bin, by time.
    pub(super) fn of_bins(bins: Bins<Ends>) -> Vec<CacheAt> {
        let of_bin = |(_, Ends(ends)): (u64, Ends)| match ends {
            Some([low, high]) if low.t_ns < high.t_ns => vec![low, high],
            Some([low, high]) if low.t_ns > high.t_ns => vec![high, low],
            Some([low, _]) => vec![low],
            None => Vec::new(),
        };
        bins.finish(0).into_iter().flat_map(of_bin).collect()
    }
}

impl Merge for Ends {
    fn merge(&mut self, next: &Self) {
        next.0.into_iter().flatten().for_each(|at| self.take(at));
    }
}

/// A value × ns, and ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean(u128, u64);

impl Mean {
    /// Takes in that the value was `value` for so long.
    pub(super) fn take(&mut self, value: u64, ns: u64) {
        self.merge(&Mean(u128::from(value) * u128::from(ns), ns));
    }

    /// Of each bin that knows one, a thousandth of it.
    pub(super) fn of_bins(bins: Bins<Mean>, end_ns: u64) -> Vec<(u64, f64)> {
        let of = |(at, Mean(sum, ns)): (u64, Mean)| (ns > 0).then(|| (at, (sum / u128::from(ns)) as f64 / 1e3));
        bins.finish(end_ns).into_iter().filter_map(of).collect()
    }
}

impl Merge for Mean {
    fn merge(&mut self, next: &Self) {
        self.0 += next.0;
        self.1 += next.1;
    }
}
