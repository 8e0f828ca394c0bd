//! `runnable-boosting-altra-perf-bench-sched-messaging`: perf bench on an Ampere Altra, with runnable boosting in load
//! balancing alone.

use super::runnable_boosting_jankbench::BOOST;
use super::{Published, PublishedTable, Row, Sides};
use crate::compare::PublishedError;

/// Boosts in load balancing, not in frequencies and energies.
const BALANCING: &str = "RUNNABLE_BOOST,NO_RUNNABLE_BOOST_FREQ,NO_RUNNABLE_BOOST_EAS";

pub(super) struct SchedMessaging;

impl PublishedTable for SchedMessaging {
    fn name(&self) -> &'static str {
        "runnable-boosting-altra-perf-bench-sched-messaging"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["command", "base_s", "base_std_pct", "patched_s", "patched_std_pct"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let loops = [("loops".to_owned(), 2000)];
        let sides = Sides { machine: "ampere-altra-2s160c", with: BALANCING, ..BOOST };
        let recipe = match row.text("command")?.starts_with("perf bench sched messaging -t -g 1 -l 2000") {
            true => sides.recipe("perf-bench", "sched-messaging-thread", "1", &loops),
            false => Err(format!("{} is not modelled", row.text("command")?)),
        };
        Ok(vec![Published {
            compare_pct: Some(100.0 * (1.0 - row.above_0("patched_s")? / row.above_0("base_s")?)),
            spreads: row.spreads("base_std_pct", "patched_std_pct")?,
            baseline: Some(("perf bench sched messaging".to_owned(), row.above_0("base_s")?)),
            ..row.published(recipe)
        }])
    }
}
