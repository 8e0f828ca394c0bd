//! The assumed numbers of an experiment, which no source gives.

use super::{Assumed, Block, Variant};
use wakelab_machine::{Amount, BusyPower, Machine, Origin};

/// Returns the assumed numbers that these sides of a block use: of the machine, including its background work, and of
/// every workload, each once.
pub(super) fn assumed(block: &Block, sides: &[&Variant]) -> Vec<Assumed> {
    let mut all: Vec<Assumed> = Vec::new();
    let mut costs = block.machine.costs.list();
    if sides.iter().any(|side| side.scheduler.is_some()) {
        costs.extend(block.machine.scx_costs.list());
    }
    for (name, unit, _, cost) in costs {
        // One value is no range: nothing reads the cost of a cluster's lines where there are no clusters.
        if let Origin::Assumed(why) = &cost.origin
            && cost.low != cost.high
        {
            all.push(Assumed {
                of: "machine".to_owned(),
                name: name.to_owned(),
                unit: unit.suffix().to_owned(),
                value: cost.value,
                low: cost.low,
                high: cost.high,
                why: why.clone(),
            });
        }
    }
    all.extend(of_noise(&block.machine));
    if sides.iter().any(|side| side.acts_without_flips().is_some()) {
        all.extend(of_daemons(&block.machine));
    }
    if sides.iter().any(|side| side.pm.is_some()) {
        all.extend(of_power(&block.machine));
    }
    for case in &block.cases {
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

/// Returns the two numbers of the background work, which makes runs differ; none if there is no such work.
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

/// Returns the number of daemons, if it is assumed.
fn of_daemons(machine: &Machine) -> Option<Assumed> {
    let (noise, of) = (machine.noise, &machine.noise_origin);
    let Origin::Assumed(why) = &of.daemons_origin else { return None };
    let [low, high] = of.daemons_range;
    (low != high).then(|| Assumed {
        of: "machine".to_owned(),
        name: "daemons".to_owned(),
        unit: "/s".to_owned(),
        value: noise.daemons,
        low,
        high,
        why: why.clone(),
    })
}

/// Returns the assumed powers, which do not affect how fast anything runs, and the limit at which cores are demoted,
/// which does.
pub(super) fn of_power(machine: &Machine) -> Vec<Assumed> {
    let mut all = Vec::new();
    for core in &machine.power.cores {
        let mut add = |name: &str, unit, amount| {
            add(&mut all, &format!("power {}: {name}", core.cpus), unit, amount, &core.origin)
        };
        if let BusyPower::Coefficient(dynamic) = &core.busy {
            add("dynamic", "uW/(MHz V²)", dynamic);
        }
        add("smt_pct", "%", &core.smt_pct);
        add("leakage_uw", "uW", &core.leakage_uw);
    }
    for shared in &machine.power.shared {
        let of = format!("{:?} {}", shared.scope, shared.cpus).to_lowercase();
        add(&mut all, &format!("{of}: awake_uw"), "uW", &shared.awake_uw, &shared.origin);
        add(&mut all, &format!("{of}: asleep_uw"), "uW", &shared.asleep_uw, &shared.origin);
    }
    for state in &machine.idle_states {
        if let Some(power) = &state.power_uw {
            add(&mut all, &format!("idle {} {}: power_uw", state.cpus, state.name), "uW", power, &state.origin);
        }
    }
    if let Some(demotion) = &machine.demotion {
        add(&mut all, DEMOTION, "us", &demotion.below_us, &demotion.origin);
    }
    all
}

/// The name of the limit between short and long sleeps.
pub(crate) const DEMOTION: &str = "demotion: below_us";

fn add(all: &mut Vec<Assumed>, name: &str, unit: &str, amount: &Amount, origin: &Origin) {
    let Origin::Assumed(why) = origin else { return };
    all.push(Assumed {
        of: "machine".to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        value: amount.value,
        low: amount.low,
        high: amount.high,
        why: why.clone(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_assumed_number_of_the_sandy_bridge_is_listed_with_its_range() {
        let all = of_power(&wakelab_machine::get("i7-2600k").unwrap());
        let names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
        for name in
            ["power 0-7: dynamic", "power 0-7: leakage_uw", "package 0-7: awake_uw", "idle 0-7 C1: power_uw", DEMOTION]
        {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
        assert!(all.iter().all(|one| one.low <= one.value && one.value <= one.high && !one.why.is_empty()));
    }
}
