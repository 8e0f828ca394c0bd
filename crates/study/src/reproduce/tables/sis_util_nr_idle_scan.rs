//! `sis_util-nr_idle_scan`: the limit of a search by the utilisation of an LLC. The formula gives it without a
//! simulation.

use super::{Published, PublishedTable, Row};
use crate::compare::PublishedError;
use crate::reproduce::Quantity;
use wakelab_sched::select::update_idle_cpu_scan;

/// The imbalance_pct of the LLC's domain.
const IMBALANCE_PCT: u32 = 117;

pub(super) struct SisUtilNrIdleScan;

impl PublishedTable for SisUtilNrIdleScan {
    fn name(&self) -> &'static str {
        "sis_util-nr_idle_scan"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["llc_weight", "sum_util_pct", "nr_scan"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let published = row.required_number("nr_scan")?;
        let is_weight = |cpus: f64| cpus >= 1.0 && cpus <= f64::from(u32::MAX) && cpus.fract() == 0.0;
        let llc_weight = row.number_that("llc_weight", "a whole number of CPUs, 1 or more", is_weight)?;
        let sum_util_pct = row.number_that("sum_util_pct", "per cent, 0 or more", |pct| pct >= 0.0)?;
        let sum_util = llc_weight * 1024.0 * sum_util_pct / 100.0;
        let nr_idle_scan = update_idle_cpu_scan(sum_util as u64, llc_weight as u32, IMBALANCE_PCT);
        Ok(vec![Published {
            quantity: Quantity::NrIdleScan,
            values: Some([Some(published), None]),
            computed: Some(f64::from(nr_idle_scan)),
            ..row.published(Err(String::new()))
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_published;

    #[test]
    fn every_published_nr_idle_scan_is_that_of_the_formula() {
        for row in read_published("sis_util-nr_idle_scan") {
            assert_eq!(row.computed, row.values.unwrap()[0], "{:?}", row.cells);
        }
    }
}
