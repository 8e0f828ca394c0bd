//! `[[program]]`.

use super::op;
use super::table::Table;
use crate::error::WorkloadError;
use crate::{Op, Program};
use std::ops::Range;

/// A program, and where its steps are in the file.
#[derive(Clone, Debug)]
pub(super) struct ProgramDef<'a> {
    pub(super) program: Program,
    table: Table<'a>,
    steps: Vec<Range<usize>>,
}

impl ProgramDef<'_> {
    /// An error about the program.
    pub(super) fn wrong_name(&self, what: &str) -> WorkloadError {
        self.table.wrong("name", what)
    }

    /// An error about a step.
    pub(super) fn wrong_step(&self, step: usize, what: &str) -> WorkloadError {
        self.table.wrong_at("ops", &self.steps[step], format!("step {step} {what}"))
    }
}

/// Whether a program counts transactions.
pub(super) fn counts(program: &Program) -> bool {
    program.ops.contains(&Op::Done)
}

/// Reads a program, whose steps may name these channels and programs.
pub(super) fn read<'a>(
    table: &Table<'a>,
    channels: &[&str],
    programs: &[&str],
) -> Result<ProgramDef<'a>, WorkloadError> {
    let name = table.need_text("name")?.to_owned();
    let elements = table.elements("ops", "ops = [{run = \"50us\"}, {sleep = \"50us\"}, {repeat = {to = 0}}]")?;
    let names = op::Names { channels, programs };
    let ops =
        elements.iter().map(|&element| op::read(table, element, names)).collect::<Result<Vec<Op>, WorkloadError>>()?;
    let steps = elements.iter().map(|element| element.span()).collect();
    let def = ProgramDef { program: Program { name, ops }, table: table.clone(), steps };
    check(&def)?;
    Ok(def)
}

/// What can be said of steps only beside the others.
fn check(def: &ProgramDef<'_>) -> Result<(), WorkloadError> {
    let ops = &def.program.ops;
    for (step, op) in ops.iter().enumerate() {
        match *op {
            Op::Repeat { to, .. } if step == 0 => {
                return Err(def.wrong_step(0, &format!("goes back to step {to}; expected steps before it")));
            }
            Op::Repeat { to, .. } if to as usize >= step => {
                let what = format!("goes back to step {to}; expected an earlier step, 0 to {}", step - 1);
                return Err(def.wrong_step(step, &what));
            }
            _ => {}
        }
        if matches!(op, Op::Exit | Op::Repeat { times: None, .. }) && step + 1 < ops.len() {
            return Err(def.wrong_step(step + 1, &format!("is never reached: step {step} does not go on to it")));
        }
    }
    let begins = ops.contains(&Op::Begin);
    match ops.iter().position(|op| *op == Op::Done) {
        Some(step) if !begins => {
            Err(def.wrong_step(step, "is \"done\" and there is no \"begin\"; expected one before it"))
        }
        _ => Ok(()),
    }
}
