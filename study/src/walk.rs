//! Goes over many recordings at once, row by row.

use crate::{Question, QuestionError};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{ReadError, Reader, Row, TopoFile};
use wakelab_kernel::Feature;

/// Told how far a walk has come.
pub trait Progress: Sync {
    /// `rows` more rows of some file are done.
    fn rows(&self, rows: u64);

    /// So much of a file is done, 0 to 1.
    fn part(&self, path: &Path, share: f64);

    /// A file is done.
    fn file(&self, path: &Path);
}

/// Tells how far it is by the share that is done of files which follow each other and count the same.
pub(crate) fn tell_share(progress: &dyn Progress, files: &[PathBuf], share: f64) {
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

/// What became of one file: what was counted, up to an error if there was one.
#[derive(Clone, Debug)]
pub struct FileOutcome<T> {
    /// The file.
    pub path: PathBuf,
    /// What was counted.
    pub value: T,
    /// Why the rest of the file was not read.
    pub error: Option<ReadError>,
}

/// How often progress is told.
pub(crate) const ROWS_A_TICK: u64 = 1024;

/// Walks over all files, several at a time, each with a value of its own; the outcomes come in the order of `files`.
pub(crate) fn walk_files<T: Default + Send>(
    files: &[PathBuf],
    question: &Question,
    progress: &dyn Progress,
    row: impl Fn(&mut T, &Row, &Arc<TopoFile>) + Sync,
) -> Vec<FileOutcome<T>> {
    files
        .par_iter()
        .map(|path| {
            let mut value = T::default();
            let error = walk_file(path, question, progress, |r, topo| {
                row(&mut value, r, topo);
                true
            })
            .err();
            progress.file(path);
            FileOutcome { path: path.clone(), value, error }
        })
        .collect()
}

/// Walks over one file until `row` says no.
pub(crate) fn walk_file(
    path: &Path,
    question: &Question,
    progress: &dyn Progress,
    row: impl FnMut(&Row, &Arc<TopoFile>) -> bool,
) -> Result<(), ReadError> {
    walk_those(path, question, progress, |_, _| true, row)
}

/// The same; rows that `wanted` does not want, by their time and wakee, may be left out.
pub(crate) fn walk_those(
    path: &Path,
    question: &Question,
    progress: &dyn Progress,
    wanted: impl Fn(u64, i64) -> bool,
    mut row: impl FnMut(&Row, &Arc<TopoFile>) -> bool,
) -> Result<(), ReadError> {
    let mut reader = Reader::open(path)?;
    let topo = reader.topo().clone();
    question.check(&topo).map_err(|e: QuestionError| ReadError::of_file(path, e.to_string()))?;
    let mut current = Row::new();
    let mut since = 0;
    while reader.read_those(&mut current, &wanted)? {
        if let Some(lacking) = question.lacks(&current, &topo) {
            return Err(not_recorded(path, &current, &lacking));
        }
        if !row(&current, &topo) {
            break;
        }
        since += 1;
        if since == ROWS_A_TICK {
            progress.rows(since);
            progress.part(path, reader.share());
            since = 0;
        }
    }
    progress.rows(since);
    Ok(())
}

/// SIS_PROP without its inputs.
fn not_recorded(path: &Path, row: &Row, lacking: &str) -> ReadError {
    let whose = format!("reads the waking CPU's {lacking}, which the recording does not hold");
    let assume =
        format!("--assume {}=NS starts from a stated value", lacking.split(" and ").collect::<Vec<_>>().join("=NS,"));
    if row.features.set.has(Feature::SIS_PROP) {
        return ReadError::of_file(path, format!("SIS_PROP is on and {whose}"))
            .at_line(row.line)
            .in_column("features")
            .with_hint(format!("--with NO_SIS_PROP asks what the other features would choose; {assume}"));
    }
    ReadError::of_file(path, format!("SIS_PROP {whose}")).at_line(row.line).with_hint(assume)
}
