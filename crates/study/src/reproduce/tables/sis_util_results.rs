//! `sis_util-results`: hackbench, netperf, tbench and schbench of the SIS_UTIL posting, with and without the policy.

use super::{Published, PublishedTable, RESULT_COLUMNS, Row, SIS_UTIL};
use crate::compare::PublishedError;

pub(super) struct SisUtilResults;

impl PublishedTable for SisUtilResults {
    fn name(&self) -> &'static str {
        "sis_util-results"
    }

    fn columns(&self) -> &'static [&'static str] {
        &RESULT_COLUMNS
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        Ok(vec![SIS_UTIL.result(row)?])
    }
}
