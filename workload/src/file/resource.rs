//! `[[channel]]`, `[[mutex]]`, `[[condition]]`, `[[barrier]]`.

use super::place::Place;
use crate::Kind;
use crate::near::did_you_mean;
use crate::toml_table::{Table, TomlError};

/// A resource, or one for each instance.
#[derive(Clone, Debug)]
pub(super) struct ResourceDef {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// As in [`crate::Channel`]; `None` for a barrier of all tasks that have it.
    pub(super) capacity: Option<u32>,
    pub(super) per_instance: bool,
    pub(super) place: Place,
}

/// Reads all of them, in the order in which steps number them.
pub(super) fn read_all(root: &Table<'_>) -> Result<Vec<ResourceDef>, TomlError> {
    let mut resources: Vec<ResourceDef> = Vec::new();
    for (kind, keys) in [
        (Kind::Channel, &["name", "capacity", "per_instance"][..]),
        (Kind::Mutex, &["name", "per_instance"]),
        (Kind::Condition, &["name", "per_instance"]),
        (Kind::Barrier, &["name", "participants", "per_instance"]),
        (Kind::Spinlock, &["name", "per_instance"]),
    ] {
        for table in root.tables(kind.name(), keys)? {
            let resource = read(kind, &table)?;
            if resources.iter().any(|other| other.name == resource.name) {
                return Err(table.wrong("name", format!("{:?} comes twice; expected another name", resource.name)));
            }
            resources.push(resource);
        }
    }
    Ok(resources)
}

fn read(kind: Kind, table: &Table<'_>) -> Result<ResourceDef, TomlError> {
    let number = |name| Ok::<_, TomlError>(table.number(name, 1, i64::from(u32::MAX))?.map(|number| number as u32));
    let name = table.need_text("name")?.to_owned();
    let capacity = match kind {
        Kind::Channel => Some(number("capacity")?.ok_or_else(|| table.missing("capacity", "capacity = 8"))?),
        Kind::Barrier => number("participants")?,
        Kind::Mutex | Kind::Condition | Kind::List | Kind::Spinlock => Some(1),
    };
    let key = if table.get("participants").is_some() { "participants" } else { "name" };
    let place = Place::of_key(table, key);
    Ok(ResourceDef { name, kind, capacity, per_instance: table.flag("per_instance")?.unwrap_or(true), place })
}

/// The number of the resource that a step names under `key`, which is to be of that kind.
pub(super) fn named(table: &Table<'_>, key: &str, kind: Kind, all: &[ResourceDef]) -> Result<u32, TomlError> {
    let name = table.need_text(key)?;
    if let Some(index) = all.iter().position(|resource| resource.name == name) {
        let found = all[index].kind;
        return if found == kind {
            Ok(index as u32)
        } else {
            Err(table.wrong(key, format!("{name:?} is a {}; expected a {}", found.name(), kind.name())))
        };
    }
    let names: Vec<&str> = all.iter().filter(|other| other.kind == kind).map(|other| other.name.as_str()).collect();
    Err(unknown(table, key, kind.name(), name, &names))
}

/// Nothing of that kind has that name.
pub(super) fn unknown(table: &Table<'_>, key: &str, kind: &str, name: &str, names: &[&str]) -> TomlError {
    let known = if names.is_empty() { format!("a [[{kind}]] of that name") } else { names.join(", ") };
    let hint = did_you_mean(name, names.iter().copied());
    table.wrong(key, format!("there is no {kind} {name:?}; expected {known}")).with_hint(hint)
}
