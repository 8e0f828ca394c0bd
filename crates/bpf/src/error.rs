//! The error for which an object or the kernel's types are refused.

use std::fmt;

/// All that is wrong with an object, a text for each: the place, what is there and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The texts, in the order in which they were found; never empty.
    pub problems: Vec<String>,
}

impl LoadError {
    /// An error of one text.
    pub fn new(problem: impl Into<String>) -> Self {
        LoadError { problems: vec![problem.into()] }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for LoadError {}
