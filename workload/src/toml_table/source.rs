//! A TOML file, and what is wrong with it.

use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeTable;

/// Something in a TOML file is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; `None` if it is the file as a whole.
    pub line: Option<usize>,
    /// The key, with the table it is in: `task.cpus`.
    pub key: Option<String>,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl TomlError {
    /// The same error, with what to do about it if that is known.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        f.write_str(": ")?;
        self.key.as_ref().map_or(Ok(()), |key| write!(f, "{key}: "))?;
        f.write_str(&self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for TomlError {}

/// A TOML file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Where it lies, for messages.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// The line of a byte of the text, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count()
    }

    /// An error at a byte of the text, or about the file as a whole.
    pub fn error(&self, at: Option<usize>, key: Option<String>, what: impl Into<String>) -> TomlError {
        let line = at.map(|at| self.line(at));
        TomlError { path: self.path.to_owned(), line, key, what: what.into(), hint: None }
    }

    /// The text as TOML.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, TomlError> {
        DeTable::parse(self.text).map_err(|e| {
            let what = format!("this is no TOML: {}", e.message().trim_end());
            self.error(Some(e.span().map_or(0, |span| span.start)), None, what)
        })
    }
}
