//! Files that are read within bounds, files that appear whole, and folders.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use wakelab_input::{read_file, read_text_file};

/// The most bytes that are read for one scheduler: its sources, its headers, and the manifests of its packages. The
/// headers of a release of `scx_cargo` with libbpf's have 14 MB, of which `vmlinux.h` is 5 MB.
const LOAD_BYTES_MAX: u64 = 256 << 20;
/// The most files that are read for one scheduler. `scx_lavd` is compiled from some sixty, and its crates have three
/// hundred manifests.
const LOAD_FILES_MAX: u32 = 20_000;

/// The rest of what may be read for one scheduler.
#[derive(Debug)]
pub struct Budget {
    bytes: Cell<u64>,
    files: Cell<u32>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { bytes: Cell::new(LOAD_BYTES_MAX), files: Cell::new(LOAD_FILES_MAX) }
    }
}

impl Budget {
    /// Reads a regular file.
    ///
    /// # Errors
    /// Fails with the path if it cannot be read, is no regular file, or if the scheduler has more than may be read.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        self.one_more(path)?;
        let bytes = read_file(path, self.bytes.get()).map_err(|error| failed(path, error))?;
        self.bytes.set(self.bytes.get() - bytes.len() as u64);
        Ok(bytes)
    }

    /// Reads a regular file of text.
    ///
    /// # Errors
    /// As of [`Self::read`], and if it is not UTF-8.
    pub fn read_text(&self, path: &Path) -> Result<String, String> {
        self.one_more(path)?;
        let text = read_text_file(path, self.bytes.get()).map_err(|error| failed(path, error))?;
        self.bytes.set(self.bytes.get() - text.len() as u64);
        Ok(text)
    }

    /// Counts a file, or a folder that is looked through.
    ///
    /// # Errors
    /// Fails with the path if there were too many.
    pub fn one_more(&self, path: &Path) -> Result<(), String> {
        let left = self.files.get().checked_sub(1);
        let most = LOAD_FILES_MAX;
        let left =
            left.ok_or_else(|| failed(path, format!("the scheduler has more than {most} files; expected fewer")))?;
        self.files.set(left);
        Ok(())
    }
}

/// A folder with files of somebody else, and the folder that its links may not leave: of a checkout all of it, since
/// that is where a repository's links point, of a crate the crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The folder, without links in its path.
    pub folder: PathBuf,
    /// The folder around it.
    pub root: PathBuf,
}

impl Checkout {
    /// A folder whose links may not leave it.
    ///
    /// # Errors
    /// Fails if there is no such folder.
    pub fn closed(folder: &Path) -> Result<Self, String> {
        let folder = folder.canonicalize().map_err(|error| failed(folder, error))?;
        Ok(Checkout { root: folder.clone(), folder })
    }

    /// A folder of a repository: its root is the folder with `.git`, or else the workspace of cargo that it is in, or
    /// else itself. The home folder, those above it, and those that all users may write to, are no repository.
    ///
    /// # Errors
    /// Fails if there is no such folder.
    pub fn of(folder: &Path) -> Result<Self, String> {
        let Checkout { folder, .. } = Self::closed(folder)?;
        let home = std::env::var_os("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
        let private = |place: &Path| {
            let root = place.parent().is_none();
            root || written_by_all(place) || home.as_ref().is_some_and(|home| home.starts_with(place))
        };
        let mut above = folder.ancestors().take_while(|place| !private(place));
        let git = above.clone().find(|place| place.join(".git").exists());
        let is_workspace = |place: &&Path| {
            let text = read_text_file(&place.join("Cargo.toml"), MANIFEST_MAX).ok();
            text.and_then(|text| text.parse::<toml::Table>().ok()).is_some_and(|all| all.contains_key("workspace"))
        };
        let root = git.or_else(|| above.find(is_workspace)).unwrap_or(&folder).to_owned();
        Ok(Checkout { folder, root })
    }

    /// The same root around another folder.
    ///
    /// # Errors
    /// Fails if there is no such folder below the root.
    pub fn at(&self, path: &Path) -> Result<Self, String> {
        Ok(Checkout { folder: self.find(path)?, root: self.root.clone() })
    }

    /// Where a path from the folder leads.
    ///
    /// # Errors
    /// Fails if nothing is there, or if it is outside of the root.
    pub fn find(&self, path: &Path) -> Result<PathBuf, String> {
        let named = self.folder.join(path);
        let found = named.canonicalize().map_err(|error| failed(&named, error))?;
        match found.starts_with(&self.root) {
            true => Ok(found),
            false => {
                let (found, root) = (found.display(), self.root.display());
                Err(failed(
                    &named,
                    format!("it is {found}, which lies outside of {root}; expected a file in that folder"),
                ))
            }
        }
    }

    /// Reads a regular file at a path from the folder.
    ///
    /// # Errors
    /// As of [`Self::find`] and [`Budget::read`].
    pub fn read(&self, path: &Path, budget: &Budget) -> Result<Vec<u8>, String> {
        budget.read(&self.find(path)?)
    }

    /// All files below the folder, relative to it, in the order of their names, but for what configures tools that look
    /// for it there. Links inside of the root are followed, as compilers do; a folder that is its own descendant is an
    /// error of the system (ELOOP), or of the budget.
    ///
    /// # Errors
    /// As of [`Self::find`], and if there are too many.
    pub fn all_files(&self, budget: &Budget) -> Result<Vec<PathBuf>, String> {
        let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(relative) = open.pop() {
            let here = self.folder.join(&relative);
            for entry in fs::read_dir(&here).map_err(|error| failed(&here, error))? {
                let name = entry.map_err(|error| failed(&here, error))?.file_name();
                if configures(&name.to_string_lossy()) {
                    continue;
                }
                let path = relative.join(name);
                let place = self.find(&path)?;
                budget.one_more(&place)?;
                if place.is_dir() { open.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Copies these files of the folder into another.
    ///
    /// # Errors
    /// As of [`Self::read`], and if they cannot be written.
    pub fn copy(&self, files: &[PathBuf], to: &Path, budget: &Budget) -> Result<(), String> {
        for file in files {
            let target = to.join(file);
            create(target.parent().expect("a file lies in a folder"))?;
            // Not `fs::copy()`: what a registry keeps may be read-only.
            fs::write(&target, self.read(file, budget)?).map_err(|error| failed(&target, error))?;
        }
        Ok(())
    }
}

/// The largest manifest of a package that is read, bytes.
pub const MANIFEST_MAX: u64 = 1 << 20;

/// Whether cargo, rustup or git look for a file of this name, and do what it says.
fn configures(name: &str) -> bool {
    matches!(name, ".cargo" | ".git" | "rust-toolchain" | "rust-toolchain.toml")
}

/// Whether all users may write to a folder, as to `/tmp`: what lies there may be anybody's.
pub fn written_by_all(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o002 != 0)
}

/// A text that says what could not be done with a path.
pub fn failed(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Creates a folder and those above it.
pub fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))
}

/// Writes a file that appears whole, in a folder that exists.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().expect("a file lies in a folder");
    let write = || {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error: std::io::Error| failed(path, error))
}

/// The prefix of the names of files and folders that are not complete yet.
pub const UNFINISHED: &str = ".wakelab-";

/// Makes a folder that appears whole, unless it is there. `fill` gets an empty one.
pub fn make_whole(folder: &Path, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    if folder.exists() {
        return Ok(());
    }
    let parent = folder.parent().expect("it lies in a folder");
    create(parent)?;
    let new = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(parent).map_err(|error| failed(parent, error))?;
    fill(new.path())?;
    match fs::rename(new.path(), folder) {
        // Another program may have made it meanwhile.
        Err(error) if !folder.exists() => Err(failed(folder, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_inside_of_a_checkout() {
        let all = tempfile::tempdir().unwrap();
        let root = all.path().canonicalize().unwrap();
        let (checkout, inner) = (root.join("repo"), root.join("repo/rust/builder"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(checkout.join("include")).unwrap();
        fs::create_dir_all(inner.join(".cargo")).unwrap();
        fs::write(inner.join(".cargo/config.toml"), "").unwrap();
        fs::write(inner.join("rust-toolchain.toml"), "").unwrap();
        fs::write(checkout.join("include/a.h"), "a").unwrap();
        fs::write(root.join("outside"), "secret").unwrap();
        symlink("../../include", inner.join("bpf_h")).unwrap();
        let budget = Budget::default();
        // Alone, the folder is closed.
        let error = Checkout::of(&inner).unwrap().all_files(&budget).unwrap_err();
        assert!(error.contains("which lies outside of"), "{error}");
        fs::create_dir(checkout.join(".git")).unwrap();
        let of = Checkout::of(&inner).unwrap();
        assert_eq!(of.root, checkout);
        assert_eq!(of.all_files(&budget), Ok(vec![PathBuf::from("bpf_h/a.h")]));
        assert_eq!(of.read(Path::new("bpf_h/a.h"), &budget), Ok(b"a".to_vec()));
        for outside in ["../../../outside", "/etc/passwd"] {
            symlink(outside, inner.join("link.h")).unwrap();
            let error = of.read(Path::new("link.h"), &budget).unwrap_err();
            assert!(error.contains("link.h: it is ") && error.contains("which lies outside of"), "{error}");
            assert!(of.all_files(&budget).is_err());
            fs::remove_file(inner.join("link.h")).unwrap();
        }
    }

    #[test]
    fn what_is_read_for_one_scheduler_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "four").unwrap();
        let budget = Budget { bytes: Cell::new(6), files: Cell::new(9) };
        assert_eq!(budget.read(&path).unwrap(), b"four");
        assert!(budget.read(&path).unwrap_err().ends_with("a: it has more than 2 bytes"));
        let budget = Budget { bytes: Cell::new(100), files: Cell::new(1) };
        assert_eq!(budget.read_text(&path).unwrap(), "four");
        assert!(budget.read(&path).unwrap_err().contains("the scheduler has more than 20000 files"));
        let error = budget.read(Path::new("/dev/zero")).unwrap_err();
        assert!(error.starts_with("/dev/zero: "), "{error}");
    }
}
