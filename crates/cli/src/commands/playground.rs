//! `wakelab playground`: the simulator as a page for a browser.

use crate::embedded;
use crate::out_file::OutFile;
use crate::output::{Exit, hint, note, say};
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wakelab_input::files;

pub const EXAMPLE: &str = "\
Example:
  wakelab playground -o playground";

/// `wakelab playground`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write index.html to this folder.
    ///
    /// It is created if it is missing. An older page of the playground in it is replaced, but no other file.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// The largest page or module that is read, bytes.
const PAGE_MAX: u64 = 256 << 20;
/// What crates/playground/build makes, in a clone.
const BUILT: &str = "target/playground/playground.wasm";

/// Writes the page.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let module = match embedded::PLAYGROUND {
        [] => built()?,
        module => module.to_vec(),
    };
    let page = wakelab_playground::page(&module)?;
    let folder = &args.output;
    fs::create_dir_all(folder)
        .with_context(|| format!("-o: {}", folder.display()))
        .map_err(|e| anyhow::anyhow!("{e:#}\n  hint: name a folder that can be made and written"))?;
    let path = folder.join("index.html");
    if let Ok(there) = files::read_own(&path, PAGE_MAX) {
        ensure!(
            String::from_utf8_lossy(&there).contains("<title>wakelab playground"),
            "-o: {}: is there already, with other contents, and is not replaced\n  hint: name a new folder",
            path.display()
        );
    }
    OutFile::in_folder("-o", &path)?.write(&page)?;
    say!("{}: {:.1} MB, one file", path.display(), page.len() as f64 / 1e6);
    hint(format_args!("`wakelab report open {}` shows it, and so does any browser", path.display()));
    Ok(Exit::Done)
}

/// The module that a clone has, in the current folder or above it.
fn built() -> anyhow::Result<Vec<u8>> {
    let missing = "this program was built without the playground's WebAssembly module\n  hint: in a clone, run \
                   `crates/playground/build`, and then this command again, there; released programs have the module \
                   built in";
    let here = std::env::current_dir().context(missing)?;
    let clone = here.ancestors().find(|folder| folder.join("crates/playground/build").is_file()).context(missing)?;
    let module = files::read_file(&clone.join(BUILT), PAGE_MAX).map_err(|_| anyhow::anyhow!(missing))?;
    let made = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    if std::env::current_exe().is_ok_and(|program| made(&program) > made(&clone.join(BUILT))) {
        note(format_args!("{BUILT} is older than this program; crates/playground/build updates it"));
    }
    Ok(module)
}
