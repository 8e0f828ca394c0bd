//! Control groups by their folders.

use anyhow::Result;
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The kernel's number of a control group (cgroup2), which is that of its folder; 0 for none. One of cgroup v1 has numbers
/// of another tree, and is refused.
pub fn id(folder: Option<&Path>) -> Result<u64> {
    let Some(folder) = folder else { return Ok(0) };
    let refused = |found: &str| {
        crate::usage::Usage(format!(
            "--cgroup: expected a folder of cgroup2, found {}: {found}\n  hint: they are under /sys/fs/cgroup, or where \
             `mount -t cgroup2` says",
            folder.display()
        ))
    };
    let kind = statfs(folder).map_err(|e| refused(e.desc()))?.filesystem_type();
    let metadata = std::fs::metadata(folder).map_err(|e| refused(&e.to_string()))?;
    if kind != CGROUP2_SUPER_MAGIC || !metadata.is_dir() {
        return Err(refused("that is none, or one of cgroup v1").into());
    }
    Ok(metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::id;

    #[test]
    fn a_folder_is_a_control_group_by_its_filesystem_and_not_by_its_files() {
        let folder = std::env::temp_dir().join(format!("wakelab-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cgroup.procs"), "").unwrap();
        let refused = id(Some(&folder)).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(refused.contains("cgroup2") && refused.contains("v1") && refused.contains("hint"), "{refused}");
        assert!(id(Some(&folder)).unwrap_err().to_string().contains("hint"), "it is not there");
        assert_eq!(id(None).unwrap(), 0);
    }
}
