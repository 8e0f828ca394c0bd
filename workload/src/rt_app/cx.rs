//! The file that is read, and what is wrong with it.

use crate::error::{About, WorkloadError};
use std::cell::RefCell;
use std::path::Path;

/// A line and a key of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    /// `tasks.thread0.phases.light.run`.
    pub(super) key: String,
}

impl Place {
    /// The error that something there is wrong.
    pub(super) fn error(&self, path: &Path, what: impl Into<String>) -> WorkloadError {
        let Place { line, key } = self.clone();
        let key = (!key.is_empty()).then_some(key);
        WorkloadError::new(About::File { path: path.to_owned(), line: Some(line), key }, what)
    }
}

/// A file, how strictly it is read, and what was let pass.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    lenient: bool,
    /// Where each line begins.
    lines: Vec<usize>,
    warnings: RefCell<Vec<WorkloadError>>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str, lenient: bool) -> Self {
        let after = text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at + 1));
        let lines = [0].into_iter().chain(after).collect();
        Cx { path, text, lenient, lines, warnings: RefCell::default() }
    }

    /// Where a byte of the text is; `key` is what it belongs to.
    pub(super) fn place(&self, at: usize, key: impl Into<String>) -> Place {
        Place { line: self.lines.partition_point(|&begin| begin <= at), key: key.into() }
    }

    /// Something means nothing to the model: an error, or if the file is read leniently a warning. `instead` is what is
    /// done then.
    pub(super) fn refuse(&self, place: &Place, what: &str, instead: &str) -> Result<(), WorkloadError> {
        if self.lenient {
            self.warnings.borrow_mut().push(place.error(self.path, format!("{what}; read leniently, {instead}")));
            return Ok(());
        }
        let hint = format!("--lenient (lenient = true in an experiment) makes this a warning: {instead}");
        Err(place.error(self.path, what).with_hint(Some(hint)))
    }

    /// What was let pass, in the order in which it was come to.
    pub(super) fn into_warnings(self) -> Vec<WorkloadError> {
        self.warnings.into_inner()
    }
}
