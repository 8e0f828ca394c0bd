//! `[workload]`.

use crate::metric::{TIME, refuse, unit_of_less};
use crate::toml_table::{Table, TomlError};

/// What it may hold.
pub(super) const KEYS: [&str; 7] = ["benchmark", "case", "metric", "unit", "better", "load_label", "ramp"];

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
pub(super) fn read(root: &Table<'_>) -> Result<Header, TomlError> {
    let table = root.need_table("workload", &KEYS)?;
    let better = table.need_text("better")?;
    let metric = table.need_text("metric")?.to_owned();
    if let Some((what, hint)) = refuse(&metric) {
        return Err(table.wrong("metric", what).with_hint(hint));
    }
    let unit = table.need_text("unit")?;
    if let Some(own) = unit_of_less(&metric) {
        let (of, long) = match own {
            _ if metric == TIME => ("time", "seconds"),
            "ms" => ("frame time", "milliseconds"),
            "%" => ("share", "per cent"),
            _ => ("latency", "microseconds"),
        };
        if unit != own {
            return Err(table.wrong("unit", format!("a {of} is in {long}; expected {own:?}, found {unit:?}")));
        }
        if better == "higher" {
            let what = format!("less {of} is better; expected \"lower\", found \"higher\"");
            return Err(table.wrong("better", what));
        }
    }
    Ok(Header {
        benchmark: table.need_text("benchmark")?.to_owned(),
        case: table.need_text("case")?.to_owned(),
        metric,
        unit: unit.to_owned(),
        higher_is_better: match better {
            "higher" => true,
            "lower" => false,
            _ => return Err(table.wrong("better", format!("expected \"higher\" or \"lower\", found {better:?}"))),
        },
        load_label: table.text("load_label")?.unwrap_or("instances").to_owned(),
        ramp_ns: table.duration("ramp")?.unwrap_or(0),
    })
}

/// Refuses what is said of instances where no task belongs to one.
pub(super) fn refuse_instances(table: &Table<'_>) -> Result<(), TomlError> {
    match ["load_label", "ramp"].into_iter().find(|key| table.get(key).is_some()) {
        None => Ok(()),
        Some(key) => {
            let what = "this is of instances, and all tasks are by count, whatever the load; expected no such key";
            let hint = "per_instance in place of count makes tasks for each instance".to_owned();
            Err(table.wrong(key, what).with_hint(Some(hint)))
        }
    }
}
