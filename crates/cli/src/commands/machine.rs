//! `wakelab machine`.

use crate::flags::{FormatFlag, TableFormat};
use crate::output::{Exit, print, print_json, say};
use std::path::{Path, PathBuf};
use wakelab_machine::MachineFile;
use wakelab_report::machine;

pub const EXAMPLE: &str = "\
Example:
  wakelab machine show intel-1s56c112t";

/// `wakelab machine`.
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
        /// Its name.
        name: String,
        /// How it is printed.
        #[command(flatten)]
        format: FormatFlag,
    },
    /// Write a machine file from sysfs to stdout.
    ///
    /// Reads this machine, or a saved /sys tree. sysfs has no costs, so they are assumed. Notes on the import go to
    /// stderr and into the file. Exits with 2, writing nothing, if a file is missing or files contradict each other.
    /// `wakelab docs machines` lists what is read.
    Import {
        /// The /sys tree, or a file of `lstopo --of xml`.
        #[arg(long, value_name = "DIR", default_value = "/sys")]
        sysfs: PathBuf,
        /// The name of the machine.
        #[arg(long, value_name = "NAME", default_value = "imported")]
        name: String,
    },
}

/// Lists the machines, shows one by name or by the path of its file, or writes one from a `/sys` tree.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match args {
        Args::List { format } => {
            let machines = wakelab_machine::all();
            match format.format {
                TableFormat::Table => print(&machine::list_text(&machines))?,
                TableFormat::Json => print_json(&machine::list_json(&machines))?,
            }
        }
        Args::Show { name, format } => {
            let file = MachineFile::get(name)?;
            match format.format {
                TableFormat::Table => print(&machine::show_text(&file))?,
                TableFormat::Json => print_json(&machine::json(&file.machine))?,
            }
        }
        Args::Import { sysfs, name } => import(sysfs, name)?,
    }
    Ok(Exit::Done)
}

/// Nothing is printed before all of the tree is read.
fn import(sysfs: &Path, name: &str) -> anyhow::Result<()> {
    let imported = wakelab_machine::import(sysfs, name)?;
    print(&imported.to_toml())?;
    for note in &imported.notes {
        say!("note: {note}");
    }
    Ok(())
}
