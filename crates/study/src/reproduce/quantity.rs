//! The quantities that are published and simulated, and how a simulated row gives each.

use super::SearchRates;
use crate::compare::{CompareRow, PowerSummary, Side};
use serde::Serialize;
use wakelab_measure::Bucket;
use wakelab_statistics::Better;

/// Quantity of a simulated row is compared with the published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The difference of the benchmark's metric.
    Metric,
    /// The difference of a percentile of the latencies, in tenths of a per cent.
    Latency(u32),
    /// Only the search statistics of the base side.
    SearchRates,
    /// Only the share of time in run-queue locks of the base side.
    RqLock,
    /// `sis_search`.
    SisSearch,
    /// `sis_domain_search`.
    SisDomainSearch,
    /// `sis_scanned`.
    SisScanned,
    /// `sis_failed`.
    SisFailed,
    /// `sis_search` for the same amount of work.
    SisSearchPerWork,
    /// `sis_domain_search` for the same amount of work.
    SisDomainSearchPerWork,
    /// `sis_scanned` for the same amount of work.
    SisScannedPerWork,
    /// `sis_failed` for the same amount of work.
    SisFailedPerWork,
    /// `sis_scanned` / `sis_domain_search`.
    ScannedPerDomainSearch,
    /// The share of the calls of `select_idle_cpu()` that took from `from` to `below` us.
    CallUs {
        /// us.
        from: u64,
        /// us.
        below: u64,
    },
    /// `nr_idle_scan`, which is computed and not simulated.
    NrIdleScan,
    /// The metric of the base side over that of a reference, the highest over loads.
    WorstRatio,
    /// A column of turbostat, of the base side.
    Turbostat(TurbostatColumn),
    /// The value of the benchmark's metric, with its unit.
    Value(&'static str),
    /// The mean power of all CPUs, mW.
    Power,
}

/// A column of turbostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurbostatColumn {
    /// `Busy%`.
    BusyPct,
    /// `Bzy_MHz`.
    BzyMhz,
    /// `IRQ`, of 60 s.
    Irq,
    /// `PkgWatt`.
    PkgWatt,
}

impl TurbostatColumn {
    /// The name of the column, with its unit if turbostat does not print it.
    pub fn name(self) -> &'static str {
        match self {
            TurbostatColumn::BusyPct => "Busy%",
            TurbostatColumn::BzyMhz => "Bzy_MHz",
            TurbostatColumn::Irq => "IRQ in 60 s",
            TurbostatColumn::PkgWatt => "PkgWatt",
        }
    }

    /// The simulated number; `None` if the machine does not describe its power.
    fn of(self, power: &PowerSummary) -> Option<f64> {
        match self {
            TurbostatColumn::BusyPct => Some(power.busy_pct),
            TurbostatColumn::BzyMhz => Some(power.bzy_mhz),
            TurbostatColumn::Irq => Some(60.0 * power.irq_per_s),
            TurbostatColumn::PkgWatt => power.total_mw.map(|mw| mw / 1e3),
        }
    }
}

/// Published and simulated values of both sides, for quantities that are compared as values and not as a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    /// The quantity with its unit.
    pub what: &'static str,
    /// The published values of base and with.
    pub published: [Option<f64>; 2],
    /// The simulated values of base and with.
    pub simulated: [Option<f64>; 2],
}

impl Quantity {
    /// The quantity with its unit if its values are compared; `None` if only its difference is.
    pub fn unit(self) -> Option<&'static str> {
        Some(match self {
            Quantity::Metric
            | Quantity::Latency(_)
            | Quantity::SearchRates
            | Quantity::RqLock
            | Quantity::SisSearchPerWork => return None,
            Quantity::SisSearch => "CPU us per search",
            Quantity::SisDomainSearch | Quantity::SisDomainSearchPerWork => "domain searches, % of searches",
            Quantity::SisScanned | Quantity::SisScannedPerWork => "run queues scanned per search",
            Quantity::SisFailed | Quantity::SisFailedPerWork => "failed, % of searches",
            Quantity::ScannedPerDomainSearch => "run queues scanned per domain search",
            Quantity::CallUs { .. } => "% of the calls of select_idle_cpu()",
            Quantity::NrIdleScan => "nr_idle_scan",
            Quantity::WorstRatio => "worst time over the reference's",
            Quantity::Turbostat(column) => column.name(),
            Quantity::Value(what) => what,
            Quantity::Power => "mW",
        })
    }

    /// Whether it is a result of the benchmark, and no statistic of the scheduler.
    pub(super) fn is_of_benchmark(self) -> bool {
        matches!(self, Quantity::Metric | Quantity::Value(_) | Quantity::Latency(_) | Quantity::Power)
    }

    /// The simulated value of a side.
    fn of_side(self, side: &Side) -> Option<f64> {
        let counts = &side.search.counts;
        let per_search = |n: u64| (counts.sis_search != 0).then(|| n as f64 / counts.sis_search as f64);
        match self {
            Quantity::Metric
            | Quantity::Latency(_)
            | Quantity::SearchRates
            | Quantity::RqLock
            | Quantity::SisSearchPerWork
            | Quantity::NrIdleScan => None,
            Quantity::Value(_) => Some(side.mean),
            Quantity::Power => power(side),
            Quantity::SisSearch => (counts.sis_search != 0).then_some(side.cpu_ns_per_wakeup / 1e3),
            Quantity::SisDomainSearch | Quantity::SisDomainSearchPerWork => {
                per_search(counts.sis_domain_search).map(|share| 100.0 * share)
            }
            Quantity::SisScanned | Quantity::SisScannedPerWork => per_search(counts.sis_scanned),
            Quantity::SisFailed | Quantity::SisFailedPerWork => {
                per_search(counts.sis_failed).map(|share| 100.0 * share)
            }
            Quantity::ScannedPerDomainSearch => side.search.scanned_per_domain_search,
            Quantity::WorstRatio => None,
            Quantity::Turbostat(column) => side.power.as_ref().and_then(|power| column.of(power)),
            Quantity::CallUs { from, below } => share_of_calls(&side.search.select_idle_cpu_ns, from, below),
        }
    }
    /// The published values with the simulated ones of a row.
    pub(super) fn side_by_side(self, published: Option<[Option<f64>; 2]>, row: &CompareRow) -> Option<SideBySide> {
        let (what, published) = (self.unit()?, published?);
        let simulated = [&row.base, &row.with].map(|side| self.of_side(side));
        // If one side was published, the simulated value of the other is left out.
        let both = published[1].is_some();
        Some(SideBySide { what, published, simulated: [simulated[0], simulated[1].filter(|_| both)] })
    }

    /// The published values with a simulated value of the base side.
    pub(super) fn of_base(self, published: Option<[Option<f64>; 2]>, simulated: f64) -> Option<SideBySide> {
        Some(SideBySide { what: self.unit()?, published: published?, simulated: [Some(simulated), None] })
    }

    /// The direction in which its difference is positive, of a simulated row.
    pub(super) fn better(self, row: &CompareRow) -> Better {
        match self {
            Quantity::Metric | Quantity::Value(_) => row.better,
            Quantity::Latency(_) | Quantity::Power => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// The simulated difference in %.
    pub(super) fn difference(self, row: &CompareRow) -> Option<f64> {
        let (base, with) = (row.base.search.counts, row.with.search.counts);
        let change = |old: u64, new: u64| (old != 0).then(|| 100.0 * (new as f64 / old as f64 - 1.0));
        // The postings' benchmarks do a fixed amount of work, the model's runs take a fixed time.
        let done = |side: &Side| side.runs.iter().map(|run| run.done).sum::<u64>() as f64;
        let per_work = done(&row.base) / done(&row.with);
        let work = |old: u64, new: u64| (old != 0).then(|| 100.0 * (new as f64 / old as f64 * per_work - 1.0));
        match self {
            Quantity::Metric | Quantity::Value(_) => Some(row.compare_pct),
            Quantity::Power => power(&row.base).zip(power(&row.with)).map(|(base, with)| 100.0 * (1.0 - with / base)),
            Quantity::SearchRates | Quantity::CallUs { .. } | Quantity::NrIdleScan | Quantity::RqLock => None,
            Quantity::WorstRatio | Quantity::Turbostat(_) => None,
            Quantity::Latency(permille) => {
                let sides = latency(&row.base, permille).zip(latency(&row.with, permille));
                sides.filter(|(base, _)| *base > 0.0).map(|(base, with)| 100.0 * (base - with) / base)
            }
            Quantity::SisSearch => change(base.sis_search, with.sis_search),
            Quantity::SisDomainSearch => change(base.sis_domain_search, with.sis_domain_search),
            Quantity::SisScanned => change(base.sis_scanned, with.sis_scanned),
            Quantity::SisFailed => change(base.sis_failed, with.sis_failed),
            Quantity::SisSearchPerWork => work(base.sis_search, with.sis_search),
            Quantity::SisDomainSearchPerWork => work(base.sis_domain_search, with.sis_domain_search),
            Quantity::SisScannedPerWork => work(base.sis_scanned, with.sis_scanned),
            Quantity::SisFailedPerWork => work(base.sis_failed, with.sis_failed),
            Quantity::ScannedPerDomainSearch => {
                let pair = row.base.search.scanned_per_domain_search.zip(row.with.search.scanned_per_domain_search);
                pair.map(|(base, with)| 100.0 * (with / base - 1.0))
            }
        }
    }
}

/// Mean power of a side, mW.
pub(super) fn power(side: &Side) -> Option<f64> {
    side.power.as_ref().and_then(|power| power.total_mw)
}

/// A percentile of a side's latencies, ns, mean over repeats.
pub(super) fn latency(side: &Side, permille: u32) -> Option<f64> {
    let values: Option<Vec<u64>> = side.runs.iter().map(|run| run.latency.at(permille)).collect();
    values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<u64>() as f64 / values.len() as f64)
}

pub(super) fn search_rates(side: &Side) -> Option<SearchRates> {
    let search = &side.search;
    Some(SearchRates {
        se_eff_pct: search.se_eff_pct?,
        dom_eff_pct: search.dom_eff_pct?,
        fast_rate_pct: search.fast_rate_pct?,
        success_rate_pct: search.success_rate_pct?,
    })
}

/// Calls that took from `from` to `below` us, % of all. The buckets are powers of two of ns: a us is 1024 ns here.
fn share_of_calls(buckets: &[Bucket], from: u64, below: u64) -> Option<f64> {
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
        let share = |from, below| share_of_calls(&buckets, from, below);
        assert_eq!([share(0, 1), share(1, 2), share(2, 4)], [Some(15.0), Some(15.0), Some(20.0)]);
        assert_eq!([share(4, 8), share(32, 64)], [Some(0.0), Some(50.0)]);
        assert_eq!(share_of_calls(&[], 0, 1), None);
    }
}
