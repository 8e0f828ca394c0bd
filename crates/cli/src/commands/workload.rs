//! `wakelab workload`.

use crate::flags::{FormatFlag, LenientFlag, TableFormat};
use crate::output::{Exit, print, print_json, say_warnings};
use wakelab_report::workload;
use wakelab_workload::{describe, describe_leniently};

pub const EXAMPLE: &str = "\
Example:
  wakelab workload show netperf:TCP_RR";

/// `wakelab workload`.
#[derive(Debug, clap::Subcommand)]
pub enum Args {
    /// List all of them.
    List {
        /// How the list is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Show one.
    Show {
        /// Its name, or its file (.toml, or .json of rt-app).
        #[arg(add = crate::completion::workload())]
        name: String,
        /// How it is printed.
        #[command(flatten)]
        format: FormatFlag,
        /// How strictly it is read.
        #[command(flatten)]
        lenient: LenientFlag,
    },
}

/// Lists the workloads, or shows one, by name or by the path of its file.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match args {
        Args::List { format: FormatFlag { format: TableFormat::Table } } => print(&workload::list_text())?,
        Args::List { format: FormatFlag { format: TableFormat::Json } } => print_json(&workload::list_json())?,
        Args::Show { name, format, lenient } => {
            let (description, warnings) =
                if lenient.lenient { describe_leniently(name)? } else { (describe(name)?, vec![]) };
            say_warnings(&warnings);
            match format.format {
                TableFormat::Table => print(&workload::show_text(&description))?,
                TableFormat::Json => print_json(&workload::show_json(&description))?,
            }
        }
    }
    Ok(Exit::Done)
}
