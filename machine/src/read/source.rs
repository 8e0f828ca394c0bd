//! The text of a file, for messages about places in it.

use crate::MachineError;
use std::ops::Range;

/// A file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// An error at a byte of the text, or of the file as a whole.
    pub(super) fn error(&self, at: Option<usize>, what: impl Into<String>) -> MachineError {
        let line = at.map(|at| 1 + self.text.bytes().take(at).filter(|&byte| byte == b'\n').count());
        MachineError { file: self.file.to_owned(), line, what: what.into(), hint: None }
    }

    /// What stands at a place, if that is short.
    pub(super) fn found(&self, span: Range<usize>) -> String {
        const LONGEST: usize = 40;
        let text = self.text.get(span).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None if line.len() < text.len() => format!("{line} ..."),
            None => line.to_owned(),
        }
    }
}
