//! Machines as JSON.

use crate::VERSION;
use serde_json::{Map, Value, json};
use wakelab_machine::{Machine, Origin, Part};
use wakelab_sched::domain::Arch;

/// All machines: what they are, without costs.
pub fn list_json(machines: &[Machine]) -> Value {
    json!({"wakelab": VERSION, "machines": machines.iter().map(summary).collect::<Vec<_>>()})
}

/// What results carry of their machine: name, description, how much there is of what, the CPUs of each LLC, caches, what
/// things cost, noise with its origin, what it has of power management, and which costs are assumed.
pub fn json(machine: &Machine) -> Value {
    let costs = machine.costs.list();
    let assumed = costs.iter().filter(|(.., cost)| matches!(cost.origin, Origin::Assumed(_)));
    let cost = |&(name, unit, doc, cost): &(&str, _, &str, &wakelab_machine::Cost)| {
        let value = json!({
            "unit": unit, "value": cost.value, "low": cost.low, "high": cost.high, "origin": cost.origin, "doc": doc,
        });
        (name.to_owned(), value)
    };
    let mut value = summary(machine);
    value["topology"] = json!({
        "llcs": machine.parts().iter().map(part).collect::<Vec<_>>(),
        "distances": machine.topology.node_distance,
        "arch": if machine.arch == Arch::Arm64 { "arm64" } else { "x86" },
        "reclaim_distance": machine.reclaim_distance,
    });
    value["caches"] = json!(machine.caches);
    value["costs"] = Value::Object(costs.iter().map(cost).collect::<Map<_, _>>());
    value["noise"] = noise(machine);
    if let Value::Object(value) = &mut value {
        value.extend(super::power_json::keys(machine));
    }
    value["assumed"] = assumed.map(|(name, ..)| *name).collect();
    value
}

fn noise(machine: &Machine) -> Value {
    let (noise, origin) = (&machine.noise, &machine.noise_origin);
    json!({
        "kworker_period_ns": noise.kworker_period_ns,
        "kworker_period_range": origin.period_range,
        "kworker_run_ns": noise.kworker_run_ns,
        "kworker_run_range": origin.run_range,
        "origin": origin.origin,
    })
}

fn summary(machine: &Machine) -> Value {
    let mut value = json!({"name": machine.name, "description": machine.description});
    if let (Value::Object(value), Value::Object(counts)) = (&mut value, json!(machine.counts())) {
        value.extend(counts);
    }
    value
}

fn part(part: &Part) -> Value {
    json!({
        "package": part.package, "die": part.die, "llc": part.llc, "node": part.node, "capacity": part.capacity,
        "cores": part.cores, "clusters": part.clusters, "cpus": part.cpus.to_string(),
    })
}
