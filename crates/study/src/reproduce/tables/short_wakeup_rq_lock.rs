//! `short-wakeup-will-it-scale-rq-lock`: the time that will-it-scale spends in run-queue locks.

use super::{Published, PublishedTable, Row, SIS_UTIL};
use crate::compare::PublishedError;
use crate::reproduce::Quantity;

pub(super) struct ShortWakeupRqLock;

impl PublishedTable for ShortWakeupRqLock {
    fn name(&self) -> &'static str {
        "short-wakeup-will-it-scale-rq-lock"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["nr_instance", "rq_lock_pct"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        // The posting shows one side, of a kernel before f3dd3f674555; since then the wakelist takes that time. The
        // other side of the recipe is not shown.
        let recipe = SIS_UTIL.recipe("will-it-scale", "context_switch1", row.text("nr_instance")?, &[]);
        Ok(vec![Published {
            quantity: Quantity::RqLock,
            rq_lock_pct: Some(row.required_number("rq_lock_pct")?),
            ..row.published(recipe)
        }])
    }
}
