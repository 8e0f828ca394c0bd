//! `wakelab kernel`.

use crate::flags::{FormatFlag, TableFormat, preset};
use crate::output::{Exit, print, print_json};
use wakelab_report::kernel as report;

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
        /// The kernel (v6.12), or a version that a preset stands for (6.12.40).
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
        Args::List { format: FormatFlag { format: TableFormat::Table } } => print(&report::list_text())?,
        Args::List { format: FormatFlag { format: TableFormat::Json } } => print_json(&report::list_json())?,
        Args::Show { name, diff: None, format } => {
            let kernel = preset(None, name)?;
            match format.format {
                TableFormat::Table => print(&report::show_text(kernel))?,
                TableFormat::Json => print_json(&report::show_json(kernel))?,
            }
        }
        Args::Show { name, diff: Some(other), format } => {
            let diff = preset(None, name)?.diff(preset(None, other)?);
            match format.format {
                TableFormat::Table => print(&report::diff_text(&diff))?,
                TableFormat::Json => print_json(&report::diff_json(&diff))?,
            }
        }
    }
    Ok(Exit::Done)
}
