//! Which constants are changed, and the experiment with others.

use super::Constant;
use crate::compare::assumed_power::DEMOTION;
use crate::compare::{Assumed, Experiment};
use crate::experiment::{Given, Shelf, Spec, SpecError};
use wakelab_machine::Machine;

/// Whose constants are the machine's.
const MACHINE: &str = "machine";

/// What is assumed and has a range. A number that the experiment gives is the user's own, and stays.
pub(super) fn constants(spec: &Spec, assumed: Vec<Assumed>) -> Vec<Constant> {
    let given = |one: &Assumed| {
        spec.workloads.iter().any(|w| w.name.value == one.of && w.params.iter().any(|(name, _)| *name == one.name))
    };
    // What is spent moves no difference between two speeds.
    let speed = |one: &Assumed| one.of != MACHINE || one.name == DEMOTION || !one.name.contains(": ");
    let varied = assumed.into_iter().filter(|one| one.low < one.high && !given(one) && speed(one));
    varied
        .map(|Assumed { of, name, unit, value, low, high, .. }| Constant { of, name, unit, value, low, high })
        .collect()
}

/// The experiment of `spec` with these values of the constants.
pub(super) fn with(
    spec: &Spec,
    shelf: &dyn Shelf,
    constants: &[Constant],
    values: &[u64],
) -> Result<Experiment, SpecError> {
    // The samples' verdicts are of differences alone.
    let mut spec = Spec { regret: false, ..spec.clone() };
    let mut of_machine = Vec::new();
    for (constant, &value) in constants.iter().zip(values) {
        if constant.of == MACHINE {
            of_machine.push((constant.name.as_str(), value));
            continue;
        }
        for workload in spec.workloads.iter_mut().filter(|workload| workload.name.value == constant.of) {
            workload.params.push((constant.name.clone(), Given::by_flag("--sensitivity", value)));
        }
    }
    let mut experiment = spec.resolve_from(shelf)?;
    of_machine.into_iter().for_each(|(name, value)| set(&mut experiment.machine, name, value));
    Ok(experiment)
}

fn set(machine: &mut Machine, name: &str, value: u64) {
    let noise = &mut machine.noise;
    match name {
        "kworker_period_ns" => noise.kworker_period_ns = value,
        "kworker_run_ns" => noise.kworker_run_ns = value,
        DEMOTION => machine.demotion.as_mut().expect("the machine listed it").below_us.value = value,
        name => machine.costs.get_mut(name).expect("the machine listed it").value = value,
    }
    // What a machine's file may say: a kworker is done before it is woken again.
    if noise.kworker_period_ns > 0 {
        noise.kworker_run_ns = noise.kworker_run_ns.min(noise.kworker_period_ns - 1);
    }
}
