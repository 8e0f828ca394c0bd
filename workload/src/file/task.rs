//! `[[task]]`.

use super::channel::ChannelDef;
use super::cpus;
use super::op::named;
use super::table::Table;
use crate::error::WorkloadError;
use crate::timeless::with_children;
use crate::{Load, Op, Program, Task};

pub(super) const KEYS: [&str; 8] = ["name", "program", "count", "per_instance", "start", "nice", "policy", "cpus"];

/// How many tasks there are of one description.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// So many, whatever the load.
    Count(u32),
    /// So many for each instance.
    PerInstance(u32),
}

/// Tasks of one description.
#[derive(Clone, Debug)]
pub(super) struct TaskDef {
    number: Number,
    /// The first of them.
    task: Task,
}

impl TaskDef {
    /// Whether these tasks or their children run a program.
    pub(super) fn runs(&self, program: usize, programs: &[Program]) -> bool {
        with_children(self.task.program as usize, programs).contains(&program)
    }

    /// How many tasks this is.
    pub(super) fn nr_tasks(&self, instances: u32) -> u64 {
        match self.number {
            Number::Count(count) => u64::from(count),
            Number::PerInstance(number) => u64::from(number) * u64::from(instances),
        }
    }

    /// Those that are there whatever the load.
    pub(super) fn shared(&self, channels: &[u32]) -> Vec<Task> {
        let Number::Count(count) = self.number else { return vec![] };
        (0..count).map(|i| self.task(i, 0, channels)).collect()
    }

    /// Those of an instance.
    pub(super) fn instance(&self, instance: u32, start_ns: u64, channels: &[u32]) -> Vec<Task> {
        let Number::PerInstance(number) = self.number else { return vec![] };
        (0..number).map(|i| self.task(instance * number + i, start_ns, channels)).collect()
    }

    fn task(&self, i: u32, start_ns: u64, channels: &[u32]) -> Task {
        let task = self.task.clone();
        let name = format!("{} {i}", task.name);
        Task { name, start_ns: task.start_ns + start_ns, channels: channels.to_vec(), ..task }
    }
}

/// Reads tasks, which run one of these programs and have these channels.
pub(super) fn read(table: &Table<'_>, programs: &[Program], channels: &[ChannelDef]) -> Result<TaskDef, WorkloadError> {
    let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    let program = named(table, "program", "program", &names)?;
    let most = i64::from(Load::INSTANCES_MAX);
    let number = match (table.number("count", 1, most)?, table.number("per_instance", 1, 1_000)?) {
        (Some(_), Some(_)) => {
            let what = "both count and per_instance are given; expected count for tasks whatever the load, per_instance \
                        for those of each instance";
            return Err(table.wrong("count", what));
        }
        (Some(count), None) => Number::Count(count as u32),
        (None, per_instance) => Number::PerInstance(per_instance.unwrap_or(1) as u32),
    };
    if let (Number::Count(_), Some(channel)) = (number, own_channel(program as usize, programs, channels)) {
        let what = format!(
            "count tasks belong to no instance, and channel {:?} is one for each; expected per_instance = false there, or \
             per_instance here",
            channel.name
        );
        return Err(table.wrong("count", what));
    }
    let idle_policy = match table.text("policy")? {
        None | Some("normal") => false,
        Some("idle") => true,
        Some(other) => {
            return Err(table.wrong("policy", format!("expected \"normal\" or \"idle\", found {other:?}")));
        }
    };
    let affinity = match table.get("cpus").map(|value| value.get_ref().as_str()) {
        None => None,
        Some(Some(text)) => Some(cpus::parse(text).map_err(|what| table.wrong("cpus", what))?),
        Some(None) => return Err(table.wrong("cpus", "expected a list of CPUs in quotes, such as \"0-3,8\"")),
    };
    let task = Task {
        name: table.need_text("name")?.to_owned(),
        program,
        channels: vec![],
        start_ns: table.duration("start")?.unwrap_or(0),
        nice: table.number("nice", -20, 19)?.unwrap_or(0) as i8,
        idle_policy,
        affinity,
    };
    Ok(TaskDef { number, task })
}

/// A channel that a program or its children use and of which each instance has its own.
fn own_channel<'a>(program: usize, programs: &[Program], channels: &'a [ChannelDef]) -> Option<&'a ChannelDef> {
    let all = with_children(program, programs);
    all.iter().flat_map(|&program| &programs[program].ops).find_map(|op| match *op {
        Op::Send { channel, .. } | Op::Recv { channel } => {
            Some(&channels[channel as usize]).filter(|channel| channel.per_instance)
        }
        _ => None,
    })
}
