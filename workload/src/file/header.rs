//! `[workload]`.

use super::table::Table;
use crate::error::WorkloadError;

/// What a file says of the whole workload.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) benchmark: String,
    pub(super) case: String,
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) higher_is_better: bool,
    pub(super) load_label: String,
    pub(super) ramp_ns: u64,
}

/// Reads it.
pub(super) fn read(root: &Table<'_>) -> Result<Header, WorkloadError> {
    let keys = ["benchmark", "case", "metric", "unit", "better", "load_label", "ramp"];
    let table = root.table("workload", &keys)?;
    let better = table.need_text("better")?;
    Ok(Header {
        benchmark: table.need_text("benchmark")?.to_owned(),
        case: table.need_text("case")?.to_owned(),
        metric: table.need_text("metric")?.to_owned(),
        unit: table.need_text("unit")?.to_owned(),
        higher_is_better: match better {
            "higher" => true,
            "lower" => false,
            _ => return Err(table.wrong("better", format!("expected \"higher\" or \"lower\", found {better:?}"))),
        },
        load_label: table.text("load_label")?.unwrap_or("instances").to_owned(),
        ramp_ns: table.duration("ramp")?.unwrap_or(0),
    })
}
