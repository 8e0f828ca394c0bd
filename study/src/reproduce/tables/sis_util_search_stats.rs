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
        // hackbench ran with 28 tasks in a group.
        let fds = [("fds".to_owned(), 14)];
        let params: &[_] = if row.text("benchmark")? == "hackbench" { &fds } else { &[] };
        let recipe = SIS_UTIL.recipe(row.text("benchmark")?, row.text("case")?, row.text("load")?, params);
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
