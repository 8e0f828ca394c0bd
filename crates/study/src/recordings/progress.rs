//! How far reading has come, and what came of a file.

use std::path::{Path, PathBuf};
use wakelab_events::ReadError;

/// Receives how far reading has come.
pub trait Progress: Sync {
    /// `rows` more rows of any file are done.
    fn rows(&self, rows: u64);

    /// This share of a file is done, 0 to 1.
    fn part(&self, path: &Path, share: f64);

    /// A file is done.
    fn file(&self, path: &Path);
}

/// Reports progress by the share that is done of several files, each of which counts the same.
pub(crate) fn report_share(progress: &dyn Progress, files: &[PathBuf], share: f64) {
    let at = share * files.len() as f64;
    let before = (at as usize).checked_sub(1).and_then(|before| files.get(before));
    before.into_iter().for_each(|file| progress.part(file, 1.0));
    files.get(at as usize).into_iter().for_each(|file| progress.part(file, at.fract()));
}

impl Progress for () {
    fn rows(&self, _: u64) {}
    fn part(&self, _: &Path, _: f64) {}
    fn file(&self, _: &Path) {}
}

/// The result of one file, up to an error if there was one.
#[derive(Clone, Debug)]
pub struct FileOutcome<T> {
    /// The file.
    pub path: PathBuf,
    /// The result.
    pub value: T,
    /// Why the rest of the file was not read.
    pub error: Option<ReadError>,
}

/// The number of rows between two reports of progress.
pub(crate) const ROWS_PER_REPORT: u64 = 1024;
