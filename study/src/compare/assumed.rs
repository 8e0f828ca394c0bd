//! What nobody published.

use super::{Assumed, Experiment};
use wakelab_machine::{Origin, Unit};

/// The assumed numbers of the machine and of every workload, each once.
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
