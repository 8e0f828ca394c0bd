//! Which microbenchmark gives which constant.

use serde::Serialize;
use std::ops::RangeInclusive;
use wakelab_calibrate::{Bench, FOOTPRINTS_KIB, Relation};

/// An equation: the twin of a microbenchmark takes the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Equation {
    /// The constants that are solved for. Several keep the ratios that they had, because only their sum shows.
    pub constants: &'static [&'static str],
    /// The microbenchmark.
    pub bench: Bench,
    /// One that is subtracted from it, in the measurement and in the simulation.
    pub less: Option<Bench>,
    /// Where it is taken: the first of these that there is.
    pub relations: &'static [Relation],
}

const NEAR: &[Relation] = &[Relation::Llc, Relation::Smt];
const FAR: &[Relation] = &[Relation::OtherLlc, Relation::OtherNode];
const ONE: &[Relation] = &[Relation::OneCpu];

const fn of(constants: &'static [&'static str], bench: Bench, relations: &'static [Relation]) -> Equation {
    Equation { constants, bench, less: None, relations }
}

/// All equations, in the order in which they are solved: each takes the constants of those before it as they are then.
/// They are solved in turn until none changes.
pub const EQUATIONS: &[Equation] = &[
    Equation { less: Some(Bench::ThreadSwitch), ..of(&["switch_mm"], Bench::ProcessSwitch, ONE) },
    of(&["context_switch"], Bench::ThreadSwitch, ONE),
    of(&["wakeup", "enqueue_local"], Bench::Pipe, ONE),
    of(&["enqueue_remote"], Bench::WakeBusy, NEAR),
    of(&["wakelist"], Bench::WakeIdle, NEAR),
    of(&["cold_message"], Bench::ColdMessage, NEAR),
    of(&["ipi"], Bench::PipeBusy, NEAR),
    of(&["idle_exit"], Bench::Pipe, NEAR),
    of(&["tick"], Bench::Tick, ONE),
    of(&["cold_task"], Bench::Cold(FOOTPRINTS_KIB[0]), NEAR),
    of(&["smt_slowdown"], Bench::Together, &[Relation::Smt]),
    of(&["cluster_line"], Bench::Pipe, &[Relation::Cluster]),
    of(&["enqueue_far"], Bench::WakeBusy, FAR),
    of(&["cold_message_far"], Bench::ColdMessage, FAR),
    of(&["ipi_far"], Bench::PipeBusy, &[Relation::OtherNode]),
    of(&["cold_task_far"], Bench::Cold(FOOTPRINTS_KIB[0]), FAR),
];

/// What the equations of `ipi` and `idle_exit` are replaced by where a wake-up of an idle CPU takes less than one of a
/// busy CPU, so that no `idle_exit` explains both: that of `ipi` alone, with an `idle_exit` of 0. Hypervisors make an
/// interrupt of a running CPU dearer than the start of a halted one.
pub const IDLE_FIRST: Equation = of(&["ipi"], Bench::Pipe, NEAR);

impl Equation {
    /// The range in which its constant is looked for.
    pub fn range(&self) -> RangeInclusive<u64> {
        match self.constants {
            ["smt_slowdown"] => 100..=400,
            ["cluster_line"] => 0..=100,
            // ns: a tenth of the shortest time between two.
            ["tick"] => 0..=100_000,
            // ns: nothing that a scheduler does takes longer.
            _ => 0..=1_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_machine::Costs;

    #[test]
    fn each_constant_is_a_cost_and_has_one_equation() {
        let mut all: Vec<&str> = EQUATIONS.iter().flat_map(|equation| equation.constants).copied().collect();
        assert!(all.iter().all(|name| Costs::NAMES.contains(name)), "{all:?}");
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
