//! `[workload]`: the metric and the metadata of a file.

use super::{PER_INSTANCE, short};
use crate::metric::{METRICS, SLACK_MEAN, TIME, refuse, unit_of_less};
use wakelab_input::{InputError, Table};

/// The keys that it may hold.
pub(super) const KEYS: [&str; 7] = ["benchmark", "case", "metric", "unit", "better", "load_label", "ramp"];

/// The statements of a file about the whole workload.
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
pub(super) fn read(root: &Table<'_>) -> Result<Header, InputError> {
    let table = root.need_table("workload", &KEYS)?;
    let higher_is_better = table.need_choice("better", &[("higher", true), ("lower", false)])?;
    let metric = table.need_text("metric", &format!("one of {}", METRICS.join(", ")))?.to_owned();
    if let Some((what, hint)) = refuse(&metric) {
        return Err(table.wrong("metric", what).with_hint(hint));
    }
    let unit = short(&table, "unit", "text such as \"transactions/s\"")?;
    if let Some(own) = unit_of_less(&metric) {
        let (of, long) = match own {
            _ if metric == TIME => ("time", "seconds"),
            "ms" => ("frame time", "milliseconds"),
            "%" => ("share", "per cent"),
            _ => ("latency", "microseconds"),
        };
        if unit != own {
            return Err(table.wrong("unit", format!("{of} is measured in {long}; expected {own:?}, found {unit:?}")));
        }
        if higher_is_better {
            let what = format!("less {of} is better; expected \"lower\", found \"higher\"");
            return Err(table.wrong("better", what));
        }
    }
    if metric == SLACK_MEAN && (unit != "us" || !higher_is_better) {
        let what = format!(
            "slack is measured in microseconds, and more is better; expected \"us\" and \"higher\", found \
                     {unit:?}"
        );
        return Err(table.wrong("unit", what));
    }
    Ok(Header {
        benchmark: short(&table, "benchmark", "text in quotes")?.to_owned(),
        case: short(&table, "case", "text in quotes")?.to_owned(),
        metric,
        unit: unit.to_owned(),
        higher_is_better,
        load_label: match table.text("load_label")? {
            None => "instances".to_owned(),
            Some(_) => short(&table, "load_label", "text in quotes")?.to_owned(),
        },
        ramp_ns: table.duration("ramp")?.unwrap_or(0),
    })
}

/// Refuses keys about instances if no task belongs to an instance.
pub(super) fn refuse_instances(table: &Table<'_>) -> Result<(), InputError> {
    match ["load_label", "ramp"].into_iter().find(|key| table.get(key).is_some()) {
        None => Ok(()),
        Some(key) => {
            let what = "this key describes instances, but all tasks have a fixed `count`; remove it";
            Err(table.wrong(key, what).with_hint(PER_INSTANCE))
        }
    }
}
