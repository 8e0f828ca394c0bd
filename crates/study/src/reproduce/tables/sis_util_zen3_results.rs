//! `sis_util-zen3-results`: the results of a reply to the SIS_UTIL posting, on Zen 3 in three NPS modes.

use super::{Published, PublishedTable, Row, Sides};
use crate::compare::PublishedError;

/// The sides of the reply; the machine depends on the NPS mode.
pub(super) const ZEN3: Sides<'static> =
    Sides { machine: "", kernel: "v5.19-rc2-tip", base: "", with: "SIS_UTIL,NO_SIS_PROP" };

pub(super) struct SisUtilZen3Results;

impl PublishedTable for SisUtilZen3Results {
    fn name(&self) -> &'static str {
        "sis_util-zen3-results"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["benchmark", "numa_config", "load", "tip", "sis_util", "compare_pct"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let (benchmark, numa, load) = (row.text("benchmark")?, row.text("numa_config")?, row.text("load")?);
        let machine = format!("amd-zen3-2s128c256t-{}", numa.to_lowercase());
        let sides = Sides { machine: &machine, ..ZEN3 };
        let recipe = match benchmark {
            // The posting does not name the channel. `perf bench sched messaging -p -t`, which its author uses, has
            // pipes.
            "hackbench" => sides.recipe(benchmark, "thread-pipe", load, &[]),
            "tbench" => sides.recipe(benchmark, "loopback", load, &[]),
            // One message thread: the base side takes 867 us with 256 workers, where two threads have two for each CPU,
            // which takes tens of ms.
            "schbench" => sides.recipe(benchmark, "workers", load, &[("message_threads".to_owned(), 1)]),
            // The number of its threads is a parameter of the model; the load column names the metric.
            "ycsb-mongodb" => sides.recipe("ycsb", "mongodb", "1", &[]),
            stream if stream.starts_with("Stream") => Err("memory bandwidth is not modelled".to_owned()),
            other => Err(format!("{other} is not modelled")),
        };
        Ok(vec![Published {
            compare_pct: Some(row.required_number("compare_pct")?),
            baseline: Some((format!("{benchmark} {numa}"), row.above_0("tip")?)),
            ..row.published(recipe)
        }])
    }
}
