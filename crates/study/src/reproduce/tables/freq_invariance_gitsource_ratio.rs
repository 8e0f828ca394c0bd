//! `freq-invariance-gitsource-ratio`: the time of git's test suite under an invariant schedutil over that of one that
//! is not.

use super::freq_invariance_sequential_tasks::{MACHINE, recipe};
use super::{Published, PublishedTable, Row};
use crate::compare::PublishedError;

const BASE: &str = "governor=schedutil,NO_FREQ_INVARIANCE";
const WITH: &str = "governor=schedutil,FREQ_INVARIANCE,max_freq=4C";

pub(super) struct GitsourceRatio;

impl PublishedTable for GitsourceRatio {
    fn name(&self) -> &'static str {
        "freq-invariance-gitsource-ratio"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["machine", "schedutil_4C_over_unpatched_time"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let ratio = row.above_0("schedutil_4C_over_unpatched_time")?;
        let machine = match row.text("machine")?.to_lowercase().as_str() {
            "i7-2600k" => Ok(MACHINE),
            "80x-broadwell-numa" => Ok("intel-broadwell-80c"),
            "48x-haswell-numa" => Ok("intel-haswell-48c"),
            "8x-skylake-uma" => Ok("intel-skylake-8c"),
            other => Err(format!("machine {other} is not described")),
        };
        let recipe = machine.map(|machine| (recipe(machine, "gitsource:suite", BASE, WITH), 1));
        // Of a time, less is better.
        Ok(vec![Published { compare_pct: Some(100.0 * (1.0 - ratio)), ..row.published(recipe) }])
    }
}
