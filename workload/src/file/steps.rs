//! Lists of steps, with the loops and phases in them written out.

use super::op::{self, Names, Step, Written, idle_policy};
use super::place::Place;
use super::resource::unknown;
use crate::toml_table::{Table, TomlError};
use crate::{Call, Op};
use toml::Spanned;
use toml::de::DeValue;

/// The most steps of a program, with its loops and phases written out.
const STEPS_MAX: usize = 10_000;

type Element<'a> = &'a Spanned<DeValue<'a>>;

/// `[[phase]]`: steps under a name.
#[derive(Clone, Debug)]
pub(super) struct Phase<'a> {
    name: &'a str,
    table: Table<'a>,
    ops: Vec<Element<'a>>,
}

/// What a phase may hold.
pub(super) const PHASE_KEYS: [&str; 5] = ["name", "ops", "nice", "policy", "slice"];

impl<'a> Phase<'a> {
    /// Reads one, without its steps.
    pub(super) fn read(table: Table<'a>) -> Result<Self, TomlError> {
        let ops = table.elements("ops", "ops = [{run = \"50us\"}, {sleep = \"50us\"}]")?;
        Ok(Phase { name: table.need_text("name")?, ops, table })
    }
}

/// Steps as they are written out.
#[derive(Debug)]
pub(super) struct Steps<'a, 'n> {
    names: Names<'n>,
    phases: &'n [Phase<'a>],
    timers: Vec<String>,
    /// The phases that are being written out, the outermost first.
    within: Vec<usize>,
    pub(super) ops: Vec<Op>,
    /// Where each step is.
    pub(super) places: Vec<Place>,
    /// By phase: whether it has been written out.
    pub(super) used: Vec<bool>,
}

impl<'a, 'n> Steps<'a, 'n> {
    pub(super) fn new(names: Names<'n>, phases: &'n [Phase<'a>]) -> Self {
        Steps {
            names,
            phases,
            timers: vec![],
            within: vec![],
            ops: vec![],
            places: vec![],
            used: vec![false; phases.len()],
        }
    }

    /// Writes out the list `ops` of a table.
    pub(super) fn list(&mut self, of: &Table<'a>, elements: &[Element<'a>]) -> Result<(), TomlError> {
        // Where the steps of this list begin: `repeat` counts in it.
        let mut starts = Vec::with_capacity(elements.len());
        for element in elements {
            starts.push(self.ops.len() as u32);
            let at = element.span().start;
            match op::read(of, element)? {
                Written::Word(step) => self.push(of, at, step)?,
                Written::Table("repeat", table) => {
                    let repeat = repeat(of, &table, element, &starts)?;
                    self.push(of, at, Step::Op(repeat))?;
                }
                Written::Table("loop", table) => {
                    let begin = self.ops.len() as u32;
                    self.list(of, &table.elements("loop", "{loop = [{run = \"50us\"}], times = 10}")?)?;
                    self.go_back(of, at, begin, times(&table)?)?;
                }
                Written::Table("phase", table) => self.phase(of, &table, at)?,
                Written::Table(kind, table) => {
                    let step = op::of_table(kind, &table, self.names, &mut self.timers)?;
                    self.push(of, at, step)?;
                }
            }
        }
        Ok(())
    }

    fn phase(&mut self, of: &Table<'a>, table: &Table<'a>, at: usize) -> Result<(), TomlError> {
        let (phases, name) = (self.phases, table.need_text("phase")?);
        let Some(index) = phases.iter().position(|phase| phase.name == name) else {
            let names: Vec<&str> = phases.iter().map(|phase| phase.name).collect();
            return Err(unknown(table, "phase", "phase", name, &names));
        };
        if self.within.contains(&index) {
            let path: Vec<&str> = self.within.iter().chain([&index]).map(|&index| phases[index].name).collect();
            let what = format!("the phase {name} is in itself: {}; expected no way back", path.join(", then "));
            let hint = "a loop does steps again: {loop = [...], times = 10}";
            return Err(table.wrong("phase", what).with_hint(Some(hint.to_owned())));
        }
        let (begin, phase) = (self.ops.len() as u32, &phases[index]);
        if let Some(idle) = idle_policy(&phase.table)? {
            self.push(of, at, Step::Call(Call::IdlePolicy(idle)))?;
        }
        if let Some(nice) = phase.table.number("nice", -20, 19)? {
            self.push(of, at, Step::Call(Call::Nice(nice as i8)))?;
        }
        if let Some(ns) = phase.table.duration("slice")? {
            self.push(of, at, Step::Call(Call::Slice { ns }))?;
        }
        self.used[index] = true;
        self.within.push(index);
        self.list(&phase.table, &phase.ops)?;
        self.within.pop();
        self.go_back(of, at, begin, Some(times(table)?.unwrap_or(1)))
    }

    fn go_back(&mut self, of: &Table<'a>, at: usize, to: u32, times: Option<u32>) -> Result<(), TomlError> {
        if times == Some(1) { Ok(()) } else { self.push(of, at, Step::Op(Op::Repeat { to, times })) }
    }

    fn push(&mut self, of: &Table<'a>, at: usize, step: Step) -> Result<(), TomlError> {
        let op = match step {
            Step::Op(op) => op,
            Step::Call(call) => Op::Call(call),
        };
        if self.ops.len() == STEPS_MAX {
            let what = format!("the program has more than {STEPS_MAX} steps, its phases written out; expected fewer");
            return Err(of.wrong_at("ops", &(at..at), what));
        }
        self.ops.push(op);
        self.places.push(Place::of_element(of, "ops", at));
        Ok(())
    }
}

/// How often a loop or phase is done.
fn times(table: &Table<'_>) -> Result<Option<u32>, TomlError> {
    Ok(table.number("times", 1, i64::from(u32::MAX))?.map(|times| times as u32))
}

/// `{repeat = {to = 0}}`, the last step of a list so far.
fn repeat<'a>(of: &Table<'a>, table: &Table<'a>, element: Element<'a>, starts: &[u32]) -> Result<Op, TomlError> {
    let repeat = table.need_table("repeat", &["to", "times"])?;
    let to = repeat.number("to", 0, i64::from(u32::MAX))?;
    let to = to.ok_or_else(|| repeat.missing("to", "{repeat = {to = 0}}"))?;
    let (times, step) = (times(&repeat)?, starts.len() - 1);
    let expected = match step {
        0 => "steps before it".to_owned(),
        _ => format!("an earlier step, 0 to {}", step - 1),
    };
    match starts[..step].get(to as usize) {
        Some(&to) => Ok(Op::Repeat { to, times }),
        None => {
            let what = format!("step {step} goes back to step {to}; expected {expected}");
            Err(of.wrong_at("ops", &element.span(), what))
        }
    }
}
