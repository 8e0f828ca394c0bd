//! The files that are kept between runs of the program, and for how long.

use crate::files::{UNFINISHED, failed};
use rustix::process::{getegid, geteuid};
use std::fs;
use std::os::unix::fs::MetadataExt;
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

/// Whose folders hold what is kept.
struct Own {
    users: Vec<u32>,
    groups: Vec<u32>,
}

impl Own {
    /// The user and the user's own group, root, and who could change everything without a folder here: the owner of the
    /// system's root, which in a namespace may be nobody's number, and who may write to the home folder, where cargo's
    /// configuration lies. In a container that is often not the user (root).
    fn here() -> Self {
        let mut own = Own { users: vec![0, geteuid().as_raw()], groups: vec![0, getegid().as_raw()] };
        own.users.extend(fs::metadata("/").map(|root| root.uid()));
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        if let Some(home) = home.and_then(|home| fs::metadata(home).ok()) {
            own.users.push(home.uid());
            own.groups.extend((home.mode() & OF_GROUP != 0).then_some(home.gid()));
        }
        own
    }

    /// Why others could put something else in the place of what lies in a folder.
    fn wrong(&self, user: u32, group: u32, mode: u32) -> Option<&'static str> {
        if !self.users.contains(&user) {
            return Some("it belongs to another user, who");
        }
        let others = mode & OF_ALL != 0 || mode & OF_GROUP != 0 && !self.groups.contains(&group);
        (others && mode & STICKY == 0).then_some("other users may write there, and")
    }
}

/// Bits of a folder's mode: its group, and all users, may write there; only owners rename and delete there, as in
/// `/tmp`.
const OF_GROUP: u32 = 0o020;
const OF_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// A folder by its path without links, if nobody else can put something else in its place, or in that of those above
/// it: each is the user's own or the system's, and no others may write there, unless only owners rename there.
///
/// # Errors
/// Fails if there is no such folder, or with the folder that others could change, and what to do.
pub fn private(folder: &Path) -> Result<PathBuf, String> {
    let whole = folder.canonicalize().map_err(|error| failed(folder, error))?;
    let own = Own::here();
    for place in whole.ancestors() {
        let data = fs::metadata(place).map_err(|error| failed(place, error))?;
        if let Some(why) = own.wrong(data.uid(), data.gid(), data.mode()) {
            let next = "set HOME or XDG_CACHE_HOME to a folder of your own, or give --cache DIR";
            return Err(failed(place, format!("{why} could change what is compiled; {next}")));
        }
    }
    Ok(whole)
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
        use std::os::unix::fs::PermissionsExt;
        let all = tempfile::tempdir().unwrap();
        let inner = all.path().join("cache/schedulers");
        fs::create_dir_all(&inner).unwrap();
        let whole = Ok(inner.canonicalize().unwrap());
        let with = |mode| {
            fs::set_permissions(all.path(), fs::Permissions::from_mode(mode)).unwrap();
            private(&inner)
        };
        assert_eq!(with(0o700), whole);
        assert!(with(0o777).unwrap_err().contains("other users may write there"));
        assert_eq!(with(0o1777), whole);
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(with(0o700).is_err(), "the folder itself");
    }

    #[test]
    fn folders_of_others_are_refused() {
        let own = Own { users: vec![0, 1000], groups: vec![0, 100] };
        for (user, group, mode, refused) in [
            (0, 0, 0o755, false),
            (0, 0, 0o1777, false),
            (1000, 100, 0o700, false),
            // umask 002
            (1000, 100, 0o775, false),
            (1000, 100, 0o777, true),
            (1000, 7, 0o755, false),
            (1000, 7, 0o2775, true),
            (0, 7, 0o775, true),
            (1001, 100, 0o755, true),
            (1001, 100, 0o1777, true),
        ] {
            assert_eq!(own.wrong(user, group, mode).is_some(), refused, "{user}:{group} {mode:o}");
        }
    }
}
