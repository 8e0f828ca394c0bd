//! `wakelab machine`.

use crate::args::TableFormat;
use crate::output::{Exit, print, print_json, say};
use std::path::Path;
use wakelab_machine::MachineFile;
use wakelab_report::machine;

/// Lists the machines.
pub fn list(format: TableFormat) -> anyhow::Result<Exit> {
    let machines = wakelab_machine::all();
    match format {
        TableFormat::Table => print(&machine::list_text(&machines))?,
        TableFormat::Json => print_json(&machine::list_json(&machines))?,
    }
    Ok(Exit::Done)
}

/// Shows one, by name or by the path of its file.
pub fn show(name: &str, format: TableFormat) -> anyhow::Result<Exit> {
    let file = MachineFile::get(name)?;
    match format {
        TableFormat::Table => print(&machine::show_text(&file))?,
        TableFormat::Json => print_json(&machine::json(&file.machine))?,
    }
    Ok(Exit::Done)
}

/// Writes a machine from a `/sys` tree. Nothing is printed before all of it was read.
pub fn import(sysfs: &Path, name: &str) -> anyhow::Result<Exit> {
    let imported = wakelab_machine::import(sysfs, name)?;
    print(&imported.to_toml())?;
    for note in &imported.notes {
        say!("note: {note}");
    }
    Ok(Exit::Done)
}
