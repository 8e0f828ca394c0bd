//! `--html`: a page beside what is printed.

use crate::out_file::OutFile;
use crate::output::say;
use anyhow::Context;
use std::io::Write;
use std::path::Path;

/// The file of a page, which can be written as far as can be told.
#[derive(Debug)]
pub struct HtmlFile(OutFile);

impl HtmlFile {
    /// The file that `--html` names, if it does.
    ///
    /// # Errors
    /// Where it could not be written.
    pub fn of(path: Option<&Path>) -> anyhow::Result<Option<Self>> {
        Ok(path.map(|path| OutFile::of_flag("--html", path)).transpose()?.map(HtmlFile))
    }

    /// Writes a page.
    ///
    /// # Errors
    /// Where there is more than a page takes, or it cannot be written; the file is then as it was.
    pub fn write(&self, page: Result<String, wakelab_report::html::Error>) -> anyhow::Result<()> {
        let page = page.context("--html")?;
        self.0.write_with(|mut file| Ok(file.write_all(page.as_bytes())?))
    }

    /// Writes a page, if there is `anything` to show; else says that there is none, and the file is as it was.
    ///
    /// # Errors
    /// As [`HtmlFile::write`].
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

/// What was typed, so that it can be typed again.
pub fn command_line() -> String {
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let quoted = shlex::try_join(args.iter().map(String::as_str)).unwrap_or_else(|_| args.join(" "));
    format!("wakelab {quoted}")
}
