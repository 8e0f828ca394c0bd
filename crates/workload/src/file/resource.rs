//! `[[channel]]`, `[[mutex]]`, `[[condition]]`, `[[barrier]]`, `[[semaphore]]`, `[[workqueue]]`, `[[spinlock]]`.

use super::step::Names;
use super::{Place, name};
use crate::{ChannelCosts, Kind};
use std::collections::HashSet;
use wakelab_input::{InputError, Table, did_you_mean};

/// A resource, or one for each instance.
#[derive(Clone, Debug)]
pub(super) struct ResourceDef {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// As in [`crate::Channel`]; `None` for a barrier of all tasks that have it.
    pub(super) capacity: Option<u32>,
    pub(super) costs: ChannelCosts,
    pub(super) per_instance: bool,
    pub(super) place: Place,
}

/// Reads all resources, in the order in which steps number them.
pub(super) fn read_all(root: &Table<'_>) -> Result<Vec<ResourceDef>, InputError> {
    let (mut resources, mut names) = (Vec::<ResourceDef>::new(), HashSet::new());
    for (kind, keys) in [
        (Kind::Channel, &["name", "capacity", "per_instance", "own_lines", "message_lines", "waited"][..]),
        (Kind::Mutex, &["name", "per_instance"]),
        (Kind::Condition, &["name", "per_instance"]),
        (Kind::Barrier, &["name", "participants", "per_instance"]),
        (Kind::Semaphore, &["name", "count", "per_instance"]),
        (Kind::Workqueue, &["name", "items", "per_instance"]),
        (Kind::Spinlock, &["name", "per_instance"]),
    ] {
        for table in root.tables(kind.name(), keys)? {
            let resource = read(kind, &table)?;
            if !names.insert(resource.name.clone()) {
                return Err(
                    table.wrong("name", format!("the name {:?} is used twice; expected another name", resource.name))
                );
            }
            resources.push(resource);
        }
    }
    Ok(resources)
}

fn read(kind: Kind, table: &Table<'_>) -> Result<ResourceDef, InputError> {
    const COUNT: std::ops::RangeInclusive<u64> = 1..=u32::MAX as u64;
    let name = name(table)?.to_owned();
    let capacity = match kind {
        Kind::Channel => Some(table.need_number("capacity", &COUNT)? as u32),
        Kind::Barrier => table.number("participants", &COUNT)?.map(|tasks| tasks as u32),
        Kind::Semaphore => Some(table.number("count", &(0..=*COUNT.end()))?.map_or(1, |count| count as u32)),
        Kind::Workqueue => Some(table.number("items", &COUNT)?.map_or(1, |items| items as u32)),
        Kind::Mutex | Kind::Condition | Kind::List | Kind::Spinlock => Some(1),
    };
    let costs = if kind == Kind::Channel { costs(table)? } else { ChannelCosts::default() };
    let key = if table.get("participants").is_some() { "participants" } else { "name" };
    let place = Place::of_key(table, key);
    // The kernel has its workqueues for all.
    let per_instance = table.flag("per_instance")?.unwrap_or(kind != Kind::Workqueue);
    Ok(ResourceDef { name, kind, capacity, costs, per_instance, place })
}

fn costs(table: &Table<'_>) -> Result<ChannelCosts, InputError> {
    const PCT: std::ops::RangeInclusive<u64> = 0..=ChannelCosts::MAX_PCT as u64;
    let usual = ChannelCosts::default();
    let pct = |key, usual| Ok::<u32, InputError>(table.number(key, &PCT)?.map_or(usual, |pct| pct as u32));
    Ok(ChannelCosts {
        own_lines_pct: pct("own_lines", usual.own_lines_pct)?,
        message_lines_pct: pct("message_lines", usual.message_lines_pct)?,
        waited_ns: table.duration("waited")?.unwrap_or(usual.waited_ns),
    })
}

/// Returns the number of the resource that a step names under `key`, which must be of that kind.
pub(super) fn named(table: &Table<'_>, key: &str, kind: Kind, names: &Names<'_>) -> Result<u32, InputError> {
    let all = names.resources;
    let name = table.need_text(key, &format!("the name of a {} in quotes", kind.name()))?;
    if let Some(index) = names.resource(name) {
        let found = all[index as usize].kind;
        return if found == kind {
            Ok(index)
        } else {
            Err(table.wrong(key, format!("{name:?} is a {}; expected a {}", found.name(), kind.name())))
        };
    }
    let names: Vec<&str> = all.iter().filter(|other| other.kind == kind).map(|other| other.name.as_str()).collect();
    Err(unknown(table, key, kind.name(), name, &names))
}

/// Returns the error that nothing of that kind has that name.
pub(super) fn unknown(table: &Table<'_>, key: &str, kind: &str, name: &str, names: &[&str]) -> InputError {
    let known = if names.is_empty() { format!("a `[[{kind}]]` of that name") } else { names.join(", ") };
    let hint = did_you_mean(name, names.iter().copied());
    table.wrong(key, format!("there is no {kind} {name:?}; expected {known}")).with_hint_if(hint)
}
