//! `[[program]]`.

use super::op::Names;
use super::place::Place;
use super::steps::{Phase, Steps};
use crate::toml_table::{Table, TomlError};
use crate::{Op, Program};

/// What a program may hold.
pub(super) const KEYS: [&str; 2] = ["name", "ops"];

/// Whether a program counts transactions.
pub(super) fn counts(program: &Program) -> bool {
    program.ops.contains(&Op::Done)
}

/// Reads a program, and where each of its steps is; marks the phases that are in it as used.
pub(super) fn read<'a>(
    table: &Table<'a>,
    names: Names<'_>,
    phases: &[Phase<'a>],
    used: &mut [bool],
) -> Result<(Program, Vec<Place>), TomlError> {
    let name = table.need_text("name")?.to_owned();
    let elements = table.elements("ops", "ops = [{run = \"50us\"}, {sleep = \"50us\"}, {repeat = {to = 0}}]")?;
    let mut steps = Steps::new(names, phases);
    steps.list(table, &elements)?;
    used.iter_mut().zip(&steps.used).for_each(|(used, here)| *used |= here);
    Ok((Program { name, ops: steps.ops }, steps.places))
}

/// A step that is never come to, with the one before it.
pub(super) fn unreachable(program: &Program) -> Option<(usize, String)> {
    let ends = |op: &Op| matches!(op, Op::Exit | Op::Repeat { times: None, .. });
    let last = program.ops.iter().position(ends).filter(|end| end + 1 < program.ops.len())?;
    Some((last + 1, format!("is never reached: step {last} does not go on to it")))
}
