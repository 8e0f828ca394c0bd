//! Errors of workloads that cannot be built.

use std::fmt;
use std::path::PathBuf;
use wakelab_input::{InputError, shortened, shortened_message, write_place};

/// What to do about a file that cannot be read.
pub(crate) const NO_FILE: &str = "`wakelab workload list` shows the workloads that need no file";

/// The part of a workload that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The workload's name.
    Name,
    /// The load.
    Load,
    /// A parameter of the model, by name.
    Param(String),
    /// A place in the workload's file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; `None` if the error is about the file as a whole.
        line: Option<usize>,
        /// The key with the tables that it is in.
        key: Option<String>,
    },
    /// A task, by name.
    Task(String),
    /// A program, by name, and the number of the step if the error is about one.
    Program(String, Option<usize>),
    /// A channel or another resource, by name.
    Channel(String),
    /// The workload as a whole.
    Whole,
}

/// A workload that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WorkloadError {
    /// Which part is wrong.
    pub about: About,
    /// What is wrong and what was expected.
    pub what: String,
    /// The next step.
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

impl From<InputError> for WorkloadError {
    fn from(error: InputError) -> Self {
        let InputError { path, line, key, what, hint } = error;
        WorkloadError { about: About::File { path, line, key }, what, hint }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Name | About::Load | About::Param(_) | About::Whole => {}
            About::File { path, line, key } => {
                write_place(f, path, *line, key.as_deref())?;
                f.write_str(": ")?;
            }
            About::Task(name) => write!(f, "task {}: ", shortened(name))?,
            About::Program(name, None) => write!(f, "program {}: ", shortened(name))?,
            About::Program(name, Some(step)) => write!(f, "program {}, step {step}: ", shortened(name))?,
            About::Channel(name) => write!(f, "channel {}: ", shortened(name))?,
        }
        f.write_str(&shortened_message(&self.what))?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", shortened_message(hint)),
            None => Ok(()),
        }
    }
}
