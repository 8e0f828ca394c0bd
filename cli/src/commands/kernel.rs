//! `wakelab kernel`.

use crate::flags::{FormatFlag, TableFormat};
use crate::output::{Exit, print, print_json};
use wakelab_kernel::Preset;
use wakelab_report::kernel;

pub const EXAMPLE: &str = "\
Example:
  wakelab kernel show v6.12 --diff v6.1";

/// `wakelab kernel`.
#[derive(Debug, clap::Subcommand)]
pub enum Args {
    /// List all of them.
    List {
        /// How the list is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Show one, or what differs between two.
    Show {
        /// The kernel (v6.12).
        name: String,
        /// Show only what differs in this kernel.
        #[arg(long, value_name = "OTHER")]
        diff: Option<String>,
        /// How it is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
}

/// Lists the presets, shows one, or the difference of two.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match args {
        Args::List { format: FormatFlag { format: TableFormat::Table } } => print(&kernel::list_text())?,
        Args::List { format: FormatFlag { format: TableFormat::Json } } => print_json(&kernel::list_json())?,
        Args::Show { name, diff: None, format } => {
            let preset = Preset::get(name)?;
            match format.format {
                TableFormat::Table => print(&kernel::show_text(preset))?,
                TableFormat::Json => print_json(&kernel::show_json(preset))?,
            }
        }
        Args::Show { name, diff: Some(other), format } => {
            let diff = Preset::get(name)?.diff(Preset::get(other)?);
            match format.format {
                TableFormat::Table => print(&kernel::diff_text(&diff))?,
                TableFormat::Json => print_json(&kernel::diff_json(&diff))?,
            }
        }
    }
    Ok(Exit::Done)
}
