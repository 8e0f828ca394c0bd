//! What is wrong with a machine file.

use std::fmt;

/// A machine that cannot be read: where, what was expected, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// The file; for a name that is not known, the name.
    pub file: String,
    /// The line, from 1, where one can be named.
    pub line: Option<usize>,
    /// What was expected, and what was found.
    pub what: String,
    /// The next step.
    pub hint: Option<String>,
}

impl MachineError {
    /// The same with a next step.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a next step, if there is one.
    pub(crate) fn with_hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for MachineError {}
