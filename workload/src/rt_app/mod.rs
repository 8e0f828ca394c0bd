//! rt-app's JSON files; docs/rt-app.md says what of them means what here.
//!
//! `workgen` fills in what may be left out, `json` parses, `threads` reads what threads do, `program` makes programs of
//! it. The meaning is that of the code of rt-app 1.0 where its documentation leaves it open.

mod cx;
mod event;
mod global;
mod json;
mod keys;
mod locate;
mod make;
mod phase;
mod policy;
mod program;
mod resources;
mod steps;
mod thread;
mod threads;
mod timers;
mod workgen;

use crate::error::{About, WorkloadError};
use crate::validate::NR_CPUS_MAX;
use crate::{Program, Workload};
use cx::{Cx, Place};
use json::Object;
use program::Shared;
use std::path::{Path, PathBuf};
use thread::Thread;

/// A file of rt-app that was read and is right, as far as that can be said without a machine and a load.
#[derive(Clone, Debug)]
pub struct RtApp {
    path: PathBuf,
    threads: Vec<Thread>,
    programs: Vec<Program>,
    /// By program: where its steps come from.
    places: Vec<Vec<Place>>,
    resources: Vec<resources::Resource>,
    cpu_sets: Vec<Vec<u32>>,
}

/// The keys of a file.
const KEYS: [&str; 3] = ["tasks", "global", "resources"];

impl RtApp {
    /// Reads a file. What the model has no meaning for is an error, or, where it is read leniently, a warning of those
    /// that are returned; each says what is done instead.
    ///
    /// # Errors
    /// Where it cannot be read, and as [`RtApp::parse`].
    pub fn read(path: &Path, lenient: bool) -> Result<(Self, Vec<WorkloadError>), WorkloadError> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let about = About::File { path: path.to_owned(), line: None, key: None };
            WorkloadError::new(about, format!("the file cannot be read: {e}; expected a file of rt-app (.json)"))
                .with_hint(Some(crate::error::NO_FILE.to_owned()))
        })?;
        Self::parse(path, &text, lenient)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// With its line and key: where the text is no JSON, a value is not what was expected, something that is named is
    /// not there, a program could go round for ever without time passing or forks without end ([`Workload::validate`]),
    /// or the model has no meaning for something and the file is not read leniently.
    pub fn parse(path: &Path, text: &str, lenient: bool) -> Result<(Self, Vec<WorkloadError>), WorkloadError> {
        let text = workgen::fill_in(text);
        let cx = Cx::new(path, &text, lenient);
        let value = json::parse(&cx)?;
        let root = Object::root(&cx, &value)?;
        for prop in root.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
            keys::unknown(&cx, prop, KEYS.into_iter())?;
        }
        let policy = global::read(&cx, root.get(&cx, "global")?)?;
        global::resources(&cx, root.get(&cx, "resources")?)?;
        let tasks = root.need(&cx, "tasks", "{\"thread0\": {\"run\": 1000, \"sleep\": 9000}}")?;
        let threads = threads::read(&cx, tasks, policy)?;
        timers::check(&cx, &threads)?;
        let file = Self::of_threads(&cx, threads)?;
        file.workload(1, false).validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
        Ok((file, cx.into_warnings()))
    }

    fn of_threads(cx: &Cx<'_>, threads: Vec<Thread>) -> Result<Self, WorkloadError> {
        let mut shared = Shared { resources: resources::Resources::barriers(cx, &threads)?, ..Shared::default() };
        let (mut programs, mut places) = (vec![], vec![]);
        let start = program::of_start(&threads).map(|thread| (thread, false));
        for (thread, forked) in start.chain(program::forked(&threads).into_iter().map(|thread| (thread, true))) {
            let (program, at) = program::write(cx, &threads, thread, forked, &mut shared)?;
            programs.push(program);
            places.push(at);
        }
        let Shared { resources, cpu_sets } = shared;
        Ok(RtApp { path: cx.path.to_owned(), threads, programs, places, resources: resources.0, cpu_sets })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
