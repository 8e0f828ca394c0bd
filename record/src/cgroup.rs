//! Control groups by their folders.

use anyhow::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The kernel's number of a control group (cgroup2), which is that of its folder; 0 for none.
pub fn id(folder: Option<&Path>) -> Result<u64> {
    let Some(folder) = folder else { return Ok(0) };
    let found = std::fs::metadata(folder.join("cgroup.procs")).and_then(|_| std::fs::metadata(folder));
    match found {
        Ok(metadata) => Ok(metadata.ino()),
        Err(e) => Err(crate::usage::Usage(format!(
            "--cgroup: expected a folder of cgroup2, found {}: {e}\n  hint: they are under /sys/fs/cgroup",
            folder.display()
        ))
        .into()),
    }
}
