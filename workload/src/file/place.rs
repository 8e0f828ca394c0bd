//! Where in its file a part of a workload is.

use super::WorkloadFile;
use crate::error::{About, WorkloadError};
use crate::toml_table::{Table, TomlError};
use std::path::Path;

/// A line and a key.
#[derive(Clone, Debug)]
pub(super) struct Place {
    line: usize,
    key: Option<String>,
}

impl Place {
    /// Where the value of a key is, or its table where the key is not there.
    pub(super) fn of_key(table: &Table<'_>, name: &str) -> Self {
        let line = table.get(name).map_or_else(|| table.line(), |value| table.source().line(value.span().start));
        Place { line, key: table.key(name) }
    }

    /// Where an element of an array of a table is.
    pub(super) fn of_element(table: &Table<'_>, name: &str, at: usize) -> Self {
        Place { line: table.source().line(at), key: table.key(name) }
    }

    /// The error that something there is wrong.
    pub(super) fn error(&self, path: &Path, what: impl Into<String>) -> TomlError {
        let Place { line, key } = self.clone();
        TomlError { path: path.to_owned(), line: Some(line), key, what: what.into(), hint: None }
    }
}

impl WorkloadFile {
    /// What is wrong with a workload that was made of this file, as something that is wrong in the file.
    pub(crate) fn locate(&self, error: WorkloadError) -> WorkloadError {
        let (place, what) = match &error.about {
            About::Program(name, step) => {
                let program = self.programs.iter().position(|program| program.name == *name);
                let place = program.zip(*step).and_then(|(program, step)| self.places[program].get(step));
                let step = step.map_or_else(String::new, |step| format!("step {step} "));
                (place, format!("{step}{}", error.what))
            }
            About::Task(name) => {
                let task = self.tasks.iter().find(|task| is(name, task.name()));
                (task.map(|task| &task.place), error.what.clone())
            }
            About::Channel(name) => {
                let resource = self.resources.iter().find(|resource| is(name, &resource.name));
                (resource.map(|resource| &resource.place), error.what.clone())
            }
            _ => (None, error.what.clone()),
        };
        let hint = matches!(error.about, About::Task(_)).then(|| "without cpus, a task may use all CPUs".to_owned());
        let (line, key) = place.map_or((None, None), |place| (Some(place.line), place.key.clone()));
        WorkloadError { about: About::File { path: self.path.clone(), line, key }, what, hint: error.hint.or(hint) }
    }
}

/// Whether a name is one of the file, or that with a number.
fn is(name: &str, of_file: &str) -> bool {
    let number = name.strip_prefix(of_file).map(str::trim_start);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
