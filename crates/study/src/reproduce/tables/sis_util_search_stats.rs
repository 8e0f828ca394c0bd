//! `sis_util-vanilla-search-stats`: search statistics of the SIS_UTIL posting without the policy.

use super::{Published, PublishedTable, Row, SIS_UTIL, SearchRates};
use crate::compare::PublishedError;
use crate::reproduce::Quantity;

pub(super) struct SisUtilSearchStats;

impl PublishedTable for SisUtilSearchStats {
    fn name(&self) -> &'static str {
        "sis_util-vanilla-search-stats"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["benchmark", "case", "load", "se_eff_pct", "dom_eff_pct", "fast_rate_pct", "success_rate_pct"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let benchmark = row.text("benchmark")?;
        let params: &[_] = match benchmark {
            // It ran with 28 tasks in a group.
            "hackbench" => &[("fds".to_owned(), 14)],
            // Until 27 April 2022 the poster's script (yu-chen-surf/schedtests, benchmarks/schbench.sh) ran `schbench
            // -m N -t 28 -r 100 -s -c`, where -c is the number of -s: message threads sleep for atoi("-c"), which
            // is 0. With 30 ms as for the posting's results, 5 message threads would leave 58% of the machine idle.
            "schbench" => &[("sleeptime".to_owned(), 0)],
            _ => &[],
        };
        let recipe = SIS_UTIL.recipe(benchmark, row.text("case")?, row.text("load")?, params);
        Ok(vec![Published {
            quantity: Quantity::SearchRates,
            search: Some(SearchRates {
                se_eff_pct: row.required_number("se_eff_pct")?,
                dom_eff_pct: row.required_number("dom_eff_pct")?,
                fast_rate_pct: row.required_number("fast_rate_pct")?,
                success_rate_pct: row.required_number("success_rate_pct")?,
            }),
            ..row.published(recipe)
        }])
    }
}
