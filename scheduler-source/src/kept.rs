//! The files that are kept between runs of the program, and for how long.

use crate::files::{UNFINISHED, failed, written_by_all};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The kinds of files that are kept, each in a folder of its own.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// Compiled objects, a file each.
    Objects,
    /// Headers of builders, a folder each: 14 MB for scx_cargo 1.1.4.
    Headers,
    /// Crates of the registry, a folder each.
    Crates,
    /// The results of cargo for manifests in folders, a folder each.
    Resolved,
}

impl Kept {
    const ALL: [Kept; 4] = [Kept::Objects, Kept::Headers, Kept::Crates, Kept::Resolved];

    /// The folder in the folder of what is made.
    pub fn folder(self, work: &Path) -> PathBuf {
        work.join(match self {
            Kept::Objects => "objects",
            Kept::Headers => "headers",
            Kept::Crates => "crates",
            Kept::Resolved => "resolved",
        })
    }

    /// How many are kept; those that were made or used longest ago go.
    fn most(self) -> usize {
        match self {
            Kept::Headers => 16,
            Kept::Objects | Kept::Crates | Kept::Resolved => 64,
        }
    }
}

/// How old something unfinished is that nobody finishes any more: the program was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Marks a file or a folder as used.
pub fn touch(path: &Path) {
    let append = fs::File::options().append(true).open(path);
    let file = append.or_else(|_| fs::File::open(path));
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Deletes what was used longest ago, and what was never finished.
pub fn prune(work: &Path) {
    let inner = Kept::ALL.map(|kept| kept.folder(work));
    for folder in inner.iter().map(PathBuf::as_path).chain([work]) {
        for (modified, path) in dated(folder, true) {
            if modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                remove(&path);
            }
        }
    }
    for kept in Kept::ALL {
        let all = dated(&kept.folder(work), false);
        let many = all.len().saturating_sub(kept.most());
        all.into_iter().take(many).for_each(|(_, path)| remove(&path));
    }
}

/// Returns the contents of a folder, unfinished or not, the oldest first.
fn dated(folder: &Path, unfinished: bool) -> Vec<(SystemTime, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_kind = entries.filter(|e| e.file_name().to_string_lossy().starts_with(UNFINISHED) == unfinished);
    let dated = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut all: Vec<_> = of_kind.filter_map(dated).collect();
    all.sort();
    all
}

fn remove(path: &Path) {
    // A link is no folder here.
    let is_folder = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Whether nobody else can put something else in the place of a folder, or of those above it: none may be written by
/// all, unless only owners rename there, as in `/tmp`.
///
/// # Errors
/// Fails with the folder, and what to do.
pub fn private(folder: &Path) -> Result<(), String> {
    let whole = folder.ancestors().find_map(|there| there.canonicalize().ok());
    for place in whole.iter().flat_map(|whole| whole.ancestors()) {
        let mode = fs::metadata(place).map_err(|error| failed(place, error))?.permissions().mode();
        const STICKY: u32 = 0o1000;
        if written_by_all(place) && mode & STICKY == 0 {
            let what = "all users can write there, and could change what is compiled";
            let next = "set HOME or XDG_CACHE_HOME to a folder of your own, or give --cache DIR";
            return Err(failed(place, format!("{what}; {next}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_kept_is_pruned() {
        let work = tempfile::tempdir().unwrap();
        let then = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for kept in Kept::ALL {
            for number in 0..kept.most() + 3 {
                let path = kept.folder(work.path()).join(format!("{number}"));
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("a.h"), "").unwrap();
                fs::File::open(&path).unwrap().set_modified(then(number as u64)).unwrap();
            }
            // Used again.
            touch(&kept.folder(work.path()).join("0"));
        }
        let abandoned = work.path().join(format!("{UNFINISHED}old"));
        fs::create_dir(&abandoned).unwrap();
        fs::File::open(&abandoned).unwrap().set_modified(then(1)).unwrap();
        let unfinished = Kept::Headers.folder(work.path()).join(format!("{UNFINISHED}new"));
        fs::create_dir(&unfinished).unwrap();
        prune(work.path());
        for kept in Kept::ALL {
            let left = |number: usize| kept.folder(work.path()).join(format!("{number}")).exists();
            assert!(left(0) && !left(1) && !left(3) && left(4) && left(kept.most() + 2), "{kept:?}");
        }
        assert!(!abandoned.exists() && unfinished.exists());
    }

    #[test]
    fn a_folder_of_all_users_is_refused() {
        let all = tempfile::tempdir().unwrap();
        let inner = all.path().join("cache/schedulers");
        assert_eq!(private(&inner), Ok(()));
        fs::set_permissions(all.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private(&inner).unwrap_err().contains("all users can write there"));
        fs::set_permissions(all.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(private(&inner), Ok(()));
    }
}
