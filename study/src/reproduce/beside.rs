//! Published numbers that are no differences, with the simulated ones beside them.

use super::What;
use crate::compare::{CompareRow, Side};
use serde::Serialize;
use wakelab_measure::Bucket;

/// A number of a posting, and the simulated one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What it is, with its unit.
    pub what: &'static str,
    /// The published ones, of base and with.
    pub published: [Option<f64>; 2],
    /// The simulated ones.
    pub simulated: [Option<f64>; 2],
}

impl What {
    /// What stands beside the published numbers, with its unit; `None` for nothing.
    pub fn unit(self) -> Option<&'static str> {
        Some(match self {
            What::Metric | What::Latency(_) | What::Search | What::RqLock | What::WorkCalls => return None,
            What::SisSearch => "CPU us per search",
            What::SisDomainSearch | What::WorkDomainSearch => "domain searches, % of searches",
            What::SisScanned | What::WorkScanned => "run queues scanned per search",
            What::SisFailed | What::WorkFailed => "failed, % of searches",
            What::ScannedPerDomainSearch => "run queues scanned per domain search",
            What::WalkUs { .. } => "% of the calls of select_idle_cpu()",
            What::NrIdleScan => "nr_idle_scan",
            What::WorstRatio => "worst time over the reference's",
            What::Turbostat(column) => column.name(),
            What::Value(what) => what,
            What::Power => "mW",
        })
    }

    /// The simulated number of a side.
    fn of_side(self, side: &Side) -> Option<f64> {
        let counts = &side.search.counts;
        let per_search = |n: u64| (counts.sis_search != 0).then(|| n as f64 / counts.sis_search as f64);
        match self {
            What::Metric | What::Latency(_) | What::Search | What::RqLock | What::WorkCalls | What::NrIdleScan => None,
            What::Value(_) => Some(side.mean),
            What::Power => super::power(side),
            What::SisSearch => (counts.sis_search != 0).then_some(side.cpu_ns_per_wakeup / 1e3),
            What::SisDomainSearch | What::WorkDomainSearch => {
                per_search(counts.sis_domain_search).map(|share| 100.0 * share)
            }
            What::SisScanned | What::WorkScanned => per_search(counts.sis_scanned),
            What::SisFailed | What::WorkFailed => per_search(counts.sis_failed).map(|share| 100.0 * share),
            What::ScannedPerDomainSearch => side.search.scanned_per_domain_search,
            What::WorstRatio => None,
            What::Turbostat(column) => side.power.as_ref().and_then(|power| column.of(power)),
            What::WalkUs { from, below } => share_of_walks(&side.search.select_idle_cpu_ns, from, below),
        }
    }
}

/// The published numbers with the simulated ones of a row.
pub(super) fn beside(what: What, published: Option<[Option<f64>; 2]>, row: &CompareRow) -> Option<Beside> {
    let (what_it_is, published) = (what.unit()?, published?);
    let simulated = [&row.base, &row.with].map(|side| what.of_side(side));
    // What was published of one side stands alone.
    let both = published[1].is_some();
    Some(Beside { what: what_it_is, published, simulated: [simulated[0], simulated[1].filter(|_| both)] })
}

/// A simulated number beside a published one of the base side.
pub(super) fn of_base(what: What, published: Option<[Option<f64>; 2]>, simulated: f64) -> Option<Beside> {
    Some(Beside { what: what.unit()?, published: published?, simulated: [Some(simulated), None] })
}

/// Calls that took from `from` to `below` us, % of all. The buckets are powers of two of ns: a us is 1024 ns here.
fn share_of_walks(buckets: &[Bucket], from: u64, below: u64) -> Option<f64> {
    let all: u64 = buckets.iter().map(|bucket| bucket.count).sum();
    let within = buckets.iter().filter(|bucket| (from..below).contains(&(bucket.from / 1024)));
    let within: u64 = within.map(|bucket| bucket.count).sum();
    (all != 0).then(|| 100.0 * within as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_ns_fall_into_those_of_us() {
        let bucket = |from: u64, count| Bucket { from, below: 2 * from.max(1), count };
        let buckets = [bucket(0, 1), bucket(512, 2), bucket(1024, 3), bucket(2048, 4), bucket(32_768, 10)];
        let share = |from, below| share_of_walks(&buckets, from, below);
        assert_eq!([share(0, 1), share(1, 2), share(2, 4)], [Some(15.0), Some(15.0), Some(20.0)]);
        assert_eq!([share(4, 8), share(32, 64)], [Some(0.0), Some(50.0)]);
        assert_eq!(share_of_walks(&[], 0, 1), None);
    }
}
