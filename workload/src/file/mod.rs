//! Workloads from TOML files; docs/workloads.md says what is in one.

mod channel;
mod cpus;
mod duration;
mod header;
mod op;
mod program;
mod table;
mod task;

use crate::error::WorkloadError;
use crate::timeless::timeless_step;
use crate::validate::TIMELESS;
use crate::{Channel, Program, Workload};
use channel::ChannelDef;
use header::Header;
use program::ProgramDef;
use std::path::{Path, PathBuf};
use table::{Source, Table};
use task::TaskDef;

/// A workload's file that was read and is right, as far as that can be said without a machine.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadFile {
    path: PathBuf,
    header: Header,
    channels: Vec<ChannelDef>,
    programs: Vec<Program>,
    tasks: Vec<TaskDef>,
}

impl WorkloadFile {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, WorkloadError> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            Source { path, text: "" }.error(None, None, format!("cannot be read: {e}; expected a workload (.toml)"))
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file; `path` is for messages.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, WorkloadError> {
        let source = Source { path, text };
        let document = source.parse()?;
        let root = Table::root(source, document.get_ref(), &["workload", "channel", "program", "task"])?;

        let header = header::read(&root)?;
        let tables = root.tables("channel", &["name", "capacity", "per_instance"])?;
        let channels = tables.iter().map(channel::read).collect::<Result<Vec<_>, _>>()?;
        no_twice(&tables)?;

        let tables = root.tables("program", &["name", "ops"])?;
        no_twice(&tables)?;
        let channel_names: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
        let names = tables.iter().map(|table| table.need_text("name")).collect::<Result<Vec<_>, _>>()?;
        let defs: Vec<ProgramDef<'_>> =
            tables.iter().map(|table| program::read(table, &channel_names, &names)).collect::<Result<_, _>>()?;
        let programs: Vec<Program> = defs.iter().map(|def| def.program.clone()).collect();
        if !programs.iter().any(program::counts) {
            return Err(root.wrong("program", "no program has the step \"done\"; expected one, it counts the metric"));
        }

        let tables = root.tables("task", &task::KEYS)?;
        no_twice(&tables)?;
        let tasks: Vec<TaskDef> =
            tables.iter().map(|table| task::read(table, &programs, &channels)).collect::<Result<_, _>>()?;
        if tasks.is_empty() {
            return Err(root.missing("task", "one or more [[task]] tables"));
        }

        let runs = |program| tasks.iter().any(|def| def.runs(program, &programs));
        if let Some(unused) = (0..programs.len()).find(|&program| !runs(program)) {
            return Err(defs[unused].wrong_name("no task runs this program, nor forks it; expected one that does"));
        }

        let file = WorkloadFile { path: path.to_owned(), header, channels, programs, tasks };
        match timeless_step(&file.programs, &file.workload(1).tasks) {
            None => Ok(file),
            Some((program, step)) => Err(defs[program].wrong_step(step, TIMELESS)),
        }
    }

    /// Where it was read from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How many tasks so many instances have.
    pub(crate) fn nr_tasks(&self, instances: u32) -> u64 {
        self.tasks.iter().map(|def| def.nr_tasks(instances)).sum()
    }

    /// So many instances of it.
    pub(crate) fn workload(&self, instances: u32) -> Workload {
        let Header { benchmark, case, metric, unit, higher_is_better, load_label, ramp_ns } = self.header.clone();
        let mut channels = Vec::new();
        // Where each channel's copies begin: a shared one has one, the others one for each instance.
        let mut first = Vec::new();
        for def in &self.channels {
            first.push(channels.len() as u32);
            let name = |i: u32| if def.per_instance { format!("{} {i}", def.name) } else { def.name.clone() };
            let copies = if def.per_instance { instances } else { 1 };
            channels.extend((0..copies).map(|i| Channel { name: name(i), capacity: def.capacity }));
        }
        let of = |instance: u32| -> Vec<u32> {
            let copy = |(def, &first): (&ChannelDef, &u32)| if def.per_instance { first + instance } else { first };
            self.channels.iter().zip(&first).map(copy).collect()
        };
        let mut tasks: Vec<_> = self.tasks.iter().flat_map(|def| def.shared(&of(0))).collect();
        for instance in 0..instances {
            let start_ns = ramp_ns * u64::from(instance) / u64::from(instances);
            tasks.extend(self.tasks.iter().flat_map(|def| def.instance(instance, start_ns, &of(instance))));
        }
        tasks.sort_by_key(|task| task.start_ns);
        let load = format!("{instances} {load_label}");
        let programs = self.programs.clone();
        Workload { benchmark, case, load, metric, unit, higher_is_better, programs, channels, tasks, params: vec![] }
    }
}

/// Names tell things apart.
fn no_twice(tables: &[Table<'_>]) -> Result<(), WorkloadError> {
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
