//! A folder to write to, by its descriptor.
//!
//! A recorder runs as root, often in a folder of a user such as `/tmp`. A path would be looked up anew for each file,
//! and whoever owns a folder on the way could put a link in its place. So the folder is opened once, and its files are
//! made and renamed relative to the descriptor.

use crate::error::WriteError;
use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A folder that is written to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    dir: OwnedFd,
    /// The mode of new files if only this user may read them; else the umask decides.
    mode: Option<Mode>,
}

/// The mode of a private folder.
const FOLDER_MODE: Mode = Mode::RWXU;
/// The mode of a private file.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// The permissions to write for others than the owner.
const WRITABLE_BY_OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);

impl Folder {
    /// Opens a folder that this process has made. The umask decides who may read its files.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, WriteError> {
        let dir = open_dir(path).map_err(|e| WriteError::io(path, &e.into()))?;
        Ok(Folder { path: path.to_owned(), dir, mode: None })
    }

    /// Makes a folder of mode 0700 with the folders above it, or opens an empty one. Its files have mode 0600, whatever
    /// the umask is.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, is a link, is not empty, or belongs to another user, or if another user can
    /// write to it.
    pub(crate) fn private(path: &Path) -> Result<Self, WriteError> {
        // Without a slash at its end, which would make the kernel follow a link.
        let plain: PathBuf = path.components().collect();
        let failed = |e: Errno| WriteError::io(path, &e.into());
        let made = make(&plain).map_err(failed)?;
        let dir = match open_dir(&plain) {
            Ok(dir) => dir,
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(refused(path, &kind(&plain))),
            Err(error) => return Err(failed(error)),
        };
        let found = fs::fstat(&dir).map_err(failed)?;
        let user = rustix::process::geteuid().as_raw();
        if found.st_uid != user {
            return Err(refused(path, &format!("one of user {} (this is user {user})", found.st_uid)));
        }
        let mode = Mode::from_raw_mode(found.st_mode);
        if made {
            fs::fchmod(&dir, FOLDER_MODE).map_err(failed)?;
        } else if mode.intersects(WRITABLE_BY_OTHERS) {
            return Err(refused(path, &format!("mode {:04o}, with which others can write to it", mode.bits())));
        }
        for entry in Dir::read_from(&dir).map_err(failed)? {
            if !matches!(entry.map_err(failed)?.file_name().to_bytes(), b"." | b"..") {
                return Err(refused(path, "something in it"));
            }
        }
        Ok(Folder { path: path.to_owned(), dir, mode: Some(FILE_MODE) })
    }

    /// Makes a file.
    ///
    /// # Errors
    /// Fails if there is something of this name, even a link to nowhere.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(&self.dir, name, flags, self.mode.unwrap_or(Mode::from_raw_mode(0o666)))?;
        if let Some(mode) = self.mode {
            // The umask may have taken the owner's permissions.
            fs::fchmod(&file, mode)?;
        }
        Ok(file.into())
    }

    /// Renames a file; one of the new name is replaced.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.dir, from, &self.dir, to)?)
    }

    /// The path of a file in it, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn open_dir(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(CWD, path, flags, Mode::empty())
}

/// Makes a folder and those above it. Returns false if there is something of this name.
fn make(path: &Path) -> Result<bool, Errno> {
    match fs::mkdir(path, FOLDER_MODE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(Errno::NOENT) => match path.parent().filter(|above| !above.as_os_str().is_empty()) {
            Some(above) => make(above).and_then(|_| fs::mkdir(path, FOLDER_MODE)).map(|()| true),
            None => Err(Errno::NOENT),
        },
        Err(error) => Err(error),
    }
}

/// Returns the kind of a path that is not a folder.
fn kind(path: &Path) -> String {
    let found = fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    let link = found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink);
    if link { "a symbolic link" } else { "something that is not a folder" }.to_owned()
}

fn refused(path: &Path, found: &str) -> WriteError {
    WriteError::new(path, format!("expected an empty or new folder that only you can write to, found {found}"))
}
