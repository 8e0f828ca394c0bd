//! Machines as JSON.

use crate::VERSION;
use serde_json::{Map, Value, json};
use wakelab_machine::{
    BusyPower, CorePower, CpuGroup, FreqPolicy, IdleState, Machine, Origin, PerfDomain, SharedPower,
};
use wakelab_sched::domain::Arch;

/// All machines: what they are, without costs.
pub fn list_json(machines: &[Machine]) -> Value {
    json!({"wakelab": VERSION, "machines": machines.iter().map(summary).collect::<Vec<_>>()})
}

/// What results carry of their machine: name, description, how much there is of what, the CPUs of each LLC, caches,
/// what things cost, noise with its origin, what it has of power management, and which costs are assumed.
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
        "llcs": machine.cpu_groups().iter().map(part).collect::<Vec<_>>(),
        "distances": machine.topology.node_distance,
        "arch": if machine.arch == Arch::Arm64 { "arm64" } else { "x86" },
        "reclaim_distance": machine.reclaim_distance,
    });
    if machine.split_llc {
        value["topology"]["split_llc"] = json!(true);
    }
    value["caches"] = json!(machine.caches);
    value["costs"] = Value::Object(costs.iter().map(cost).collect::<Map<_, _>>());
    value["scx_costs"] = Value::Object(machine.scx_costs.list().iter().map(cost).collect::<Map<_, _>>());
    value["noise"] = noise(machine);
    if let Some(ensemble) = &machine.ensemble {
        value["ensemble"] = json!(ensemble);
    }
    if let Value::Object(value) = &mut value {
        value.extend(power_keys(machine));
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

fn part(part: &CpuGroup) -> Value {
    json!({
        "package": part.package, "die": part.die, "llc": part.llc, "node": part.node, "capacity": part.capacity,
        "cores": part.cores, "clusters": part.clusters, "cpus": part.cpus.to_string(),
    })
}

/// What the machine has of it: `frequencies`, `turbo`, `idle_states`, `power`. A machine that has none of it gets no
/// key, as before there was any.
fn power_keys(machine: &Machine) -> Map<String, Value> {
    let mut keys = Map::new();
    let mut add = |key: &str, value: Option<Value>| value.and_then(|value| keys.insert(key.to_owned(), value));
    let list = |values: Vec<Value>| (!values.is_empty()).then(|| Value::Array(values));
    add("frequencies", list(machine.frequencies.iter().map(frequency).collect()));
    add("turbo", machine.turbo.as_ref().map(|turbo| json!(turbo)));
    add("idle_states", list(machine.idle_states.iter().map(idle_state).collect()));
    let power = &machine.power;
    let value = json!({
        "cores": power.cores.iter().map(core).collect::<Vec<_>>(),
        "shared": power.shared.iter().map(shared).collect::<Vec<_>>(),
        "energy_model": machine.energy_model().iter().map(domain).collect::<Vec<_>>(),
    });
    add("power", (!power.is_empty()).then_some(value));
    keys
}

fn frequency(policy: &FreqPolicy) -> Value {
    json!({
        "cpus": policy.cpus.to_string(), "driver": policy.driver, "min_khz": policy.min_khz, "max_khz": policy.max_khz,
        "base_khz": policy.base_khz, "steps_khz": policy.steps_khz, "grain_khz": policy.grain_khz,
        "voltages": policy.voltages, "voltage_range_pct": policy.voltage_range_pct, "latency_ns": policy.latency_ns,
        "delay_ns": policy.delay_ns, "clock": policy.clock, "origin": policy.origin,
    })
}

fn idle_state(state: &IdleState) -> Value {
    json!({
        "cpus": state.cpus.to_string(), "index": state.index, "name": state.name, "description": state.description,
        "exit_latency_ns": state.exit_latency_ns, "residency_ns": state.residency_ns, "power_uw": state.power_uw,
        "disabled": state.disabled, "origin": state.origin,
    })
}

fn core(core: &CorePower) -> Value {
    let busy = match &core.busy {
        BusyPower::Coefficient(coefficient) => json!({"coefficient": coefficient}),
        BusyPower::Table { points, range_pct } => json!({"table": points, "range_pct": range_pct}),
    };
    json!({
        "cpus": core.cpus.to_string(), "busy": busy, "smt_pct": core.smt_pct, "leakage_uw": core.leakage_uw,
        "origin": core.origin,
    })
}

fn shared(shared: &SharedPower) -> Value {
    json!({
        "of": shared.scope, "cpus": shared.cpus.to_string(), "awake_uw": shared.awake_uw, "asleep_uw": shared.asleep_uw,
        "origin": shared.origin,
    })
}

fn domain(domain: &PerfDomain) -> Value {
    json!({"cpus": domain.cpus.to_string(), "states": domain.states, "origin": domain.origin})
}
