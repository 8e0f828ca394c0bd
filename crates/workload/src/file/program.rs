//! `[[program]]` and `[[phase]]`: lists of steps, with the loops and phases in them written out.

use super::resource::unknown;
use super::step::{self, Names, Policy, Step, Timers, Written, policy, uclamp};
use super::{Place, name};
use crate::{Call, Op, Program};
use std::collections::HashMap;
use wakelab_input::{InputError, Table, Value};

/// The keys that a program may hold.
pub(super) const KEYS: [&str; 2] = ["name", "ops"];

/// The most steps of a program, with its loops and phases written out.
const STEPS_MAX: usize = 10_000;

/// How deep phases may be in phases.
const DEPTH_MAX: usize = 64;

const COUNT: std::ops::RangeInclusive<u64> = 1..=u32::MAX as u64;

/// Reads a program and where each of its steps is. Marks the phases in it as used.
pub(super) fn read<'a>(
    table: &Table<'a>,
    names: &Names<'_>,
    phases: Phases<'a, '_>,
    used: &mut [bool],
) -> Result<(Program, Vec<Place>), InputError> {
    let elements =
        table.elements("ops", "steps such as [{run = \"50us\"}, {sleep = \"50us\"}, {repeat = {to = 0}}]")?;
    let mut steps = Steps::new(names, phases, used);
    steps.list(table, &elements)?;
    Ok((Program { name: name(table)?.to_owned(), ops: steps.ops }, steps.places))
}

/// Returns a step that is never reached, with what is wrong with it. Returns `None` if all are reached.
pub(super) fn unreachable(program: &Program) -> Option<(usize, String)> {
    let ends = |op: &Op| matches!(op, Op::Exit | Op::Repeat { times: None, .. });
    let last = program.ops.iter().position(ends).filter(|end| end + 1 < program.ops.len())?;
    Some((last + 1, format!("is never reached: the program does not get past step {last}")))
}

/// `[[phase]]`: steps under a name.
#[derive(Clone, Debug)]
pub(super) struct Phase<'a> {
    name: &'a str,
    table: Table<'a>,
    ops: Vec<&'a Value<'a>>,
}

/// The keys that a phase may hold.
pub(super) const PHASE_KEYS: [&str; 11] =
    ["name", "ops", "nice", "policy", "priority", "runtime", "deadline", "period", "slice", "uclamp_min", "uclamp_max"];

/// All phases of a file, and their numbers by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phases<'a, 'n> {
    pub(super) all: &'n [Phase<'a>],
    pub(super) numbers: &'n HashMap<&'a str, usize>,
}

impl<'a> Phase<'a> {
    /// The name of the phase.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Reads a phase, without its steps.
    pub(super) fn read(table: Table<'a>) -> Result<Self, InputError> {
        let ops = table.elements("ops", "steps such as [{run = \"50us\"}, {sleep = \"50us\"}]")?;
        Ok(Phase { name: name(&table)?, ops, table })
    }
}

/// The steps of a program as they are written out.
#[derive(Debug)]
struct Steps<'a, 'n> {
    names: &'n Names<'n>,
    phases: Phases<'a, 'n>,
    timers: Timers,
    /// The phases that are being written out, the outermost first.
    within: Vec<usize>,
    ops: Vec<Op>,
    /// Where each step is.
    places: Vec<Place>,
    /// By phase: whether it has been written out.
    used: &'n mut [bool],
}

impl<'a, 'n> Steps<'a, 'n> {
    fn new(names: &'n Names<'n>, phases: Phases<'a, 'n>, used: &'n mut [bool]) -> Self {
        Steps { names, phases, timers: Timers::new(), within: vec![], ops: vec![], places: vec![], used }
    }

    /// Writes out the list `ops` of a table.
    fn list(&mut self, of: &Table<'a>, elements: &[&'a Value<'a>]) -> Result<(), InputError> {
        // Where the steps of this list begin: `repeat` counts in it.
        let mut starts = Vec::with_capacity(elements.len());
        for element in elements {
            starts.push(self.ops.len() as u32);
            let at = element.span().start;
            match step::read(of, element)? {
                Written::Word(step) => self.push(of, at, step)?,
                Written::Table("repeat", table) => {
                    let repeat = repeat(of, &table, at, &starts)?;
                    self.push(of, at, Step::Op(repeat))?;
                }
                Written::Table("loop", table) => {
                    let begin = self.ops.len() as u32;
                    self.list(of, &table.elements("loop", "steps such as {loop = [{run = \"50us\"}], times = 10}")?)?;
                    self.go_back(of, at, begin, times(&table)?)?;
                }
                Written::Table("phase", table) => self.phase(of, &table, at)?,
                Written::Table(kind, table) => {
                    let step = step::of_table(kind, &table, self.names, &mut self.timers)?;
                    self.push(of, at, step)?;
                }
            }
        }
        Ok(())
    }

    fn phase(&mut self, of: &Table<'a>, table: &Table<'a>, at: usize) -> Result<(), InputError> {
        let (phases, name) = (self.phases.all, table.need_text("phase", "the name of a phase in quotes")?);
        let Some(&index) = self.phases.numbers.get(name) else {
            let names: Vec<&str> = phases.iter().map(|phase| phase.name).collect();
            return Err(unknown(table, "phase", "phase", name, &names));
        };
        if self.within.contains(&index) {
            let path: Vec<&str> = self.within.iter().chain([&index]).map(|&index| phases[index].name).collect();
            let what = format!("the phase {name} contains itself: {}; break the cycle", path.join(", then "));
            return Err(table.wrong("phase", what).with_hint("a loop repeats steps: {loop = [...], times = 10}"));
        }
        if self.within.len() == DEPTH_MAX {
            let what = format!("phases are nested more than {DEPTH_MAX} deep; expected fewer levels");
            return Err(table.wrong("phase", what));
        }
        let (begin, phase) = (self.ops.len() as u32, &phases[index]);
        match policy(&phase.table)? {
            Some(policy) => self.push(of, at, Step::Call(policy.call(&phase.table)?))?,
            // A priority or a reservation alone is refused.
            None => Policy::Normal.realtime(&phase.table).map(|_| ())?,
        }
        if let Some(nice) = phase.table.signed("nice", &(-20..=19))? {
            self.push(of, at, Step::Call(Call::Nice(nice as i8)))?;
        }
        if let Some(ns) = phase.table.duration("slice")? {
            self.push(of, at, Step::Call(Call::Slice { ns }))?;
        }
        if let [min, max] = uclamp(&phase.table)?
            && min.or(max).is_some()
        {
            self.push(of, at, Step::Call(Call::Uclamp { min, max }))?;
        }
        self.used[index] = true;
        self.within.push(index);
        self.list(&phase.table, &phase.ops)?;
        self.within.pop();
        self.go_back(of, at, begin, Some(times(table)?.unwrap_or(1)))
    }

    fn go_back(&mut self, of: &Table<'a>, at: usize, to: u32, times: Option<u32>) -> Result<(), InputError> {
        if times == Some(1) { Ok(()) } else { self.push(of, at, Step::Op(Op::Repeat { to, times })) }
    }

    fn push(&mut self, of: &Table<'a>, at: usize, step: Step) -> Result<(), InputError> {
        let op = match step {
            Step::Op(op) => op,
            Step::Call(call) => Op::Call(call),
        };
        if self.ops.len() == STEPS_MAX {
            let what = format!("with its phases expanded, the program has more than {STEPS_MAX} steps; expected fewer");
            return Err(of.wrong_at("ops", at, what));
        }
        self.ops.push(op);
        self.places.push(Place::of_element(of, "ops", at));
        Ok(())
    }
}

/// How often a loop or phase is repeated.
fn times(table: &Table<'_>) -> Result<Option<u32>, InputError> {
    Ok(table.number("times", &COUNT)?.map(|times| times as u32))
}

/// `{repeat = {to = 0}}`, at byte `at`: the last step of a list so far.
fn repeat(of: &Table<'_>, table: &Table<'_>, at: usize, starts: &[u32]) -> Result<Op, InputError> {
    let repeat = table.need_table("repeat", &["to", "times"])?;
    let to = repeat.need_number("to", &(0..=u64::from(u32::MAX)))?;
    let (times, step) = (times(&repeat)?, starts.len() - 1);
    let expected = match step {
        0 => "steps before it".to_owned(),
        _ => format!("an earlier step, 0 to {}", step - 1),
    };
    match starts[..step].get(to as usize) {
        Some(&to) => Ok(Op::Repeat { to, times }),
        None => Err(of.wrong_at("ops", at, format!("step {step} goes back to step {to}; expected {expected}"))),
    }
}
