//! `wakelab workload`.

use crate::args::TableFormat;
use crate::output::{Exit, print, print_json, say_warnings};
use wakelab_report::workload;
use wakelab_workload::{describe, describe_leniently};

/// Lists the workloads.
pub fn list(format: TableFormat) -> anyhow::Result<Exit> {
    match format {
        TableFormat::Table => print(&workload::list_text())?,
        TableFormat::Json => print_json(&workload::list_json())?,
    }
    Ok(Exit::Done)
}

/// Shows one, by name or by the path of its file.
pub fn show(name: &str, format: TableFormat, lenient: bool) -> anyhow::Result<Exit> {
    let (description, warnings) = if lenient { describe_leniently(name)? } else { (describe(name)?, vec![]) };
    say_warnings(&warnings);
    match format {
        TableFormat::Table => print(&workload::show_text(&description))?,
        TableFormat::Json => print_json(&workload::show_json(&description))?,
    }
    Ok(Exit::Done)
}
