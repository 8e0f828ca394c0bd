//! What nobody published of a machine's power management; it counts where a side has a governor.

use super::Assumed;
use wakelab_machine::{Amount, BusyPower, Machine, Origin};

/// The assumed powers, of which none decides how fast anything runs, and when cores are demoted, which does.
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
