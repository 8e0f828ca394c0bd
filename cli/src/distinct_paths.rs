//! Outputs never replace an input or each other. Files are compared by device and inode before work begins, so that
//! another spelling of a path, a link, or a second name of a file makes no difference.

use crate::out_file::behind_links;
use anyhow::bail;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wakelab_input::printable;

/// What a command reads and writes.
#[derive(Debug, Default)]
pub struct Paths<'a> {
    /// Files and folders that it reads.
    pub inputs: Vec<PathBuf>,
    /// Files and folders that it writes, each with its flag.
    pub outputs: Vec<(&'static str, &'a Path)>,
}

/// What a path stands for.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// The device and inode of a file or folder that exists.
    Inode(u64, u64),
    /// The place of one that does not exist yet.
    Place(PathBuf),
}

impl Identity {
    /// `None` for devices and pipes: nothing in them is replaced.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(data) if data.is_file() || data.is_dir() => Some(Identity::Inode(data.dev(), data.ino())),
            Ok(_) => None,
            Err(_) => {
                let path = behind_links(path);
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
                Some(Identity::Place(folder.join(path.file_name()?)))
            }
        }
    }
}

impl Paths<'_> {
    /// Checks that no output is an input, lies among the files of a folder that is read, or is another output.
    ///
    /// # Errors
    /// Fails with the flags and paths, and what to do.
    pub fn check(&self) -> anyhow::Result<()> {
        for (n, &(flag, path)) in self.outputs.iter().enumerate() {
            let name = path.display().to_string();
            let name = printable(&name);
            let Some(identity) = Identity::of(path) else { continue };
            if let Some((other, _)) =
                self.outputs[..n].iter().find(|(_, p)| Identity::of(p).as_ref() == Some(&identity))
            {
                bail!("{flag}: {name} is what {other} names, too\n  hint: name another file for one of them");
            }
            for input in &self.inputs {
                let is_input = Identity::of(input).as_ref() == Some(&identity);
                if is_input || is_description_beside(input, path) || is_file_below(input, path) {
                    let input = input.display().to_string();
                    let of = if is_input { String::new() } else { format!(" (of {})", printable(&input)) };
                    bail!("{flag}: {name} is an input{of} and would be replaced\n  hint: name another file");
                }
            }
        }
        Ok(())
    }
}

/// Whether `path` describes the machine of a recording in CSV: `topo-*.json` in the same folder.
fn is_description_beside(input: &Path, path: &Path) -> bool {
    let folder = |path: &Path| fs::canonicalize(path).ok()?.parent().map(Path::to_owned);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("topo-") && name.ends_with(".json") && path.is_file() && folder(input) == folder(path)
}

/// Whether `path` is a file below the folder `input` that is read with it, by its name.
fn is_file_below(input: &Path, path: &Path) -> bool {
    let (Ok(folder), Ok(file)) = (fs::canonicalize(input), fs::canonicalize(path)) else { return false };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_read = [".csv", ".csv.gz", ".parquet", ".json"].iter().any(|end| name.ends_with(end));
    folder.is_dir() && file.is_file() && is_read && file.starts_with(&folder)
}
