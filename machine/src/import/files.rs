//! The files of a tree: of a folder, or in memory.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The files of a `/sys` tree, by their path below it (`devices/system/cpu/online`).
pub type Files = BTreeMap<String, Vec<u8>>;

/// No file that is read is longer: the list of 8192 CPUs takes 48 KiB at most.
const LONGEST: u64 = 1 << 20;

/// What follows `prefix` in the paths that begin with it.
pub(super) fn below<'a>(files: &'a Files, prefix: &str) -> impl Iterator<Item = &'a str> {
    let prefix = prefix.to_owned();
    let from = files.range(prefix.clone()..);
    from.map_while(move |(path, _)| path.strip_prefix(&prefix))
}

/// A file's content.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// The names of a folder's entries; none of a folder that is not there.
pub(super) fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
