//! Instances of kernel structs of functions (`SEC(".struct_ops.link")`): `struct sched_ext_ops` of a scheduler.

use crate::btf::{Kind, essential};
use crate::budget::Budget;
use crate::image::{Member, StructOps};
use crate::object::{Holds, Object};
use std::collections::BTreeMap;

/// All instances of an object. The number of a program is its place in [`Object::functions`]; the caller makes it that
/// of an image.
pub(crate) fn struct_ops(object: &Object, budget: &Budget) -> Result<Vec<StructOps>, Vec<String>> {
    let mut all = Vec::new();
    let mut problems = Vec::new();
    let btf = &object.btf;
    for section in object.sections.values().filter(|section| section.holds == Holds::StructOps) {
        let programs: BTreeMap<u64, usize> = section.relocations.iter().copied().collect();
        for (name, kind, offset, _) in object.variables(&section.name) {
            let type_id = btf.skip(kind);
            let Kind::Struct(composite) = &btf.get(type_id).kind else {
                problems.push(format!("{name}: {}; expected a struct of functions", btf.describe(kind)));
                continue;
            };
            let type_name = essential(btf.name_of(type_id)).to_string();
            let mut members = Vec::new();
            for member in &composite.members {
                if let Err(error) = budget.charge(1024, "structs of functions") {
                    return Err(error.problems);
                }
                let member_name = essential(btf.string(member.name)).to_string();
                let at = u64::from(offset) + u64::from(member.bit_offset / 8);
                let size = btf.size(member.kind).unwrap_or(0);
                // A member can be as long as the section, and there can be many.
                if let Err(error) = budget.charge(size.min(section.size as u64), "structs of functions") {
                    return Err(error.problems);
                }
                let bytes = || {
                    let from = usize::try_from(at).ok()?;
                    section.data.get(from..from.checked_add(usize::try_from(size).ok()?)?)
                };
                let Some(bytes) = bytes() else {
                    problems.push(format!("{name}.{member_name}: {size} bytes at {at} are beyond {}", section.name));
                    continue;
                };
                if let Some(symbol) = programs.get(&at) {
                    match program(object, *symbol) {
                        Some(program) => members.push((member_name, Member::Program(program))),
                        None => problems.push(format!("{name}.{member_name}: expected a program")),
                    }
                    continue;
                }
                if bytes.iter().all(|byte| *byte == 0) {
                    continue;
                }
                let number = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
                match btf.kind(member.kind) {
                    Kind::Array { element, .. } if btf.size(*element) == Some(1) => {
                        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                        if let Err(error) = budget.charge(bytes.len() as u64, "structs of functions") {
                            return Err(error.problems);
                        }
                        members.push((member_name, Member::Text(String::from_utf8_lossy(text).into_owned())));
                    }
                    Kind::Int { .. } | Kind::Enum { .. } | Kind::Ptr(_) if size <= 8 && member.bit_size == 0 => {
                        members.push((member_name, Member::Number(number)));
                    }
                    _ => problems.push(format!(
                        "{name}.{member_name}: {}; expected a program, a number or characters",
                        btf.describe(member.kind)
                    )),
                }
            }
            all.push(StructOps { name: name.to_string(), type_name, members });
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// The function that a relocation refers to, by its symbol.
fn program(object: &Object, symbol: usize) -> Option<u32> {
    let symbol = object.symbols.get(&symbol)?;
    let section = symbol.section?;
    let at = (section, usize::try_from(symbol.value / 8).ok()?);
    let found = object.functions.binary_search_by_key(&at, |of| (of.section, of.start)).ok()?;
    u32::try_from(found).ok().filter(|_| symbol.value.is_multiple_of(8))
}
