//! `[[change]]`: what an administrator does during the run: CPUs go offline and online, control groups come, go and get
//! other settings, tasks move between groups.

use super::group::{cpu_max, number};
use super::task::TaskDef;
use super::{is_numbered, short};
use crate::validate::NR_CPUS_MAX;
use crate::{Change, Changed, Group, Task};
use wakelab_input::{InputError, Table, did_you_mean, parse_cpulist};

/// The keys that it may hold.
pub(super) const KEYS: [&str; 11] =
    ["at", "offline", "online", "group", "made", "removed", "weight", "idle", "max", "burst", "task"];

/// A change as the file has it: tasks have no numbers before the load is known.
#[derive(Clone, Debug)]
pub(super) struct ChangeDef {
    at_ns: u64,
    what: Def,
}

#[derive(Clone, Debug)]
enum Def {
    /// It names no task.
    Done(Changed),
    /// All tasks of this `[[task]]` move to the group.
    Move { task: String, group: u32 },
}

impl ChangeDef {
    /// The change in a load with these tasks.
    pub(super) fn of(&self, tasks: &[Task]) -> Change {
        let what = match &self.what {
            Def::Done(what) => what.clone(),
            Def::Move { task, group } => {
                let numbers = (0..).zip(tasks).filter(|(_, of)| is_numbered(&of.name, task)).map(|(number, _)| number);
                Changed::Move { tasks: numbers.collect(), group: *group }
            }
        };
        Change { at_ns: self.at_ns, what }
    }
}

/// Reads all of a file, the earliest first.
pub(super) fn read_all(
    tables: &[Table<'_>],
    groups: &[Group],
    tasks: &[TaskDef],
) -> Result<Vec<ChangeDef>, InputError> {
    let mut changes = tables.iter().map(|table| read(table, groups, tasks)).collect::<Result<Vec<_>, _>>()?;
    changes.sort_by_key(|change| change.at_ns);
    Ok(changes)
}

fn read(table: &Table<'_>, groups: &[Group], tasks: &[TaskDef]) -> Result<ChangeDef, InputError> {
    let Some(at_ns) = table.duration("at")? else {
        return Err(table.missing("at", "when it happens, such as \"500ms\""));
    };
    let kinds = ["offline", "online", "made", "removed", "weight", "idle", "max", "task"];
    let given: Vec<&str> = kinds.into_iter().filter(|key| table.get(key).is_some()).collect();
    let kind = match given[..] {
        [kind] => kind,
        [] => {
            let expected = "`offline` or `online` with CPUs; or `group` with made, removed, weight, idle, max, or a \
                            task to move there";
            return Err(table.missing("offline", expected));
        }
        [first, second, ..] => {
            let what = format!("one change has both {first} and {second}; expected a separate [[change]] for each");
            return Err(table.wrong(second, what));
        }
    };
    let takes_group = !matches!(kind, "offline" | "online");
    if !takes_group && table.get("group").is_some() {
        return Err(table.wrong("group", format!("a change with {kind} concerns no group; remove this key")));
    }
    if kind != "max" && table.get("burst").is_some() {
        return Err(table.wrong("burst", "`burst` needs a quota; set `max` too"));
    }
    let group = match table.text("group")? {
        _ if !takes_group => 0,
        None => return Err(table.missing("group", "the name of a [[group]]")),
        Some("/") if kind == "task" => 0,
        Some("/") => {
            return Err(
                table.wrong("group", "the root group cannot be removed or changed; expected the name of a [[group]]")
            );
        }
        Some(_) => number(table, "group", groups)?,
    };
    let what = match kind {
        "offline" => Def::Done(Changed::Offline { cpus: cpus(table, kind)? }),
        "online" => Def::Done(Changed::Online { cpus: cpus(table, kind)? }),
        "weight" => {
            let weight = table.need_number("weight", &(1..=10_000))? as u32;
            Def::Done(Changed::Weight { group, weight })
        }
        "made" | "removed" if table.flag(kind)? == Some(false) => {
            return Err(table.wrong(kind, "expected true; to undo it, remove the change"));
        }
        "made" => Def::Done(Changed::Make { group }),
        "removed" => Def::Done(Changed::Remove { group }),
        "idle" => Def::Done(Changed::Idle { group, idle: table.flag("idle")?.unwrap_or(false) }),
        "max" => {
            let unlimited = table.any_text("max")? == Some("max");
            if unlimited && table.get("burst").is_some() {
                return Err(table.wrong("burst", "`burst` needs a quota, and `max = \"max\"` is none; remove this key"));
            }
            let max = if unlimited { None } else { cpu_max(table)? };
            Def::Done(Changed::Max { group, max })
        }
        _ => {
            let name = short(table, "task", "the name of a [[task]]")?;
            if !tasks.iter().any(|task| task.name() == name) {
                let names = tasks.iter().map(TaskDef::name);
                let what = format!("there is no task {name:?}; expected the name of a [[task]]");
                return Err(table.wrong("task", what).with_hint_if(did_you_mean(name, names)));
            }
            Def::Move { task: name.to_owned(), group }
        }
    };
    Ok(ChangeDef { at_ns, what })
}

/// CPUs, ascending. The first stays: kernels for x86 cannot take it offline.
fn cpus(table: &Table<'_>, key: &str) -> Result<Vec<u32>, InputError> {
    let text = table.any_text(key)?.unwrap_or_default();
    let mut cpus = parse_cpulist(text, NR_CPUS_MAX).map_err(|what| table.wrong(key, what))?;
    cpus.sort_unstable();
    cpus.dedup();
    match cpus.first() {
        None => Err(table.wrong(key, "the list of CPUs is empty; expected a list such as \"2-3\"")),
        Some(0) => Err(table.wrong(key, "CPU 0 cannot go offline; expected CPUs from 1 on")),
        Some(_) => Ok(cpus),
    }
}
