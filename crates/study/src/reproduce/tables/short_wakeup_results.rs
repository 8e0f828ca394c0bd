//! `short-wakeup-results`: the results of the SIS_SHORT posting.

use super::{Published, PublishedTable, RESULT_COLUMNS, Row, Sides};
use crate::compare::PublishedError;

const SIS_SHORT: Sides<'static> = Sides { machine: "intel-1s56c112t", kernel: "v6.1", base: "", with: "SIS_SHORT" };

pub(super) struct ShortWakeupResults;

impl PublishedTable for ShortWakeupResults {
    fn name(&self) -> &'static str {
        "short-wakeup-results"
    }

    fn columns(&self) -> &'static [&'static str] {
        &RESULT_COLUMNS
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        Ok(vec![SIS_SHORT.result(row)?])
    }
}
