//! Workloads from TOML files; docs/workloads.md says what is in one.

mod cpus;
mod header;
mod make;
mod op;
mod place;
mod program;
mod resource;
mod steps;
mod task;

use crate::error::WorkloadError;
use crate::toml_table::{Source, Table, TomlError};
use crate::validate::NR_CPUS_MAX;
use crate::{Call, Kind, Program};
use header::Header;
use place::Place;
use resource::ResourceDef;
use std::path::{Path, PathBuf};
use steps::Phase;
use task::TaskDef;

/// A workload's file that was read and is right, as far as that can be said without a machine and a load.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadFile {
    path: PathBuf,
    header: Header,
    resources: Vec<ResourceDef>,
    programs: Vec<Program>,
    /// By program: where its steps are.
    places: Vec<Vec<Place>>,
    tasks: Vec<TaskDef>,
}

const KEYS: [&str; 9] =
    ["workload", "channel", "mutex", "condition", "barrier", "spinlock", "phase", "program", "task"];

impl WorkloadFile {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, WorkloadError> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            Source { path, text: "" }
                .error(None, None, format!("cannot be read: {e}; expected a workload (.toml)"))
                .with_hint(Some(crate::error::NO_FILE.to_owned()))
        })?;
        Self::checked(path, &text)
    }

    /// Reads the text of a file and checks one instance of it; `path` is for messages.
    pub(crate) fn checked(path: &Path, text: &str) -> Result<Self, WorkloadError> {
        let file = Self::parse(path, text)?;
        file.named(1, false).validate(NR_CPUS_MAX).map_err(|error| file.locate(error))?;
        Ok(file)
    }

    /// Reads the text of a file; `path` is for messages.
    fn parse(path: &Path, text: &str) -> Result<Self, TomlError> {
        let source = Source { path, text };
        let document = source.parse()?;
        let root = Table::root(source, document.get_ref(), &KEYS)?;

        let header = header::read(&root)?;
        let resources = resource::read_all(&root)?;
        let tables = root.tables("phase", &steps::PHASE_KEYS)?;
        no_twice(&tables)?;
        let phases = tables.iter().cloned().map(Phase::read).collect::<Result<Vec<_>, _>>()?;

        let program_tables = root.tables("program", &program::KEYS)?;
        no_twice(&program_tables)?;
        let names = program_tables.iter().map(|table| table.need_text("name")).collect::<Result<Vec<_>, _>>()?;
        let names = op::Names { resources: &resources, programs: &names };
        let (mut programs, mut places, mut used) = (vec![], vec![], vec![false; phases.len()]);
        for table in &program_tables {
            let (program, at) = program::read(table, names, &phases, &mut used)?;
            if let Some((step, what)) = program::unreachable(&program) {
                return Err(at[step].error(path, format!("step {step} {what}")));
            }
            programs.push(program);
            places.push(at);
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            return Err(tables[unused].wrong("name", "no program has this phase; expected one that does"));
        }
        if !programs.iter().any(program::counts) {
            return Err(root.wrong("program", "no program has the step \"done\"; expected one, it counts the metric"));
        }

        let tables = root.tables("task", &task::KEYS)?;
        no_twice(&tables)?;
        let tasks: Vec<TaskDef> =
            tables.iter().map(|table| task::read(table, &programs, &resources)).collect::<Result<_, _>>()?;
        if tasks.is_empty() {
            return Err(root.missing("task", "one or more [[task]] tables"));
        }
        let runs = |program| tasks.iter().any(|def| def.runs(program, &programs));
        if let Some(unused) = (0..programs.len()).find(|&program| !runs(program)) {
            let what = "no task runs this program, nor forks it; expected one that does";
            return Err(program_tables[unused].wrong("name", what));
        }

        let file = WorkloadFile { path: path.to_owned(), header, resources, programs, places, tasks };
        if !file.by_instance() {
            header::refuse_instances(&root.need_table("workload", &header::KEYS)?)?;
        }
        match file.fixed_barrier() {
            None => Ok(file),
            Some(barrier) => Err(barrier.place.error(
                path,
                "how many tasks meet at this barrier goes by the load; expected no participants, which is all who have it",
            )),
        }
    }

    /// Whether there are tasks for each instance.
    fn by_instance(&self) -> bool {
        self.tasks.iter().any(TaskDef::by_instance)
    }

    /// A barrier with a number of participants at which tasks of all instances meet.
    fn fixed_barrier(&self) -> Option<&ResourceDef> {
        self.resources.iter().enumerate().find_map(|(number, resource)| {
            let meets = |task: &TaskDef| meets(&self.programs[task.program()], number);
            let shared = !resource.per_instance && resource.kind == Kind::Barrier;
            let given = shared && resource.capacity.is_some();
            (given && self.tasks.iter().any(|task| task.by_instance() && meets(task))).then_some(resource)
        })
    }

    /// Where it was read from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the tasks of a program meet at the barrier of that number.
fn meets(program: &Program, number: usize) -> bool {
    let barrier = Call::Barrier { barrier: number as u32 };
    program.ops.iter().any(|op| op.call() == Some(barrier))
}

/// Names tell things apart.
fn no_twice(tables: &[Table<'_>]) -> Result<(), TomlError> {
    for (i, table) in tables.iter().enumerate() {
        let name = table.need_text("name")?;
        for before in &tables[..i] {
            if before.need_text("name")? == name {
                return Err(table.wrong("name", format!("{name:?} comes twice; expected another name")));
            }
        }
    }
    Ok(())
}
