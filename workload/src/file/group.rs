//! `[[group]]`: control groups of the CPU controller.

use super::{name, no_name_twice};
use crate::Group;
use wakelab_input::{InputError, Table};

pub(super) const KEYS: [&str; 9] =
    ["name", "parent", "weight", "idle", "max", "burst", "cpus", "uclamp_min", "uclamp_max"];

/// Why a key is refused.
const NOT_MODELLED: [(&str, &str); 5] = [
    ("max", "bandwidth control is not modelled; expected no `max`, and a lower `weight` where that is what is meant"),
    ("burst", "bandwidth control is not modelled; expected no `burst`"),
    ("cpus", "cpusets are not modelled; expected `cpus` in each of the group's [[task]] tables"),
    ("uclamp_min", "clamps of groups are not modelled; expected no `uclamp_min`"),
    ("uclamp_max", "clamps of groups are not modelled; expected no `uclamp_max`"),
];

/// Reads the groups of a file. Those above come before those in them.
pub(super) fn read_all(tables: &[Table<'_>]) -> Result<Vec<Group>, InputError> {
    no_name_twice(tables)?;
    let mut groups: Vec<Group> = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        if let Some((key, what)) = NOT_MODELLED.iter().find(|(key, _)| table.get(key).is_some()) {
            return Err(table.wrong(key, *what));
        }
        let own = name(table)?;
        if let Some(parent) = table.text("parent")? {
            let later = |table: &Table<'_>| matches!(name(table), Ok(name) if name == parent);
            if parent == own {
                return Err(
                    table.wrong("parent", format!("{own:?} is in itself; expected another group, or no parent"))
                );
            }
            if tables[at + 1..].iter().any(later) {
                let what = format!(
                    "{parent:?} comes later in the file; expected a group further up, so that none is in itself"
                );
                return Err(table.wrong("parent", what));
            }
        }
        let idle = table.flag("idle")?.unwrap_or(false);
        if idle && table.get("weight").is_some() {
            let what = "a group with idle = true has no weight of its own; expected one of both";
            return Err(table.wrong("weight", what));
        }
        groups.push(Group {
            name: own.to_owned(),
            parent: number(table, "parent", &groups)?,
            weight: table.number("weight", &(1..=10_000))?.unwrap_or(100) as u32,
            idle,
        });
    }
    Ok(groups)
}

/// The number of the group that a key names, from 1; 0 without the key.
pub(super) fn number(table: &Table<'_>, key: &str, groups: &[Group]) -> Result<u32, InputError> {
    let Some(group) = table.text(key)? else { return Ok(0) };
    let found = groups.iter().zip(1..).find(|(known, _)| known.name == group);
    found.map(|(_, number)| number).ok_or_else(|| {
        let names: Vec<String> = groups.iter().map(|known| format!("{:?}", known.name)).collect();
        let expected = match names.is_empty() {
            true => "a [[group]] of that name, of which the file has none".to_owned(),
            false => format!("one of {}", names.join(", ")),
        };
        table.wrong(key, format!("there is no group {group:?}; expected {expected}"))
    })
}
