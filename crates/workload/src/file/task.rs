//! `[[task]]`: which programs run, how often, and on which CPUs.

use super::resource::ResourceDef;
use super::step::{Names, Policy, policy, program as program_named, uclamp};
use super::{Place, name, short};
use crate::validate::{NR_CPUS_MAX, with_children};
use crate::{Group, Load, Op, Program, Realtime, Task};
use std::collections::HashMap;
use std::sync::Arc;
use wakelab_input::{InputError, Table, parse_cpulist};

pub(super) const KEYS: [&str; 18] = [
    "name",
    "program",
    "count",
    "per_instance",
    "start",
    "nice",
    "policy",
    "slice",
    "cpus",
    "process",
    "footprint_kib",
    "uclamp_min",
    "uclamp_max",
    "priority",
    "runtime",
    "deadline",
    "period",
    "group",
];

/// How many tasks there are of one description.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// A fixed number, whatever the load.
    Count(u32),
    /// A number for each instance.
    PerInstance(u32),
}

/// Tasks of one description.
#[derive(Clone, Debug)]
pub(super) struct TaskDef {
    number: Number,
    /// The first of them.
    task: Task,
    /// The name of the process that they are threads of.
    process: Option<String>,
    pub(super) place: Place,
}

impl TaskDef {
    /// Their name in the file.
    pub(super) fn name(&self) -> &str {
        &self.task.name
    }

    /// Index of their program.
    pub(super) fn program(&self) -> usize {
        self.task.program as usize
    }

    /// The name of their process, if the file gives one.
    pub(super) fn process(&self) -> Option<&str> {
        self.process.as_deref()
    }

    /// Whether there are some for each instance.
    pub(super) fn by_instance(&self) -> bool {
        matches!(self.number, Number::PerInstance(_))
    }

    /// How many tasks this is.
    pub(super) fn nr_tasks(&self, instances: u32) -> u64 {
        match self.number {
            Number::Count(count) => u64::from(count),
            Number::PerInstance(number) => u64::from(number) * u64::from(instances),
        }
    }

    /// Those that are there whatever the load.
    pub(super) fn shared(&self, channels: &Arc<[u32]>, process: Option<u32>, numbered: bool) -> Vec<Task> {
        let Number::Count(count) = self.number else { return vec![] };
        (0..count).map(|i| Task { process, ..self.task(numbered.then_some(i), 0, channels) }).collect()
    }

    /// Those of an instance.
    pub(super) fn instance(
        &self,
        instance: u32,
        start_ns: u64,
        channels: &Arc<[u32]>,
        process: Option<u32>,
        numbered: bool,
    ) -> Vec<Task> {
        let Number::PerInstance(number) = self.number else { return vec![] };
        let name = |i| numbered.then_some(instance * number + i);
        (0..number).map(|i| Task { process, ..self.task(name(i), start_ns, channels) }).collect()
    }

    fn task(&self, i: Option<u32>, start_ns: u64, channels: &Arc<[u32]>) -> Task {
        let task = self.task.clone();
        let name = i.map_or_else(|| task.name.clone(), |i| format!("{} {i}", task.name));
        Task { name, start_ns: task.start_ns + start_ns, channels: Arc::clone(channels), ..task }
    }
}

/// Reads tasks, which run one of the programs and have the resources of these names.
pub(super) fn read(
    table: &Table<'_>,
    names: &Names<'_>,
    own: &mut OwnResources<'_>,
    groups: &[Group],
) -> Result<TaskDef, InputError> {
    let program = program_named(table, "program", names)?;
    let counts = 1..=u64::from(Load::INSTANCES_MAX);
    let number = match (table.number("count", &counts)?, table.number("per_instance", &(1..=1_000))?) {
        (Some(_), Some(_)) => {
            let what = "give `count` or `per_instance`, not both: `count` for tasks that every load has, \
                        `per_instance` for tasks of each instance";
            return Err(table.wrong("count", what));
        }
        (Some(count), None) => Number::Count(count as u32),
        (None, per_instance) => Number::PerInstance(per_instance.unwrap_or(1) as u32),
    };
    if let (Number::Count(_), Some(own)) = (number, own.of(program as usize)) {
        let what = format!(
            "tasks with a `count` belong to no instance, but each instance has its own {} {:?}; set per_instance = \
             false there, or use `per_instance` here",
            own.kind.name(),
            own.name
        );
        return Err(table.wrong("count", what));
    }
    let group = super::group::number(table, "group", groups)?;
    let of_group = groups.get((group as usize).wrapping_sub(1));
    let [uclamp_min, uclamp_max] = uclamp(table)?;
    let policy = policy(table)?.unwrap_or(Policy::Normal);
    let realtime = policy.realtime(table)?;
    if matches!(realtime, Some(Realtime::Deadline(_))) && table.get("cpus").is_some() {
        let what = "sched_setattr() gives SCHED_DEADLINE only to tasks that may use all CPUs (EPERM otherwise); remove \
                    `cpus`";
        return Err(table.wrong("cpus", what));
    }
    if matches!(realtime, Some(Realtime::Deadline(_))) && of_group.is_some_and(|group| group.cpus.is_some()) {
        let what = "sched_setattr() gives SCHED_DEADLINE only to tasks that may use all CPUs (EPERM otherwise); \
                    expected a group without `cpus`";
        return Err(table.wrong("group", what));
    }
    let task = Task {
        name: name(table)?.to_owned(),
        program,
        channels: Arc::default(),
        start_ns: table.duration("start")?.unwrap_or(0),
        parent: None,
        nice: table.signed("nice", &(-20..=19))?.unwrap_or(0) as i8,
        idle_policy: policy == Policy::Idle,
        slice_ns: table.duration("slice")?.unwrap_or(0),
        affinity: super::group::within_cpuset(table, of_group, affinity(table)?)?,
        process: None,
        footprint: 1024 * table.number("footprint_kib", &(0..=1 << 40))?.unwrap_or(0),
        uclamp_min,
        uclamp_max,
        realtime,
        group,
    };
    let process = match table.text("process")? {
        None if task.footprint != 0 => {
            let what = "only processes of several threads have their size read; set `process` too";
            return Err(table.wrong("footprint_kib", what));
        }
        None => None,
        Some(_) => Some(short(table, "process", "a name in quotes")?.to_owned()),
    };
    let key = if table.get("cpus").is_some() { "cpus" } else { "name" };
    Ok(TaskDef { number, task, process, place: Place::of_key(table, key) })
}

/// The CPUs that tasks may use, ascending, each once; `None` for all.
pub(super) fn affinity(table: &Table<'_>) -> Result<Option<Vec<u32>>, InputError> {
    let Some(list) = table.any_text("cpus")? else { return Ok(None) };
    let mut cpus = parse_cpulist(list, NR_CPUS_MAX).map_err(|what| table.wrong("cpus", what))?;
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Some(cpus))
}

/// By program: a resource that it or its children use and of which each instance has its own.
pub(super) struct OwnResources<'a> {
    programs: &'a [Program],
    resources: &'a [ResourceDef],
    /// Those of the programs that were asked for.
    known: HashMap<usize, Option<&'a ResourceDef>>,
}

impl<'a> OwnResources<'a> {
    pub(super) fn new(programs: &'a [Program], resources: &'a [ResourceDef]) -> Self {
        OwnResources { programs, resources, known: HashMap::new() }
    }

    fn of(&mut self, program: usize) -> Option<&'a ResourceDef> {
        let (programs, resources) = (self.programs, self.resources);
        *self.known.entry(program).or_insert_with(|| {
            let all = with_children(program, programs);
            let mut used = all.iter().flat_map(|&program| &programs[program].ops).flat_map(Op::resources);
            used.find_map(|(number, _)| Some(&resources[number as usize]).filter(|resource| resource.per_instance))
        })
    }
}
