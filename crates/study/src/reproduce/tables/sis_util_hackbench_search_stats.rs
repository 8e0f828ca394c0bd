//! `sis_util-zen3-hackbench-search-stats`: search counters of whole runs of hackbench on Zen 3.

use super::sis_util_zen3_results::ZEN3;
use super::{Published, PublishedTable, Row, Sides, per_search};
use crate::compare::PublishedError;
use crate::compare::published::CsvTable;
use crate::reproduce::Quantity;

pub(super) struct SisUtilHackbenchSearchStats;

impl PublishedTable for SisUtilHackbenchSearchStats {
    fn name(&self) -> &'static str {
        "sis_util-zen3-hackbench-search-stats"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["hackbench_groups", "metric", "sis_prop", "sis_util"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        // The posting does not say in which NPS mode; its first table is that of NPS1.
        let sides = Sides { machine: "amd-zen3-2s128c256t-nps1", ..ZEN3 };
        let mut recipe = sides.recipe("hackbench", "thread-pipe", row.text("hackbench_groups")?, &[]);
        let quantity = match row.text("metric")? {
            "Benchmark Results (sec)" => Quantity::Metric,
            "Number of calls to select_idle_sibling" => Quantity::SisSearchPerWork,
            "Number of times the domain was searched (fast path failed)" => Quantity::SisDomainSearchPerWork,
            "Number of runqueues scanned" => Quantity::SisScannedPerWork,
            "Number of SIS calls that failed to find an idle CPU" => Quantity::SisFailedPerWork,
            "Avg. No. of runqueues scanned per domain search" => Quantity::ScannedPerDomainSearch,
            other => {
                recipe = Err(format!("metric {other} is not known"));
                Quantity::SearchRates
            }
        };
        let divides = matches!(quantity, Quantity::SisSearchPerWork | Quantity::Metric);
        let [old, new] = row.counters(["sis_prop", "sis_util"], divides)?;
        let change = 100.0 * (new / old - 1.0);
        // Of seconds, fewer are better.
        let (compare_pct, values) = match quantity {
            Quantity::Metric => (-change, None),
            _ => (change, Some([Some(old), Some(new)])),
        };
        Ok(vec![Published { quantity, compare_pct: Some(compare_pct), values, ..row.published(recipe) }])
    }

    fn complete(
        &self,
        _: &CsvTable,
        mut rows: Vec<Published>,
    ) -> Result<(Vec<Published>, Vec<String>), PublishedError> {
        per_search(&mut rows, |row| {
            let groups = row.cells.iter().find(|(column, _)| column == "hackbench_groups");
            groups.map(|(_, cell)| cell.clone())
        });
        Ok((rows, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_near, read_published};

    /// By hand: 931530 / 3154397 and 1349865 / 3166395 of one group.
    #[test]
    fn counters_are_compared_for_each_search_of_their_run() {
        let rows = read_published("sis_util-zen3-hackbench-search-stats");
        assert_near(&rows[2], [29.531, 42.631]);
        assert_near(&rows[5], [8.42, 8.16]);
        assert_near(&rows[14], [48.589, 48.433]);
        assert!((rows[0].compare_pct.unwrap() + 0.373).abs() < 0.001, "more seconds are worse");
    }
}
