//! `[noise]`.

use super::origin;
use super::table::Table;
use crate::{MachineError, Noise, Origin};

/// The background work, if the file describes it.
pub(super) fn read(root: &Table<'_>) -> Result<Option<(Noise, Origin)>, MachineError> {
    let Some(table) = root.table("noise")? else { return Ok(None) };
    table.only(&["kworker_period_ns", "kworker_run_ns", "source", "assumed"])?;
    let period = table.need_number("kworker_period_ns", &(0..=1_000_000_000_000))?;
    let run = table.need_number("kworker_run_ns", &(0..=1_000_000_000))?;
    if period > 0 && !(1..period).contains(&run) {
        let what = format!("kworker_run_ns is {run}; expected 1 up to less than kworker_period_ns, {period}");
        return Err(table.error(what).with_hint("`kworker_period_ns = 0` switches the kworkers off"));
    }
    Ok(Some((Noise { kworker_period_ns: period, kworker_run_ns: run }, origin::read(&table)?)))
}
