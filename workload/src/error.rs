//! What is wrong with a workload.

use crate::toml_table::TomlError;
use std::fmt;
use std::path::PathBuf;

/// What to do about a file that cannot be read.
pub(crate) const NO_FILE: &str = "`wakelab workload list` shows the workloads that need no file";

/// What of a workload is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// Its name.
    Name,
    /// Its load.
    Load,
    /// A number of its model, by name.
    Param(String),
    /// A place in its file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; none where the file could not be read.
        line: Option<usize>,
        /// The key, with the table it is in.
        key: Option<String>,
    },
    /// One of its tasks, by name.
    Task(String),
    /// One of its programs, by name, and where it is about one, the number of the step.
    Program(String, Option<usize>),
    /// One of its channels, by name.
    Channel(String),
    /// The workload itself.
    Whole,
}

/// A workload that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WorkloadError {
    /// What of it is wrong.
    pub about: About,
    /// What is wrong, and what was expected.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl WorkloadError {
    pub(crate) fn new(about: About, what: impl Into<String>) -> Self {
        WorkloadError { about, what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl From<TomlError> for WorkloadError {
    fn from(error: TomlError) -> Self {
        let TomlError { path, line, key, what, hint } = error;
        WorkloadError { about: About::File { path, line, key }, what, hint }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Name | About::Load | About::Param(_) | About::Whole => {}
            About::File { path, line, key } => {
                write!(f, "{}", path.display())?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                f.write_str(": ")?;
                if let Some(key) = key {
                    write!(f, "{key}: ")?;
                }
            }
            About::Task(name) => write!(f, "task {name}: ")?,
            About::Program(name, None) => write!(f, "program {name}: ")?,
            About::Program(name, Some(step)) => write!(f, "program {name}, step {step}: ")?,
            About::Channel(name) => write!(f, "channel {name}: ")?,
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}
