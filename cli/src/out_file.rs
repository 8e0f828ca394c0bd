//! `--out` and flags like it: a file that is whole or not there.

use anyhow::{Context, bail};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that can be written.
#[derive(Debug)]
pub struct OutFile {
    /// The flag that names it.
    flag: &'static str,
    path: PathBuf,
    /// Devices and pipes are written to: a rename would put a file in their place. They stay open from the start, as the
    /// reader of a pipe takes its closing for the end.
    special: Option<File>,
}

impl OutFile {
    /// The file that `--out` names, which is looked at but not changed.
    ///
    /// # Errors
    /// Where it could not be written, as far as can be told beforehand.
    pub fn new(path: &Path) -> anyhow::Result<Self> {
        Self::of_flag("--out", path)
    }

    /// The same for another flag.
    ///
    /// # Errors
    /// As [`OutFile::new`].
    pub fn of_flag(flag: &'static str, path: &Path) -> anyhow::Result<Self> {
        Self::check(flag, path)
            .with_context(|| format!("{flag}: {} cannot be written", path.display()))
            .map_err(|e| anyhow::anyhow!("{e:#}\n  hint: name a file in a folder that exists and can be written"))
    }

    fn check(flag: &'static str, path: &Path) -> anyhow::Result<Self> {
        // The rename is to replace the file, not a link to it.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let special = match fs::metadata(&path) {
            Ok(data) if data.is_dir() => bail!("it is a folder"),
            Ok(data) => Some(OpenOptions::new().write(true).open(&path)?).filter(|_| !data.is_file()),
            Err(_) => None,
        };
        let file = OutFile { flag, path, special };
        if file.special.is_none() {
            // Gone again at once, so that a second Ctrl-C leaves nothing behind.
            file.temporary()?;
        }
        Ok(file)
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// Where it cannot be written; it is then as it was.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let hint = format!("make room or name another file; without {} it goes to stdout", self.flag);
        self.with_hint(&hint, |mut file| Ok(file.write_all(text.as_bytes())?))
    }

    /// Lets the whole file be written bit by bit.
    ///
    /// # Errors
    /// As [`OutFile::write`], and those of `write`.
    pub fn write_with<T>(&self, write: impl FnOnce(&File) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.with_hint("make room or name another file", write)
    }

    fn with_hint<T>(&self, hint: &str, write: impl FnOnce(&File) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let all = || -> anyhow::Result<T> {
            if let Some(special) = &self.special {
                return write(special);
            }
            let file = self.temporary()?;
            // To the file itself: an error of the temporary one has its name, which nobody asked for.
            let written = write(file.as_file())?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|e| e.error)?;
            Ok(written)
        };
        all().with_context(|| format!("{}: {} was not written", self.flag, self.path.display())).map_err(|e| {
            let text = format!("{e:#}");
            // What could not be read has a hint of its own.
            let own = text.contains("\n  hint: ");
            if own { anyhow::anyhow!("{text}") } else { anyhow::anyhow!("{text}\n  hint: {hint}") }
        })
    }

    /// A temporary file beside the file: a rename does not cross file systems.
    fn temporary(&self) -> anyhow::Result<NamedTempFile> {
        if self.path.file_name().is_none() {
            bail!("it has no file name");
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wakelab-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Those of the file that is replaced, else what the umask leaves.
            let mode = fs::metadata(&self.path).map_or(0o666, |data| data.permissions().mode() & 0o777);
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        builder.tempfile_in(folder).map_err(|e| anyhow::anyhow!("{}", cause(&e)))
    }
}

/// Why a temporary file cannot be made. tempfile names its file after the cause; nobody asked for that, and the cause cannot be
/// had alone.
pub fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause).to_owned()
}
