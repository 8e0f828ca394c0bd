//! `--out`, `--html` and flags like them: a file that appears when it is whole, or not at all.

use crate::in_process::host;
use crate::output::say;
use crate::signals;
use anyhow::{Context, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use wakelab_input::files::{behind_links, check_output, claim_output};
use wakelab_input::printable;

/// Claims an output for its flag. Nothing changes in the file system.
///
/// # Errors
/// Fails if it is an input, or another output.
pub fn claim(flag: &str, path: &Path) -> anyhow::Result<()> {
    claim_output(flag, path).map_err(|clash| {
        let name = path.display().to_string();
        anyhow::anyhow!("{flag}: {} is {}\n  hint: name another file", printable(&name), printable(&clash.to_string()))
    })
}

/// A file that is written as a whole.
#[derive(Debug)]
pub struct OutFile {
    /// The flag that names the file.
    flag: &'static str,
    path: PathBuf,
    /// A device or a pipe is written to directly: a rename would replace it by a file. It is open from the start,
    /// because the reader of a pipe takes its closing for the end.
    special: Option<File>,
}

impl OutFile {
    /// Checks that the file that `flag` names can be written, and does not change it.
    ///
    /// # Errors
    /// Fails if it is known beforehand that the file cannot be written.
    pub fn new(flag: &'static str, path: &Path) -> anyhow::Result<Self> {
        // The rename must replace the file, not a link to it.
        Self::at(flag, path, behind_links(path))
    }

    /// Checks that a file can be written whose name this program chose, in a folder that `flag` names. Others may have
    /// put a link there, which is not followed.
    ///
    /// # Errors
    /// Fails as [`OutFile::new`] does, or if there is something of this name that is no file.
    pub fn in_folder(flag: &'static str, path: &Path) -> anyhow::Result<Self> {
        let is_other = fs::symlink_metadata(path).is_ok_and(|data| !data.is_file());
        anyhow::ensure!(
            !is_other,
            "{flag}: {} exists and is not a file; expected a file of this name or none\n  hint: name another folder",
            path.display()
        );
        Self::at(flag, path, path.to_owned())
    }

    fn at(flag: &'static str, path: &Path, place: PathBuf) -> anyhow::Result<Self> {
        claim(flag, path)?;
        let _whole = signals::in_good_order();
        Self::check(flag, place)
            .with_context(|| format!("{flag}: {} cannot be written", path.display()))
            .map_err(|e| anyhow::anyhow!("{e:#}\n  hint: name a file in a folder that exists and can be written"))
    }

    fn check(flag: &'static str, path: PathBuf) -> anyhow::Result<Self> {
        let special = match fs::metadata(&path) {
            Ok(data) if data.is_dir() => bail!("it is a folder"),
            Ok(data) => Some(OpenOptions::new().write(true).open(&path)?).filter(|_| !data.is_file()),
            Err(_) => None,
        };
        let file = OutFile { flag, path, special };
        if file.special.is_none() {
            // Removed again at once, so that a second Ctrl-C leaves nothing behind.
            file.temporary()?;
        }
        Ok(file)
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// Fails if the file cannot be written. Its previous content is then unchanged.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let hint = format!("make room or name another file; without {} it goes to stdout", self.flag);
        self.with_hint(&hint, |mut file| Ok(file.write_all(text.as_bytes())?))
    }

    /// Calls `write` to write the file piece by piece.
    ///
    /// # Errors
    /// Fails if the file cannot be written or `write` fails. Its previous content is then unchanged.
    pub fn write_with<T>(&self, write: impl FnOnce(&File) -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.with_hint("make room or name another file", write)
    }

    fn with_hint<T>(&self, hint: &str, write: impl FnOnce(&File) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let all = || -> anyhow::Result<T> {
            if let Some(special) = &self.special {
                return write(special);
            }
            let _whole = signals::in_good_order();
            let file = self.temporary()?;
            // An error of the `NamedTempFile` itself would show the temporary name, which the user did not give.
            let written = write(file.as_file())?;
            file.as_file().sync_all()?;
            // What has been read since this began may be this file.
            check_output(&self.path).map_err(|clash| anyhow::anyhow!("it is {clash}"))?;
            file.persist(&self.path).map_err(|e| e.error)?;
            Ok(written)
        };
        all().with_context(|| format!("{}: {} was not written", self.flag, self.path.display())).map_err(|e| {
            let text = format!("{e:#}");
            // An error of reading has a hint of its own.
            let own = text.contains("\n  hint: ");
            if own { anyhow::anyhow!("{text}") } else { anyhow::anyhow!("{text}\n  hint: {hint}") }
        })
    }

    fn temporary(&self) -> anyhow::Result<NamedTempFile> {
        if self.path.file_name().is_none() {
            bail!("it has no file name");
        }
        temporary(&self.path).map_err(|e| anyhow::anyhow!("{}", cause(&e)))
    }
}

/// How the names of temporary files begin.
pub const TEMPORARY: &str = ".wakelab-";

/// A temporary file that is to become `path`: in the same folder, because a rename cannot cross file systems.
///
/// # Errors
/// Fails if the folder cannot be written.
pub fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of the file that is replaced, else those that the umask leaves.
        let mode = fs::metadata(path).map_or(0o666, |data| data.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    builder.tempfile_in(folder)
}

/// The file of a page (`--html`).
#[derive(Debug)]
pub struct HtmlFile(OutFile);

impl HtmlFile {
    /// Checks that the page can be written to this file.
    ///
    /// # Errors
    /// Fails if it is known beforehand that the file cannot be written.
    pub fn new(path: &Path) -> anyhow::Result<Self> {
        OutFile::new("--html", path).map(HtmlFile)
    }

    /// Writes the page.
    ///
    /// # Errors
    /// Fails if the data do not fit on a page or the file cannot be written. Its previous content is then unchanged.
    pub fn write(&self, page: Result<String, wakelab_report::html::Error>) -> anyhow::Result<()> {
        let page = page.context("--html")?;
        self.0.write_with(|mut file| Ok(file.write_all(page.as_bytes())?))
    }

    /// Writes the page if there is `anything` to show; else it prints a warning and leaves the file unchanged.
    ///
    /// # Errors
    /// Fails if the data do not fit on a page or the file cannot be written.
    pub fn write_if(
        &self,
        anything: bool,
        page: impl FnOnce() -> Result<String, wakelab_report::html::Error>,
    ) -> anyhow::Result<()> {
        if anything {
            return self.write(page());
        }
        say!("warning: --html: no page was written, as there is nothing to show");
        Ok(())
    }
}

/// The command line as it can be typed again.
pub fn command_line() -> String {
    if let Some(host) = host() {
        return host.command.clone();
    }
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let quoted = shlex::try_join(args.iter().map(String::as_str)).unwrap_or_else(|_| args.join(" "));
    format!("wakelab {quoted}")
}

/// The cause of an error of tempfile without the name of the temporary file, which tempfile appends to it.
pub fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(cause, _)| cause).to_owned()
}
