//! rt-app's JSON files. docs/your-workload.md describes what each part of a file means here.
//!
//! `workgen` fills in what may be left out, `json` parses, `tasks` reads the threads, `program` writes their programs.
//! Where the documentation of rt-app is open, its code counts (1.0).

mod event;
mod global;
mod json;
mod policy;
mod program;
mod tasks;
mod thread;
mod workgen;

use crate::error::{About, WorkloadError};
use crate::file::is_numbered;
use crate::validate::{NR_CPUS_MAX, TASKS_MAX};
use crate::{Call, Channel, Group, Op, Program, SLACK_MEAN, Task, Workload};
use json::{Cx, Object, Place};
use policy::Policy;
use program::{Resource, Resources, Shared, of_start};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thread::Thread;

/// A file of rt-app that was read and checked, as far as that is possible without a machine and a load.
#[derive(Clone, Debug)]
pub struct RtApp {
    path: PathBuf,
    threads: Vec<Thread>,
    programs: Vec<Program>,
    /// By program: the places in the file that its steps come from.
    places: Vec<Vec<Place>>,
    resources: Vec<Resource>,
    cpu_sets: Vec<Vec<u32>>,
}

/// The most control groups of a file.
const GROUPS_MAX: usize = 100_000;

/// The control groups that threads name, those above before those in them, with the weight that the kernel gives new
/// ones, and their numbers by their paths, from 1. Copies of a file share them, as their paths are the same.
fn groups(threads: &[Thread]) -> (Vec<Group>, HashMap<&str, u32>) {
    let mut groups: Vec<Group> = vec![];
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    for (path, _) in of_start(threads).filter_map(|thread| thread.taskgroup.as_ref()) {
        let mut parent = 0;
        for name in and_above(path) {
            parent = *numbers.entry(name).or_insert_with(|| {
                groups.push(Group {
                    name: name.to_owned(),
                    parent,
                    weight: 100,
                    idle: false,
                    max: None,
                    uclamp_min: None,
                    uclamp_max: None,
                    cpus: None,
                    autogroup: false,
                });
                groups.len() as u32
            });
        }
    }
    (groups, numbers)
}

/// The paths of a group and of those above it, the highest first.
fn and_above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    ends.map(|end| &path[..end])
}

/// Refuses a file with too many control groups.
fn check_groups(cx: &Cx<'_>, threads: &[Thread]) -> Result<(), WorkloadError> {
    let mut all: HashSet<&str> = HashSet::new();
    for (path, place) in of_start(threads).filter_map(|thread| thread.taskgroup.as_ref()) {
        all.extend(and_above(path));
        if all.len() > GROUPS_MAX {
            let what = format!("with this one there are {} control groups; expected {GROUPS_MAX} at most", all.len());
            return Err(place.error(cx.path, what));
        }
    }
    Ok(())
}

/// The keys that a file may have.
const KEYS: [&str; 3] = ["tasks", "global", "resources"];

impl RtApp {
    /// Reads a file. Something that the model cannot represent is an error, or, if `lenient`, one of the returned
    /// warnings, each of which states what is done instead. A timer that only catches up is warned about in any case.
    ///
    /// # Errors
    /// The file cannot be read, and those of [`RtApp::parse`].
    pub fn read(path: &Path, lenient: bool) -> Result<(Self, Vec<WorkloadError>), WorkloadError> {
        let text = wakelab_input::read_text(path).map_err(|e| {
            let about = About::File { path: path.to_owned(), line: None, key: None };
            WorkloadError::new(about, format!("the file cannot be read: {e}; expected a file of rt-app (.json)"))
                .with_hint(Some(crate::error::NO_FILE.to_owned()))
        })?;
        Self::parse(path, &text, lenient)
    }

    /// Reads the text of a file. `path` is for messages.
    ///
    /// # Errors
    /// With its line and key: the text is not JSON, a value is not what was expected, a name is unknown, a program
    /// could loop for ever without time passing or fork without end ([`Workload::validate`]), or the model cannot
    /// represent something and the file is not read leniently.
    pub fn parse(path: &Path, text: &str, lenient: bool) -> Result<(Self, Vec<WorkloadError>), WorkloadError> {
        let refused = match Self::parse_once(path, text, lenient) {
            Err(error) if !lenient && error.hint.as_ref().is_some_and(|hint| hint.starts_with("--lenient")) => error,
            read => return read,
        };
        // Whoever has to decide wants to know of all such parts.
        let hint = match Self::parse_once(path, text, true) {
            Ok((_, warnings)) if warnings.len() > 1 => {
                let hint = refused.hint.as_deref().unwrap_or_default();
                Some(format!("{hint}; the file has {} such parts, and --lenient lists all of them", warnings.len()))
            }
            _ => refused.hint.clone(),
        };
        Err(WorkloadError { hint, ..refused })
    }

    fn parse_once(path: &Path, text: &str, lenient: bool) -> Result<(Self, Vec<WorkloadError>), WorkloadError> {
        let text = workgen::fill_in(text);
        let cx = Cx::new(path, &text, lenient);
        let value = json::parse(&cx)?;
        let root = Object::root(&cx, &value)?;
        for prop in root.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
            json::unknown(&cx, prop, KEYS.into_iter())?;
        }
        let policy = global::read(&cx, root.get(&cx, "global")?)?;
        global::resources(&cx, root.get(&cx, "resources")?)?;
        let tasks = root.need(&cx, "tasks", "{\"thread0\": {\"run\": 1000, \"sleep\": 9000}}")?;
        let threads = tasks::read(&cx, tasks, policy)?;
        check_groups(&cx, &threads)?;
        let file = Self::of_threads(&cx, threads)?;
        file.workload(1, false).validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
        Ok((file, cx.into_warnings()))
    }

    fn of_threads(cx: &Cx<'_>, threads: Vec<Thread>) -> Result<Self, WorkloadError> {
        let mut shared = Shared::new(Resources::barriers(cx, &threads)?, &threads);
        let (mut programs, mut places) = (vec![], vec![]);
        let start = program::of_start(&threads).map(|thread| (thread, false));
        for (thread, forked) in start.chain(program::forked(&threads).into_iter().map(|thread| (thread, true))) {
            let (program, at) = program::write(cx, thread, forked, &mut shared)?;
            programs.push(program);
            places.push(at);
        }
        let (resources, cpu_sets) = shared.finish();
        Ok(RtApp { path: cx.path.to_owned(), threads, programs, places, resources, cpu_sets })
    }

    /// Returns where the file was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Builds the workload of `copies` rt-apps that run this file at the same time, each with its own threads and
    /// resources.
    ///
    /// # Errors
    /// These are too many threads.
    pub fn copies(&self, copies: u32) -> Result<Workload, WorkloadError> {
        let threads = u64::from(copies) * of_start(&self.threads).map(|t| u64::from(t.instances)).sum::<u64>();
        if threads > TASKS_MAX {
            let what = format!("{copies} copies of {} make {threads} threads", self.path.display());
            return Err(WorkloadError::new(About::Load, format!("{what}; expected at most {TASKS_MAX}")));
        }
        Ok(self.workload(copies, true))
    }

    /// Builds copies, with numbers behind the names if `numbered` and there are several, else with the names of the
    /// file.
    fn workload(&self, copies: u32, numbered: bool) -> Workload {
        let name = |name: &str, number: u32, of: u32| {
            if numbered && of > 1 { format!("{name} {number}") } else { name.to_owned() }
        };
        let (groups, numbers) = groups(&self.threads);
        let mut channels = vec![];
        let mut tasks = vec![];
        for copy in 0..copies {
            let first = channels.len() as u32;
            channels.extend(
                self.resources
                    .iter()
                    .map(|resource| Channel::new(name(&resource.label(), copy, copies), resource.capacity)),
            );
            let own: Arc<[u32]> = (first..channels.len() as u32).collect();
            for (program, thread) in of_start(&self.threads).enumerate() {
                let group = thread.taskgroup.as_ref().map_or(0, |(path, _)| numbers[path.as_str()]);
                tasks.extend((0..thread.instances).map(|i| Task {
                    name: name(&thread.name, copy * thread.instances + i, copies * thread.instances),
                    program: program as u32,
                    channels: Arc::clone(&own),
                    start_ns: 0,
                    parent: None,
                    nice: thread.nice,
                    idle_policy: thread.policy == Policy::Idle,
                    slice_ns: thread.slice_ns,
                    affinity: thread.cpus.as_ref().map(|cpus| cpus.cpus.clone()),
                    // Its threads are of one process; their switches stay whole, so that runs stay what they were.
                    process: None,
                    footprint: 0,
                    uclamp_min: thread.uclamp.min,
                    uclamp_max: thread.uclamp.max,
                    realtime: thread.realtime,
                    group,
                }));
            }
        }
        let waits_for_timer = |op: &Op| matches!(op, Op::Call(Call::Timer { .. }));
        let periodic = self.programs.iter().any(|program| program.ops.iter().any(waits_for_timer));
        // What rt-app is run for, where its threads have periods: how far from missing them they are. Loops are then as
        // many as there are periods, whatever the scheduler does.
        let (metric, unit) = if periodic { (SLACK_MEAN, "us") } else { ("throughput", "loops/s") };
        let each = tasks.len() / copies.max(1) as usize;
        let threads = if each == 1 { "1 thread".to_owned() } else { format!("{each} threads") };
        Workload {
            benchmark: "rt-app".to_owned(),
            case: self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
            load: if copies == 1 { threads } else { format!("{copies} x {threads}") },
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            higher_is_better: true,
            programs: self.programs.clone(),
            channels,
            tasks,
            cpu_sets: self.cpu_sets.clone(),
            distributions: vec![],
            params: vec![],
            groups,
            interrupts: vec![],
            changes: vec![],
        }
    }

    /// Returns an error about a workload that was built from this file as an error in the file.
    pub(crate) fn locate(&self, error: WorkloadError) -> WorkloadError {
        let place = match &error.about {
            About::Program(name, step) => self.step(name, *step),
            About::Task(name) => self.cpus(name),
            About::Channel(name) => {
                let named = |resource: &&Resource| is_numbered(name, &resource.label());
                self.resources.iter().find(named).map(|resource| &resource.place)
            }
            _ => None,
        };
        let what = match (&error.about, place) {
            // A resource may be named in many places.
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

    /// The place of a task's CPUs, or of its thread if it names none.
    fn cpus(&self, task: &str) -> Option<&Place> {
        let exact = self.threads.iter().find(|thread| thread.name == task);
        let thread = exact.or_else(|| self.threads.iter().find(|thread| is_numbered(task, &thread.name)))?;
        Some(thread.cpus.as_ref().map_or(&thread.place, |cpus| &cpus.place))
    }
}
