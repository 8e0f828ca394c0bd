//! The constants of a machine, solved one after another until none changes.

use super::equations::{EQUATIONS, Equation, IDLE_FIRST};
use super::solve::{Found, solve};
use super::twin::{Calls, Twin};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_calibrate::load::Kind;
use wakelab_calibrate::{Bench, Measured, Place, Spread};
use wakelab_kernel::Preset;
use wakelab_machine::{Machine, Origin};
use wakelab_sim::SimError;

/// A constant, and where it is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Constant {
    /// Its name.
    pub name: &'static str,
    /// Its value before, which was assumed.
    pub before: u64,
    /// Its value now.
    pub value: u64,
    /// The values with which the twin takes the 10th and the 90th percentile of what was measured, in order.
    pub range: [u64; 2],
    /// The equation, and where it was taken. `None` if the constant keeps its assumed value.
    pub from: Option<(Equation, Place)>,
    /// The result of the search.
    pub found: Option<Found>,
    /// Why it keeps its value, or what to know of it.
    pub note: Option<String>,
}

/// The work of an operation of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkOf {
    /// The load.
    pub kind: Kind,
    /// ns beside wake-ups, switches, and what it computes by design.
    pub ns: u64,
    /// The result of the search. `None` where it is one system call, as it was measured.
    pub found: Option<Found>,
}

/// A microbenchmark with the time of its twin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The measurement.
    pub measured: Measured,
    /// The twin's time with the derived constants; `None` for a microbenchmark without a twin.
    pub simulated: Option<f64>,
    /// Whether a constant or the work of a load was derived from it, so that the two agree by construction.
    pub derived_from: bool,
}

/// All that was derived.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The machine with its constants.
    pub machine: Machine,
    /// Each constant of the machine, in the order of the documentation.
    pub constants: Vec<Constant>,
    /// The work of the loads.
    pub work: Vec<WorkOf>,
    /// All microbenchmarks.
    pub checks: Vec<Check>,
    /// How often all equations were solved.
    pub rounds: usize,
    /// Whether the last of these changed nothing.
    pub settled: bool,
}

/// The inputs from which constants are derived.
#[derive(Clone, Copy, Debug)]
pub struct Derivation<'a> {
    /// The machine, with assumed constants.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Preset,
    /// The measurements.
    pub measured: &'a [Measured],
    /// The beginning of the constants' origins: when they were measured.
    pub date: &'a str,
}

/// Rounds after which equations that have not settled are left.
const ROUNDS: usize = 12;

/// What is said of an `idle_exit` that is not there.
const IDLE_FIRST_NOTE: &str = "at its lower bound: a wake-up of an idle CPU takes less than one of a busy CPU";

/// The work of an operation, ns.
const WORK: std::ops::RangeInclusive<u64> = 0..=1_000_000;

/// Derives the constants.
///
/// # Errors
/// Those of the simulator. `None` once `stop` is set.
pub fn derive(of: &Derivation<'_>, stop: &AtomicBool) -> Result<Option<Derived>, SimError> {
    let mut solver = Solver { of, machine: of.machine.clone(), work: BTreeMap::new(), idle_first: false, stop };
    let (mut rounds, mut settled) = (0, false);
    while rounds < ROUNDS && !settled {
        rounds += 1;
        settled = true;
        for equation in solver.equations() {
            let Some((place, measured)) = solver.measured(&equation) else { continue };
            let found = solver.solve(&equation, place, measured.median)?;
            settled &= !solver.set(&equation, found);
            // Once is enough: `ipi` is what a busy CPU takes then, and an idle one takes less.
            if equation.constants == ["idle_exit"] && matches!(found, Found::Lowest(_)) {
                (solver.idle_first, settled) = (true, false);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }
    let mut constants = Vec::new();
    for (name, ..) in of.machine.costs.list() {
        constants.push(solver.constant(name)?);
    }
    solver.write(&constants);
    let work = solver.loads()?;
    let checks = solver.checks(&work)?;
    Ok((!stop.load(Ordering::Relaxed)).then_some(Derived {
        machine: solver.machine,
        constants,
        work,
        checks,
        rounds,
        settled,
    }))
}

struct Solver<'a> {
    of: &'a Derivation<'a>,
    /// With the constants so far.
    machine: Machine,
    work: BTreeMap<Kind, u64>,
    /// Whether [`IDLE_FIRST`] replaces two of the equations.
    idle_first: bool,
    stop: &'a AtomicBool,
}

/// A constant that changes by no more than this, %, and this many ns has settled: mixtures of wake-ups that preempt and
/// wake-ups that do not move times by as much.
const SETTLED_PCT: u64 = 3;
const SETTLED_NS: u64 = 5;

impl Solver<'_> {
    /// The equations.
    fn equations(&self) -> Vec<Equation> {
        let replaced = |equation: &Equation| match equation.constants {
            ["ipi"] if self.idle_first => Some(IDLE_FIRST),
            ["idle_exit"] if self.idle_first => None,
            _ => Some(*equation),
        };
        EQUATIONS.iter().filter_map(replaced).collect()
    }

    /// What was measured for an equation, and where.
    fn measured(&self, equation: &Equation) -> Option<(Place, Spread)> {
        let all = self.of.measured;
        let at = |bench: Bench, place: Place| all.iter().find(|one| (one.bench, one.place) == (bench, place));
        equation.relations.iter().find_map(|&relation| {
            let one = all.iter().find(|one| one.bench == equation.bench && one.place.relation == relation)?;
            let less = match equation.less {
                None => 0.0,
                Some(less) => at(less, one.place)?.spread.median,
            };
            Some((one.place, one.spread.less(less)))
        })
    }

    fn twin<'t>(&'t self, machine: &'t Machine) -> Twin<'t> {
        Twin { machine, kernel: self.of.kernel, calls: Calls::measured(self.of.measured), work: &self.work }
    }

    fn solve(&self, equation: &Equation, place: Place, measured: f64) -> Result<Found, SimError> {
        // A microbenchmark without a twin, or a twin that does nothing, has no influence.
        solve(equation.range(), measured, |value| {
            let mut machine = self.machine.clone();
            self.assign(&mut machine, equation, value);
            let twin = self.twin(&machine);
            let time = |bench| Ok(twin.simulate(bench, place)?.unwrap_or(0.0));
            let less = equation.less.map_or(Ok(0.0), time)?;
            Ok(time(equation.bench)? - less)
        })
    }

    /// Gives the equation's constants a value; several get shares of it as they had before, the last the rest.
    fn assign(&self, machine: &mut Machine, equation: &Equation, value: u64) {
        for (name, share) in shares(&self.of.machine.costs, equation, value) {
            machine.set_constant(name, share);
            // A switch loads another address space in it, not beside it.
            let costs = &mut machine.costs;
            costs.context_switch.value = costs.context_switch.value.max(costs.switch_mm.value);
        }
    }

    /// Returns whether a constant has changed.
    fn set(&mut self, equation: &Equation, found: Found) -> bool {
        let Some(value) = found.value() else { return false };
        let mut machine = self.machine.clone();
        self.assign(&mut machine, equation, value);
        let before = std::mem::replace(&mut self.machine, machine).costs;
        let mut both = before.list().into_iter().zip(self.machine.costs.list()).map(|(a, b)| (a.3.value, b.3.value));
        both.any(|(before, now)| before.abs_diff(now) > SETTLED_NS + now * SETTLED_PCT / 100)
    }

    fn constant(&self, name: &'static str) -> Result<Constant, SimError> {
        let cost_of = |machine: &Machine| machine.costs.clone().get_mut(name).expect("it is a cost").clone();
        let (before, now) = (cost_of(self.of.machine), cost_of(&self.machine));
        let kept = |note: String| Constant {
            name,
            before: before.value,
            value: before.value,
            range: [before.low, before.high],
            from: None,
            found: None,
            note: Some(note),
        };
        if self.idle_first && name == "idle_exit" {
            let equation = *EQUATIONS.iter().find(|equation| equation.constants == [name]).expect("it has one");
            let (place, _) = self.measured(&equation).expect("it was solved");
            return Ok(Constant {
                value: 0,
                range: [0, 0],
                from: Some((equation, place)),
                found: Some(Found::Lowest(0)),
                note: Some(IDLE_FIRST_NOTE.to_owned()),
                ..kept(String::new())
            });
        }
        let equations = self.equations();
        let Some(equation) = equations.iter().find(|equation| equation.constants.contains(&name)) else {
            return Ok(kept("not seen from user space".to_owned()));
        };
        let Some((place, spread)) = self.measured(equation) else {
            let names: Vec<&str> = equation.relations.iter().map(|relation| relation.name()).collect();
            let missing = self.of.measured.iter().all(|one| !equation.relations.contains(&one.place.relation));
            let why = if missing { "no such CPUs may be used" } else { "it could not be measured" };
            return Ok(kept(format!("needs {:?} ({}): {why}", equation.bench.name(), names.join(" or "))));
        };
        let found = self.solve(equation, place, spread.median)?;
        if found.value().is_none() {
            let version = self.of.kernel.name;
            return Ok(kept(format!("does not affect {:?} under {version}", equation.bench.name())));
        }
        let end = |time: f64| {
            let value = self.solve(equation, place, time)?.value().unwrap_or(0);
            let own = shares(&self.of.machine.costs, equation, value).into_iter().find(|share| share.0 == name);
            Ok::<u64, SimError>(own.map_or(now.value, |share| share.1))
        };
        let ends = [end(spread.p10)?, end(spread.p90)?];
        let range = [ends[0].min(now.value), ends[1].max(now.value)];
        let others: Vec<&str> = equation.constants.iter().copied().filter(|other| *other != name).collect();
        let note = match found {
            Found::Lowest(_) => {
                Some("at its lower bound: the twin takes longer than was measured without it".to_owned())
            }
            Found::Highest(_) => Some("at its upper bound: the twin takes less than was measured".to_owned()),
            _ if *equation == IDLE_FIRST => Some("of an idle CPU; one of a busy CPU takes longer".to_owned()),
            _ if !others.is_empty() => Some(format!("only the sum with {} is measured", others.join(" and "))),
            _ => None,
        };
        let found = Some(found);
        Ok(Constant {
            name,
            before: before.value,
            value: now.value,
            range,
            from: Some((*equation, place)),
            found,
            note,
        })
    }

    /// Writes origins and ranges to the machine.
    fn write(&mut self, constants: &[Constant]) {
        for constant in constants {
            let Some((equation, place)) = constant.from else { continue };
            let measured = self.measured(&equation).expect("it was measured").1;
            let unit = equation.bench.unit();
            let less = equation.less.map_or(String::new(), |less| format!(" less {}", less.name()));
            let note = constant.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
            let cost = self.machine.costs.get_mut(constant.name).expect("it is a cost");
            (cost.low, cost.high) = (constant.range[0], constant.range[1]);
            cost.origin = Origin::Measured(format!(
                "{}: {}{less}, {}: {:.0} {unit} (p10 {:.0}, p90 {:.0}, {} runs){note}",
                self.of.date,
                equation.bench.name(),
                where_text(place),
                measured.median,
                measured.p10,
                measured.p90,
                measured.runs
            ));
        }
    }

    /// The work of the loads.
    fn loads(&mut self) -> Result<Vec<WorkOf>, SimError> {
        let all = self.of.measured;
        let mut work = Vec::new();
        for kind in Kind::ALL {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let Some(one) = all.iter().find(|one| one.bench == Bench::Load(kind)) else { continue };
            let found = if kind == Kind::Timers {
                // Its work is a small part of its period, which the noise of the measurement would decide.
                let call = all.iter().find(|one| one.bench == Bench::Syscall).map_or(0.0, |one| one.spread.median);
                self.work.insert(kind, call.max(0.0) as u64);
                None
            } else {
                let found = solve(WORK, one.spread.median, |ns| {
                    self.work.insert(kind, ns);
                    Ok::<f64, SimError>(self.twin(&self.machine).simulate(one.bench, one.place)?.unwrap_or(0.0))
                })?;
                self.work.insert(kind, found.value().unwrap_or(0));
                Some(found)
            };
            work.push(WorkOf { kind, ns: self.work[&kind], found });
        }
        Ok(work)
    }

    fn checks(&self, work: &[WorkOf]) -> Result<Vec<Check>, SimError> {
        let twin = self.twin(&self.machine);
        let one = |measured: &Measured| {
            let of_equation = self.equations().iter().any(|equation| {
                let taken = self.measured(equation).map(|(place, _)| place);
                equation.bench == measured.bench && taken == Some(measured.place)
            });
            let of_load = work.iter().any(|work| work.found.is_some() && Bench::Load(work.kind) == measured.bench);
            let simulated = twin.simulate(measured.bench, measured.place)?;
            Ok(Check { measured: measured.clone(), simulated, derived_from: of_equation || of_load })
        };
        self.of.measured.iter().map(one).collect()
    }
}

/// `CPU 0`, `CPUs 0 and 1 (LLC)`.
fn where_text(place: Place) -> String {
    let [a, b] = place.cpus;
    if a == b { format!("CPU {a}") } else { format!("CPUs {a} and {b} ({})", place.relation.name()) }
}

/// The constants of an equation, whose values add up to `value`, in the ratios that they have in `costs`.
fn shares(costs: &wakelab_machine::Costs, equation: &Equation, value: u64) -> Vec<(&'static str, u64)> {
    let mut costs = costs.clone();
    let mut had = |name: &str| costs.get_mut(name).expect("it is a cost").value;
    let sum: u64 = equation.constants.iter().map(|name| had(name)).sum();
    let (mut left, mut all) = (value, Vec::new());
    for (at, &name) in equation.constants.iter().enumerate() {
        let last = at + 1 == equation.constants.len();
        let share = if last || sum == 0 { left } else { (value * had(name) / sum).min(left) };
        all.push((name, share));
        left -= share;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_one_equation_keep_their_ratio() {
        let costs = wakelab_machine::get("test-2c").expect("a machine").costs;
        let equation = EQUATIONS.iter().find(|equation| equation.constants.len() == 2).expect("wakeup");
        let all = shares(&costs, equation, 900);
        // 200 and 250 before.
        assert_eq!(all, [("wakeup", 400), ("enqueue_local", 500)]);
        assert_eq!(shares(&costs, equation, 0), [("wakeup", 0), ("enqueue_local", 0)]);
    }
}
