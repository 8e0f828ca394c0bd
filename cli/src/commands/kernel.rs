//! `wakelab kernel`.

use crate::args::{Kernel, TableFormat};
use crate::output::{Exit, print, print_json};
use wakelab_kernel::Preset;
use wakelab_report::kernel;

/// Shows presets.
pub fn run(command: &Kernel) -> anyhow::Result<Exit> {
    match command {
        Kernel::List { format: TableFormat::Table } => print(&kernel::list_text())?,
        Kernel::List { format: TableFormat::Json } => print_json(&kernel::list_json())?,
        Kernel::Show { name, diff: None, format } => {
            let preset = Preset::get(name)?;
            match format {
                TableFormat::Table => print(&kernel::show_text(preset))?,
                TableFormat::Json => print_json(&kernel::show_json(preset))?,
            }
        }
        Kernel::Show { name, diff: Some(other), format } => {
            let diff = Preset::get(name)?.diff(Preset::get(other)?);
            match format {
                TableFormat::Table => print(&kernel::diff_text(&diff))?,
                TableFormat::Json => print_json(&kernel::diff_json(&diff))?,
            }
        }
    }
    Ok(Exit::Done)
}
