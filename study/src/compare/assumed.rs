//! What nobody published.

use super::assumed_power::of_power;
use super::{Assumed, Experiment};
use wakelab_machine::{Machine, Origin, Unit};

/// The assumed numbers of the machine, its background work among them, and of every workload, each once.
pub(super) fn assumed(experiment: &Experiment) -> Vec<Assumed> {
    let mut all: Vec<Assumed> = Vec::new();
    for (name, unit, _, cost) in experiment.machine.costs.list() {
        if let Origin::Assumed(why) = &cost.origin {
            let unit = match unit {
                Unit::Ns => "ns",
                Unit::Pct => "%",
            };
            all.push(Assumed {
                of: "machine".to_owned(),
                name: name.to_owned(),
                unit: unit.to_owned(),
                value: cost.value,
                low: cost.low,
                high: cost.high,
                why: why.clone(),
            });
        }
    }
    all.extend(of_noise(&experiment.machine));
    if experiment.base.pm.is_some() || experiment.with.pm.is_some() {
        all.extend(of_power(&experiment.machine));
    }
    for case in &experiment.cases {
        for param in &case.workload.params {
            if !param.origin.to_ascii_lowercase().contains("assumed") {
                continue;
            }
            let assumed = Assumed {
                of: case.name.clone(),
                name: param.name.clone(),
                unit: param.unit.clone(),
                value: param.value,
                low: param.low,
                high: param.high,
                why: param.origin.clone(),
            };
            if !all.contains(&assumed) {
                all.push(assumed);
            }
        }
    }
    all
}

/// The two numbers of the background work, which makes runs differ; none where there is no such work.
fn of_noise(machine: &Machine) -> impl Iterator<Item = Assumed> {
    let (noise, of) = (machine.noise, &machine.noise_origin);
    let numbers = [
        ("kworker_period_ns", noise.kworker_period_ns, of.period_range),
        ("kworker_run_ns", noise.kworker_run_ns, of.run_range),
    ];
    let why = match &of.origin {
        Origin::Assumed(why) if noise.kworker_period_ns > 0 => Some(why.clone()),
        _ => None,
    };
    why.into_iter().flat_map(move |why| {
        numbers.map(|(name, value, [low, high])| Assumed {
            of: "machine".to_owned(),
            name: name.to_owned(),
            unit: "ns".to_owned(),
            value,
            low,
            high,
            why: why.clone(),
        })
    })
}
