//! `sis_util-224-threads-counters`: the search counters of netperf TCP_RR at 224 threads, per CPU.

use super::{Published, PublishedTable, Row, SIS_UTIL, per_search};
use crate::compare::PublishedError;
use crate::compare::published::CsvTable;
use crate::reproduce::Quantity;

pub(super) struct SisUtilCounters;

impl PublishedTable for SisUtilCounters {
    fn name(&self) -> &'static str {
        "sis_util-224-threads-counters"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["counter", "vanilla", "patched"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let mut recipe = SIS_UTIL.recipe("netperf", "TCP_RR", "224 threads", &[]);
        let quantity = match row.text("counter")?.trim_end_matches(".avg") {
            "sis_search" => Quantity::SisSearch,
            "sis_domain_search" => Quantity::SisDomainSearch,
            "sis_scanned" => Quantity::SisScanned,
            "sis_failed" => Quantity::SisFailed,
            other => {
                recipe = Err(format!("counter {other} is not known"));
                Quantity::SearchRates
            }
        };
        let [old, new] = row.counters(["vanilla", "patched"], quantity == Quantity::SisSearch)?;
        Ok(vec![Published {
            quantity,
            compare_pct: Some(100.0 * (new / old - 1.0)),
            values: Some([Some(old), Some(new)]),
            ..row.published(recipe)
        }])
    }

    fn complete(
        &self,
        _: &CsvTable,
        mut rows: Vec<Published>,
    ) -> Result<(Vec<Published>, Vec<String>), PublishedError> {
        per_search(&mut rows, |_| None);
        Ok((rows, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_near, read_published};
    use super::*;

    /// By hand: 100 s / 5842896 calls per CPU.
    #[test]
    fn counters_are_compared_for_each_search() {
        let rows = read_published("sis_util-224-threads-counters");
        let of = |quantity| rows.iter().find(|row| row.quantity == quantity).unwrap();
        assert_near(of(Quantity::SisSearch), [17.115, 6.5155]);
        assert_near(of(Quantity::SisScanned), [21.958, 1.01325]);
        assert_near(of(Quantity::SisFailed), [0.65959, 99.907]);
    }
}
