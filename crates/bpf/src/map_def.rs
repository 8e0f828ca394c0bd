//! The maps of an object: those that BTF defines (`SEC(".maps")`; `parse_btf_map_def()` of libbpf), and the sections of
//! global data, each a map of one value.

use crate::btf::{Btf, Kind};
use crate::budget::Budget;
use crate::error::LoadError;
use crate::image::{Map, MapKind, Variable};
use crate::object::{Holds, Object, Section};

/// How many members of a variable are told by name.
const MEMBERS_MAX: usize = 4096;
/// How deep members may be in each other.
const DEPTH_MAX: u32 = 16;

/// A map as its section defines it.
pub(crate) struct MapDef {
    pub(crate) map: Map,
    /// The section, and where the definition is in it, bytes.
    pub(crate) section: usize,
    pub(crate) offset: u32,
    /// Where the values are in the definition, bytes, of those that have some from the beginning.
    pub(crate) values: Option<u32>,
}

/// The cost of a map's definition.
const MAP_COST: u64 = 1024;

/// The cost of a variable or a member besides its name.
const MEMBER_COST: u64 = 96;

/// All maps of an object: those of `.maps`, then the sections of global data. An arena has its section's data.
pub(crate) fn maps(object: &Object, budget: &Budget) -> Result<Vec<MapDef>, Vec<String>> {
    let mut defs = Vec::new();
    let mut problems = Vec::new();
    for (number, section) in &object.sections {
        if section.holds == Holds::Maps {
            for (name, kind, offset, _) in object.variables(&section.name) {
                budget.charge(MAP_COST, "maps").map_err(|error| error.problems)?;
                match map_def(&object.btf, kind, true, budget) {
                    Ok((map, values)) => {
                        let map = Map { name: name.to_string(), ..map };
                        defs.push(MapDef { map, section: *number, offset, values });
                    }
                    Err(problem) => problems.push(format!("map {name}: {problem}")),
                }
            }
        }
    }
    for (number, section) in &object.sections {
        match section.holds {
            Holds::Data { read_only } if section.size > 0 => {
                if let Some((at, symbol)) = section.relocations.first() {
                    let symbol = object.symbols.get(symbol).map_or("?", |symbol| symbol.name.as_str());
                    let text = "an address in global data, which loaders do not fill in";
                    problems.push(format!("section {}: {symbol} at {at}: {text}", section.name));
                }
                budget.charge(section.size as u64, "global data").map_err(|error| error.problems)?;
                let variables = variables(object, section, budget).map_err(|error| error.problems)?;
                let map = Map {
                    data: bytes(section),
                    variables,
                    read_only,
                    ..Map::new(section.name.clone(), MapKind::Array, 4, section.size as u32, 1)
                };
                defs.push(MapDef { map, section: *number, offset: 0, values: None });
            }
            Holds::Arena => match defs.iter_mut().find(|def| def.map.kind == MapKind::Arena) {
                Some(def) => {
                    budget.charge(section.size as u64, "global data").map_err(|error| error.problems)?;
                    def.map.data = bytes(section);
                    def.map.variables = variables(object, section, budget).map_err(|error| error.problems)?;
                }
                None => {
                    problems.push(format!("section {}: data of an arena, but the object has no arena", section.name))
                }
            },
            _ => {}
        }
    }
    if problems.is_empty() { Ok(defs) } else { Err(problems) }
}

/// The bytes of a section, which may be many zeros.
fn bytes(section: &Section) -> Vec<u8> {
    if section.data.is_empty() { vec![0; section.size] } else { section.data.clone() }
}

fn variables(object: &Object, section: &Section, budget: &Budget) -> Result<Vec<Variable>, LoadError> {
    let variables = object.variables(&section.name).into_iter();
    variables.map(|(name, kind, offset, size)| variable(&object.btf, name, kind, (offset, size), budget)).collect()
}

/// A variable of the type `kind`, at an offset and so long, bytes.
pub(crate) fn variable(
    btf: &Btf,
    name: &str,
    kind: u32,
    (offset, size): (u32, u32),
    budget: &Budget,
) -> Result<Variable, LoadError> {
    budget.charge(MEMBER_COST + name.len() as u64, "variables")?;
    let mut of = kind;
    let mut element = size;
    let mut members = Vec::new();
    if let Kind::Array { element: inner, len, .. } = btf.kind(kind) {
        // `const volatile u32 x[]` has its length from the section.
        let bytes = btf.size(*inner).and_then(|bytes| u32::try_from(bytes).ok());
        element = bytes.unwrap_or(if *len > 0 { size / len } else { size });
        of = *inner;
    }
    add_members(btf, of, ("", 0), DEPTH_MAX, &mut members, budget)?;
    let mut scalar = of;
    for _ in 0..DEPTH_MAX {
        let Kind::Array { element, .. } = btf.kind(scalar) else { break };
        scalar = *element;
    }
    Ok(Variable { name: name.to_string(), offset, size, members, element, signed: btf.is_signed(scalar) })
}

/// Adds the members of a type, or the elements of an array, with what is in them. What is before their names, and where
/// the type begins, comes with it.
fn add_members(
    btf: &Btf,
    kind: u32,
    (prefix, base): (&str, u32),
    depth: u32,
    members: &mut Vec<(String, u32, u32)>,
    budget: &Budget,
) -> Result<(), LoadError> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let mut add = |name: String, kind: u32, offset: u32| -> Result<(), LoadError> {
        let size = btf.size(kind).and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
        if members.len() < MEMBERS_MAX {
            budget.charge(MEMBER_COST + name.len() as u64, "variables")?;
            members.push((name.clone(), offset, size));
            add_members(btf, kind, (&name, offset), depth, members, budget)?;
        }
        Ok(())
    };
    match btf.kind(kind) {
        Kind::Array { element, .. } => add(format!("{prefix}[]"), *element, base)?,
        Kind::Struct(composite) | Kind::Union(composite) => {
            let mut unnamed = Vec::new();
            for member in &composite.members {
                // Those without a name, and those that are too many, cost as well.
                budget.charge(16, "variables")?;
                let Some(offset) = base.checked_add(member.bit_offset / 8) else { continue };
                let name = btf.string(member.name);
                // A bit-field has no bytes of its own.
                if !name.is_empty() && member.bit_size == 0 {
                    let dot = if prefix.is_empty() { "" } else { "." };
                    add(format!("{prefix}{dot}{name}"), member.kind, offset)?;
                } else if name.is_empty() {
                    unnamed.push((member.kind, offset));
                }
            }
            for (kind, offset) in unnamed {
                add_members(btf, kind, (prefix, offset), depth, members, budget)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A map's definition, and where its values are. `outer`: it is not itself the value of a map of maps.
fn map_def(btf: &Btf, kind: u32, outer: bool, budget: &Budget) -> Result<(Map, Option<u32>), String> {
    let Kind::Struct(composite) = btf.kind(kind) else {
        return Err(format!("{}; expected a struct that defines a map", btf.describe(kind)));
    };
    let mut number = 0;
    let mut values = None;
    let mut map = Map::new("", MapKind::Other(0), 0, 0, 0);
    for member in &composite.members {
        budget.charge(64, "maps").map_err(|error| error.to_string())?;
        let name = btf.string(member.name);
        let field = || field(btf, member.kind).ok_or_else(|| format!("{name}: expected a number, as from `__uint`"));
        let size = || -> Result<u32, String> {
            let Kind::Ptr(to) = *btf.kind(member.kind) else { return Err(format!("{name}: expected a pointer")) };
            let size = btf.size(to).and_then(|size| u32::try_from(size).ok());
            size.ok_or_else(|| format!("{name}: {} has no size", btf.describe(to)))
        };
        match name {
            "type" => number = field()?,
            "max_entries" => map.max_entries = field()?,
            "map_flags" => map.flags = field()?,
            "key_size" => map.key_size = field()?,
            "value_size" => map.value_size = field()?,
            "key" => map.key_size = size()?,
            "value" => map.value_size = size()?,
            "values" => {
                let Kind::Array { element, .. } = *btf.kind(member.kind) else {
                    return Err("values: expected an array, as from `__array`".to_string());
                };
                let Kind::Ptr(to) = *btf.kind(element) else { return Err("values: expected pointers".to_string()) };
                values = Some(member.bit_offset / 8);
                map.key_size = if map.key_size == 0 { 4 } else { map.key_size };
                map.value_size = 4;
                if !matches!(btf.kind(to), Kind::FuncProto { .. }) {
                    if !outer {
                        return Err("values: maps of maps of maps, which the kernel does not support".to_string());
                    }
                    let (inner, _) = map_def(btf, to, false, budget).map_err(|problem| format!("values: {problem}"))?;
                    map.inner = Some(Box::new(inner));
                }
            }
            // Where user space pins it, the node of its memory, and a hint for its addresses.
            "pinning" | "numa_node" | "map_extra" => {}
            _ => {
                return Err(format!(
                    "{name}; expected type, max_entries, map_flags, key, value, values, map_extra, ..."
                ));
            }
        }
    }
    map.kind = map_kind(number);
    Ok((map, values))
}

/// The number of a member that `__uint`, an array's length, or `__ulong`, an enumeration's constant, defines
/// (`get_map_field_int()`, `get_map_field_long()`).
fn field(btf: &Btf, kind: u32) -> Option<u32> {
    match btf.kind(kind) {
        Kind::Ptr(to) => match btf.kind(*to) {
            Kind::Array { len, .. } => Some(*len),
            _ => None,
        },
        Kind::Enum { values, .. } => values.first().map(|(_, value)| *value as u32),
        _ => None,
    }
}

/// The kind of a number of `enum bpf_map_type`.
fn map_kind(number: u32) -> MapKind {
    match number {
        1 => MapKind::Hash,
        2 => MapKind::Array,
        3 => MapKind::ProgArray,
        4 => MapKind::PerfEventArray,
        5 => MapKind::PercpuHash,
        6 => MapKind::PercpuArray,
        9 | 10 => MapKind::LruHash,
        11 => MapKind::LpmTrie,
        12 => MapKind::ArrayOfMaps,
        13 => MapKind::HashOfMaps,
        22 => MapKind::Queue,
        23 => MapKind::Stack,
        27 => MapKind::Ringbuf,
        29 => MapKind::TaskStorage,
        31 => MapKind::UserRingbuf,
        32 => MapKind::CgrpStorage,
        33 => MapKind::Arena,
        other => MapKind::Other(other),
    }
}
