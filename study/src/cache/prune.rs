//! Keeps the folder small.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What the files of entries end in.
pub(super) const SUFFIX: &str = "run";
/// What files begin with that are not whole yet.
pub(super) const TEMPORARY: &str = ".wakelab-";

/// File systems give room by blocks.
const BLOCK_BYTES: u64 = 4096;
/// No write takes so long: the program was killed in its midst.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

struct Entry {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

/// Deletes what was used longest ago; files that go while it looks are gone as well.
pub(super) fn prune(folder: &Path, limit: u64) -> usize {
    let mut entries = Vec::new();
    for inner in files(folder).filter(|inner| is_folder_of_entries(&inner.path())) {
        for file in files(&inner.path()) {
            let (path, name) = (file.path(), file.file_name());
            let Ok(data) = file.metadata() else { continue };
            let Ok(used) = data.modified() else { continue };
            if path.extension().is_some_and(|end| end == SUFFIX) {
                entries.push(Entry { used, path, bytes: data.len().next_multiple_of(BLOCK_BYTES) });
            } else if name.to_string_lossy().starts_with(TEMPORARY) && used.elapsed().is_ok_and(|age| age > LEFT_BEHIND)
            {
                let _ = fs::remove_file(path);
            }
        }
    }
    let mut sum: u64 = entries.iter().map(|entry| entry.bytes).sum();
    // The path makes the order one, where clocks are coarse.
    entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    let mut gone = 0;
    for entry in entries {
        if sum <= limit {
            break;
        }
        if fs::remove_file(entry.path).is_ok() {
            gone += 1;
        }
        sum -= entry.bytes;
    }
    gone
}

fn files(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Two hexadecimal digits.
fn is_folder_of_entries(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) && path.is_dir()
}
