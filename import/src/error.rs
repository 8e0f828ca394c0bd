//! What can be wrong with an import.

use std::path::{Path, PathBuf};

/// A file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}{}", file.display(), hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
pub struct ImportError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong: what was expected and what was found.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ImportError {
    pub(crate) fn new(file: &Path, what: impl Into<String>) -> Self {
        ImportError { file: file.to_owned(), what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A file that ends or contradicts itself at a byte.
    pub(crate) fn damaged(file: &Path, at: u64, what: impl std::fmt::Display) -> Self {
        ImportError::new(file, format!("at byte {at}: {what}")).with_hint("was the file copied whole?")
    }
}
