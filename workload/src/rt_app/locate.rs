//! What is wrong with a workload, as something that is wrong in the file it was made of.

use super::RtApp;
use super::cx::Place;
use crate::error::{About, WorkloadError};

impl RtApp {
    /// The error with the line and key that it is about.
    pub(crate) fn locate(&self, error: WorkloadError) -> WorkloadError {
        let place = match &error.about {
            About::Program(name, step) => self.step(name, *step),
            About::Task(name) => self.cpus(name),
            About::Channel(name) => {
                let named = |resource: &&super::resources::Resource| is(name, &resource.label());
                self.resources.iter().find(named).map(|resource| &resource.place)
            }
            _ => None,
        };
        let what = match (&error.about, place) {
            // The same resource may be named in many places.
            (About::Channel(name), Some(_)) => format!("{name}: {}", error.what),
            _ => error.what,
        };
        let (line, key) = place.map_or((None, None), |place| (Some(place.line), Some(place.key.clone())));
        WorkloadError { about: About::File { path: self.path.clone(), line, key }, what, hint: error.hint }
    }

    fn step(&self, program: &str, step: Option<usize>) -> Option<&Place> {
        let program = self.programs.iter().position(|other| other.name == program)?;
        self.places[program].get(step?)
    }

    /// Where a task's CPUs are named, or the thread.
    fn cpus(&self, task: &str) -> Option<&Place> {
        let exact = self.threads.iter().find(|thread| thread.name == task);
        let thread = exact.or_else(|| self.threads.iter().find(|thread| is(task, &thread.name)))?;
        Some(thread.cpus.as_ref().map_or(&thread.place, |cpus| &cpus.place))
    }
}

/// Whether a name is one of the file, or that with a number.
fn is(name: &str, of_file: &str) -> bool {
    let number = name.strip_prefix(of_file).map(str::trim_start);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
