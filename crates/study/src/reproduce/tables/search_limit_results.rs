//! `search-limit-results`: the results of the SIS_LIMIT posting, with and without SIS_CORE and SIS_PROP.

use super::{Published, PublishedTable, Row, Sides, permille};
use crate::compare::PublishedError;
use crate::reproduce::Quantity;

/// Workers of each of schbench's two message threads (its default), which are its 44 tasks.
const SCHBENCH_WORKERS: &str = "22";

/// schbench as it was in 2019.
const SCHBENCH_VERSION: u64 = 2016;

/// dbench on a kernel before 5.14, on a file system that is not known: as if all clients took one lock.
const DBENCH: [(&str, u64); 2] = [("ags", 1), ("inodegc", 0)];

pub(super) struct SearchLimitResults;

impl PublishedTable for SearchLimitResults {
    fn name(&self) -> &'static str {
        "search-limit-results"
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "benchmark",
            "machine",
            "SIS_CORE",
            "SIS_PROP",
            "load",
            "baseline",
            "baseline_std_pct",
            "compare_pct",
            "patch_std_pct",
        ]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let (benchmark, machine) = (row.text("benchmark")?, row.text("machine")?);
        let mut with = vec!["SIS_LIMIT"];
        with.extend((!is_on(row, "SIS_CORE")?).then_some("NO_SIS_CORE"));
        with.extend((!is_on(row, "SIS_PROP")?).then_some("NO_SIS_PROP"));
        let with = with.join(",");
        let sides = Sides { machine, kernel: "v5.2", base: "", with: &with };
        let load = row.text("load")?;
        let mut quantity = Quantity::Metric;
        let recipe = match benchmark {
            "hackbench process" => sides.recipe("hackbench", "process-sockets", load, &[]),
            "sysbench mysql" => sides.recipe("sysbench", "oltp_read_write", load, &[]),
            "oracle db" => sides.recipe("oracle", "oltp", load, &[]),
            "uperf pingpong" => sides.recipe("uperf", "pingpong", load, &[]),
            "dbench" => sides.recipe(benchmark, "fileio", load, &DBENCH.map(|(name, value)| (name.to_owned(), value))),
            "tbench" => sides.recipe(benchmark, "loopback", load, &[]),
            // 44 tasks. The load column is the percentile, and one run has all of them.
            "schbench" => permille(load).and_then(|permille| {
                quantity = Quantity::Latency(permille);
                sides.recipe(benchmark, "workers", SCHBENCH_WORKERS, &[("version".to_owned(), SCHBENCH_VERSION)])
            }),
            other => Err(format!("{other} is not modelled")),
        };
        let compare_pct = Some(row.required_number("compare_pct")?);
        let spreads = row.spreads("baseline_std_pct", "patch_std_pct")?;
        // The baselines of the database are 1 at each load, which is no curve.
        let base = row.above_0("baseline")?;
        let baseline = (benchmark != "oracle db").then(|| (format!("{benchmark} {machine}"), base));
        Ok(vec![Published { quantity, compare_pct, spreads, baseline, ..row.published(recipe) }])
    }
}

/// Whether a feature is on, by its column.
fn is_on(row: Row<'_>, column: &str) -> Result<bool, PublishedError> {
    match row.text_or_empty(column) {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(row.error(column, format!("{other:?} is neither; expected true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_published;
    use super::*;

    #[test]
    fn percentiles_are_those_that_runs_have() {
        let found = ["50", "75", "90", "95", "99", "99.5", "99.9"].map(|text| permille(text).unwrap());
        assert_eq!(found, [500, 750, 900, 950, 990, 995, 999]);
        assert_eq!(permille("97"), Err("percentile 97 is not kept".to_owned()));
        assert!(permille("most").is_err());
    }

    #[test]
    fn all_percentiles_of_schbench_are_of_one_run() {
        let rows = read_published("search-limit-results");
        let schbench: Vec<_> = rows.iter().filter(|row| row.cells[0].1 == "schbench").collect();
        for sides in [&schbench[..7], &schbench[7..]] {
            assert!(sides.iter().all(|row| row.recipe == sides[0].recipe && row.recipe.is_ok()));
            assert!(sides.windows(2).all(|two| two[0].quantity != two[1].quantity));
        }
    }
}
