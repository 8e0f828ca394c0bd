//! What `wakelab conform` says of recordings.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::programs::{code_of, folders, program_here};

/// The recordings in a folder, as a shell's `FOLDER/*/` names them.
pub fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(folders(folder)?.into_iter().map(|recording| recording.join("")).collect())
}

/// Its JSON of these recordings, as it wrote it. That rows differ, which others judge, is no error.
pub fn text(wakelab: &Path, recordings: &[PathBuf]) -> Result<String> {
    let mut conform = program_here(wakelab);
    conform.args(["conform", "--format", "json", "--disagreements", "0"]).args(recordings);
    let output = conform.stderr(Stdio::inherit()).output()?;
    match code_of(output.status) {
        0 | 1 => String::from_utf8(output.stdout).context("wakelab conform printed no UTF-8"),
        code => bail!("wakelab conform ended with {code}"),
    }
}

/// The same, read.
pub fn conform(wakelab: &Path, recordings: &[PathBuf]) -> Result<Value> {
    serde_json::from_str(&text(wakelab, recordings)?).context("wakelab conform printed no JSON")
}

/// Shows the rows that differ, on standard error.
pub fn show(wakelab: &Path, arguments: &[&str], recordings: &[PathBuf]) -> Result<()> {
    let mut conform = program_here(wakelab);
    conform.arg("conform").args(arguments).args(recordings).stdout(std::io::stderr());
    conform.status()?;
    Ok(())
}

/// A number of an object; 0 if there is none of this name.
pub fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or(0)
}

/// A text of an object; nothing if there is none of this name.
pub fn string<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// So many in a hundred; 0 of none.
pub fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 * 100.0 }
}
