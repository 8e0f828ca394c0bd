//! Goes over many recordings at once, row by row.

use crate::question::recorded;
use crate::{Question, QuestionError};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{ReadError, Reader, Row, TopoFile};
use wakelab_kernel::Feature;
use wakelab_sched::select::policy::Recorded;

/// Told how far a walk has come.
pub trait Progress: Sync {
    /// `rows` more rows of some file are done.
    fn rows(&self, rows: u64);

    /// A file is done.
    fn file(&self, path: &Path);
}

impl Progress for () {
    fn rows(&self, _: u64) {}
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
const ROWS_A_TICK: u64 = 1024;

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
    mut row: impl FnMut(&Row, &Arc<TopoFile>) -> bool,
) -> Result<(), ReadError> {
    let mut reader = Reader::open(path)?;
    let topo = reader.topo().clone();
    question.check(&topo).map_err(|e: QuestionError| ReadError::of_file(path, e.to_string()))?;
    let mut current = Row::new();
    let mut since = 0;
    while reader.read(&mut current)? {
        if question.features(&current).has(Feature::SIS_PROP)
            && let Recorded::Not(inputs) = recorded(Feature::SIS_PROP)
        {
            let what = format!("SIS_PROP is on and reads {inputs}, which recordings do not hold");
            return Err(ReadError::of_file(path, what)
                .at_line(current.line)
                .in_column("features")
                .with_hint("--with NO_SIS_PROP asks what the other features would choose"));
        }
        if !row(&current, &topo) {
            break;
        }
        since += 1;
        if since == ROWS_A_TICK {
            progress.rows(since);
            since = 0;
        }
    }
    progress.rows(since);
    Ok(())
}
