//! Workloads from TOML files. docs/workloads.md describes the format.

mod change;
mod distribution;
mod group;
mod header;
mod instances;
mod interrupt;
mod program;
mod resource;
mod step;
mod task;

use crate::error::{About, NO_FILE, WorkloadError};
use crate::validate::{NR_CPUS_MAX, reached};
use crate::{Call, Distribution, Group, Interrupt, Kind, Op, Program};
use change::ChangeDef;
use header::Header;
use program::{Phase, Phases};
use resource::ResourceDef;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use task::TaskDef;
use wakelab_input::{Document, InputError, Table, shortened};

/// The longest name of a program, phase, task or resource, bytes.
pub(crate) const NAME_MAX: usize = 255;

/// What to do about tasks that every load has and that should belong to instances.
const PER_INSTANCE: &str = "use `per_instance` instead of `count` to make tasks for each instance";

/// A workload's file that was read and is right, as far as that is known without a machine and a load.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadFile {
    path: PathBuf,
    header: Header,
    resources: Vec<ResourceDef>,
    distributions: Vec<Distribution>,
    programs: Vec<Program>,
    /// By program: where its steps are.
    places: Vec<Vec<Place>>,
    tasks: Vec<TaskDef>,
    groups: Vec<Group>,
    interrupts: Vec<Interrupt>,
    changes: Vec<ChangeDef>,
}

const KEYS: [&str; 15] = [
    "change",
    "group",
    "interrupt",
    "workload",
    "channel",
    "mutex",
    "condition",
    "barrier",
    "semaphore",
    "workqueue",
    "spinlock",
    "distribution",
    "phase",
    "program",
    "task",
];

impl WorkloadFile {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, WorkloadError> {
        let text = wakelab_input::read_text(path).map_err(|error| {
            let what = format!("the file cannot be read: {error}; expected a workload (.toml)");
            InputError::new(path, what).with_hint(NO_FILE)
        })?;
        Self::checked(path, &text)
    }

    /// Reads the text of a file and validates one instance of it. `path` is for messages.
    pub(crate) fn checked(path: &Path, text: &str) -> Result<Self, WorkloadError> {
        let file = Self::parse(path, text)?;
        file.build(1, false).validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
        Ok(file)
    }

    /// Reads the text of a file. `path` is for messages.
    fn parse(path: &Path, text: &str) -> Result<Self, InputError> {
        let document = Document::parse(path, text)?;
        let root = document.root(&KEYS)?;

        let header = header::read(&root)?;
        let resources = resource::read_all(&root)?;
        let phase_tables = root.tables("phase", &program::PHASE_KEYS)?;
        no_name_twice(&phase_tables)?;
        let phases = phase_tables.iter().cloned().map(Phase::read).collect::<Result<Vec<_>, _>>()?;

        let program_tables = root.tables("program", &program::KEYS)?;
        no_name_twice(&program_tables)?;
        let names = program_tables.iter().map(name).collect::<Result<Vec<_>, _>>()?;
        let tables = root.tables("distribution", &distribution::KEYS)?;
        no_name_twice(&tables)?;
        let distributions = distribution::read_all(&tables)?;
        let names = step::Names::new(&resources, &distributions, &names);
        let phase_numbers = phases.iter().map(Phase::name).zip(0..).collect();
        let phases = Phases { all: &phases, numbers: &phase_numbers };
        let (mut programs, mut places, mut used) = (vec![], vec![], vec![false; phases.all.len()]);
        let mut steps = 0;
        for table in &program_tables {
            let (program, at) = program::read(table, &names, phases, &mut used)?;
            steps += program.ops.len();
            if steps > STEPS_MAX {
                let what = format!("with their phases expanded, the programs have more than {STEPS_MAX} steps in all");
                return Err(table.wrong("ops", what + "; expected fewer"));
            }
            if let Some((step, what)) = program::unreachable(&program) {
                return Err(at[step].error(path, format!("step {step} {what}")));
            }
            programs.push(program);
            places.push(at);
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            return Err(phase_tables[unused].wrong("name", "no program uses this phase; use it or remove it"));
        }
        if !programs.iter().any(|program| program.ops.contains(&Op::Done)) {
            return Err(
                root.wrong("program", "no program has the step \"done\", which counts the metric; add it to one")
            );
        }

        let groups = group::read_all(&root.tables("group", &group::KEYS)?)?;
        let tables = root.tables("interrupt", &interrupt::KEYS)?;
        no_name_twice(&tables)?;
        let interrupts = interrupt::read_all(&tables)?;
        let tables = root.tables("task", &task::KEYS)?;
        no_name_twice(&tables)?;
        let mut own = task::OwnResources::new(&programs, &resources);
        let tasks: Vec<TaskDef> =
            tables.iter().map(|table| task::read(table, &names, &mut own, &groups)).collect::<Result<_, _>>()?;
        if tasks.is_empty() {
            return Err(root.missing("task", "one or more `[[task]]` tables"));
        }
        let changes = change::read_all(&root.tables("change", &change::KEYS)?, &groups, &tasks)?;
        let runs = reached(&programs, tasks.iter().map(TaskDef::program));
        if let Some(unused) = runs.iter().position(|runs| !runs) {
            let what = "no task runs, forks or queues this program; use it or remove it";
            return Err(program_tables[unused].wrong("name", what));
        }

        let file = WorkloadFile {
            path: path.to_owned(),
            header,
            resources,
            distributions,
            programs,
            places,
            tasks,
            groups,
            interrupts,
            changes,
        };
        if !file.by_instance() {
            header::refuse_instances(&root.need_table("workload", &header::KEYS)?)?;
        }
        match file.fixed_barrier() {
            None => Ok(file),
            Some(barrier) => {
                let what = "how many tasks meet at this barrier depends on the load; remove `participants`, and all \
                            tasks that use it meet";
                Err(barrier.place.error(path, what))
            }
        }
    }

    /// Whether there are tasks for each instance.
    pub(crate) fn by_instance(&self) -> bool {
        self.tasks.iter().any(TaskDef::by_instance)
    }

    /// A barrier with a number of participants at which tasks of all instances meet.
    fn fixed_barrier(&self) -> Option<&ResourceDef> {
        let programs: BTreeSet<usize> =
            self.tasks.iter().filter(|task| task.by_instance()).map(TaskDef::program).collect();
        let met: BTreeSet<usize> = programs.into_iter().flat_map(|program| barriers(&self.programs[program])).collect();
        let fixed = |resource: &ResourceDef| {
            !resource.per_instance && resource.kind == Kind::Barrier && resource.capacity.is_some()
        };
        met.into_iter().map(|number| &self.resources[number]).find(|resource| fixed(resource))
    }

    /// Where the file was read from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an error about a workload that was built from this file as an error in the file.
    pub(crate) fn locate(&self, error: WorkloadError) -> WorkloadError {
        let (place, what) = match &error.about {
            About::Program(name, step) => {
                let program = self.programs.iter().position(|program| program.name == *name);
                let place = program.zip(*step).and_then(|(program, step)| self.places[program].get(step));
                let step = step.map_or_else(String::new, |step| format!("step {step} "));
                (place, format!("{step}{}", error.what))
            }
            About::Task(name) => {
                let task = self.tasks.iter().find(|task| is_numbered(name, task.name()));
                (task.map(|task| &task.place), error.what.clone())
            }
            About::Channel(name) => {
                let resource = self.resources.iter().find(|resource| is_numbered(name, &resource.name));
                (resource.map(|resource| &resource.place), error.what.clone())
            }
            _ => (None, error.what.clone()),
        };
        let hint = matches!(error.about, About::Task(_)).then(|| "without `cpus`, a task may use all CPUs".to_owned());
        let (line, key) = place.map_or((None, None), |place| (Some(place.line), Some(place.key.clone())));
        WorkloadError { about: About::File { path: self.path.clone(), line, key }, what, hint: error.hint.or(hint) }
    }
}

/// The numbers of the barriers at which the tasks of a program meet.
fn barriers(program: &Program) -> BTreeSet<usize> {
    let barrier = |op: &Op| match op.call() {
        Some(Call::Barrier { barrier }) => Some(barrier as usize),
        _ => None,
    };
    program.ops.iter().filter_map(barrier).collect()
}

/// The most steps of all programs of a file.
const STEPS_MAX: usize = 1_000_000;

/// The name of a program, phase, task or resource.
fn name<'a>(table: &Table<'a>) -> Result<&'a str, InputError> {
    short(table, "name", "a name in quotes")
}

/// The text of a key that must be there, of at most [`NAME_MAX`] bytes. It is copied for each task or event.
fn short<'a>(table: &Table<'a>, key: &str, expected: &str) -> Result<&'a str, InputError> {
    let text = table.need_text(key, expected)?;
    if text.len() > NAME_MAX {
        let what = format!("expected at most {NAME_MAX} bytes, found {}: {}", text.len(), shortened(text));
        return Err(table.wrong(key, what));
    }
    Ok(text)
}

/// Refuses two tables of one kind with the same name.
fn no_name_twice(tables: &[Table<'_>]) -> Result<(), InputError> {
    let mut names = HashSet::new();
    for table in tables {
        let own = name(table)?;
        if !names.insert(own) {
            return Err(table.wrong("name", format!("the name {own:?} is used twice; expected another name")));
        }
    }
    Ok(())
}

/// Whether a name is one of the file, or that with a number behind it.
pub(crate) fn is_numbered(name: &str, of_file: &str) -> bool {
    let number = name.strip_prefix(of_file).map(str::trim_start);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A line and a key of the file that a part of a workload comes from.
#[derive(Clone, Debug)]
struct Place {
    line: usize,
    key: String,
}

impl Place {
    /// The value of a key, or its table if the key is not there.
    fn of_key(table: &Table<'_>, name: &str) -> Self {
        let line = table.get(name).map(|value| table.source().line(value.span().start));
        Place { line: line.or(table.line()).unwrap_or(1), key: table.key(name) }
    }

    /// The element of a table's array that begins at byte `at`.
    fn of_element(table: &Table<'_>, name: &str, at: usize) -> Self {
        Place { line: table.source().line(at), key: table.key(name) }
    }

    /// Returns an error about this place.
    fn error(&self, path: &Path, what: impl Into<String>) -> InputError {
        let Place { line, key } = self.clone();
        InputError { line: Some(line), key: Some(key), ..InputError::new(path, what) }
    }
}
