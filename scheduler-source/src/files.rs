//! Files that appear whole, and folders.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest file that is read, bytes: the types of a kernel have some MiB.
const FILE_MAX: u64 = 256 << 20;

/// A text that says what could not be done with a path.
pub fn failed(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    wakelab_input::files::read_file(path, FILE_MAX).map_err(|error| failed(path, error))
}

/// Reads a file of text.
pub fn read_text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|error| failed(path, error))
}

/// Creates a folder and those above it.
pub fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))
}

/// Writes a file that appears whole, in a folder that exists.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().expect("a file lies in a folder");
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".wakelab-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error: std::io::Error| failed(path, error))
}

/// All files below a folder, relative to it, in the order of their names. Links are followed, as compilers do; a
/// folder that is its own descendant is an error of the system (ELOOP).
pub fn all_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(relative) = open.pop() {
        let here = folder.join(&relative);
        for entry in fs::read_dir(&here).map_err(|error| failed(&here, error))? {
            let name = entry.map_err(|error| failed(&here, error))?.file_name();
            let path = relative.join(name);
            match fs::metadata(folder.join(&path)) {
                Ok(data) if data.is_dir() => open.push(path),
                Ok(_) => found.push(path),
                Err(error) => return Err(failed(&folder.join(&path), error)),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies these files of a folder into another.
pub fn copy(from: &Path, files: &[PathBuf], to: &Path) -> Result<(), String> {
    for file in files {
        let target = to.join(file);
        create(target.parent().expect("a file lies in a folder"))?;
        // Not `fs::copy()`: what a registry keeps may be read-only.
        fs::write(&target, read(&from.join(file))?).map_err(|error| failed(&target, error))?;
    }
    Ok(())
}

/// Makes a folder that appears whole, unless it is there. `fill` gets an empty one.
pub fn make_whole(folder: &Path, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    if folder.exists() {
        return Ok(());
    }
    let parent = folder.parent().expect("it lies in a folder");
    create(parent)?;
    let new = tempfile::Builder::new().prefix(".wakelab-").tempdir_in(parent).map_err(|error| failed(parent, error))?;
    fill(new.path())?;
    match fs::rename(new.path(), folder) {
        // Another program may have made it meanwhile.
        Err(error) if !folder.exists() => Err(failed(folder, error)),
        _ => Ok(()),
    }
}
