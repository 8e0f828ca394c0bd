//! `wakelab report`.

use crate::output::Exit;
use anyhow::{Context, ensure};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// `wakelab report`.
#[derive(Debug, clap::Subcommand)]
pub enum Args {
    /// Open it in the browser.
    ///
    /// Exits with 2 if it is not a page, or if no program is found to open it.
    Open {
        /// The page (report.html).
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Opens a page in the browser.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let Args::Open { file } = args;
    open(file)
}

/// The first bytes of a page.
const BEGINS: &[u8] = b"<!doctype html>";

fn open(path: &Path) -> anyhow::Result<Exit> {
    let name = path.display();
    let hint = "hint: name a file that --html wrote";
    let mut begins = [0; BEGINS.len()];
    let read = wakelab_input::files::open(path).and_then(|file| file.take(BEGINS.len() as u64).read(&mut begins));
    read.map_err(|e| anyhow::anyhow!("{name}: {e}\n  {hint}"))?;
    ensure!(begins == *BEGINS, "{name}: expected an HTML page\n  {hint}");
    let whole = fs::canonicalize(path).with_context(|| name.to_string())?;
    open::that(&whole).map_err(|_| {
        anyhow::anyhow!(
            "{name}: found no program to open it\n  hint: open file://{} in a browser, or copy the file to a machine \
             that has one: a page is one file",
            whole.display()
        )
    })?;
    Ok(Exit::Done)
}
