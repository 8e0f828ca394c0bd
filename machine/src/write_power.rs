//! Writing turbo, idle states and power.

use crate::write::{origin, quoted};
use crate::write_frequency::points;
use crate::{Amount, BusyPower, Machine, Scope};
use std::fmt::Write;

// Writing to a string does not fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

pub(crate) fn write(text: &mut String, machine: &Machine) {
    crate::write_frequency::write(text, machine);
    if let Some(turbo) = &machine.turbo {
        let khz: Vec<_> = turbo.bins.iter().map(|bin| bin.khz).collect();
        let cores: Vec<_> = turbo.bins.iter().map(|bin| bin.cores).collect();
        line!(text, "\n[turbo]\nkhz = {khz:?}\ncores = {cores:?}");
        if !turbo.active_states.is_empty() {
            line!(
                text,
                "active_states = [{}]",
                turbo.active_states.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            );
        }
        line!(text, "{}", origin(&turbo.origin));
    }
    if let Some(demotion) = &machine.demotion {
        line!(text, "\n[demotion]\nto = {}", quoted(&demotion.to));
        amount(text, "below_us", "below_range", &demotion.below_us);
        line!(text, "{}", origin(&demotion.origin));
    }
    for state in &machine.idle_states {
        line!(text, "\n[[idle]]\ncpus = \"{}\"\nindex = {}\nname = {}", state.cpus, state.index, quoted(&state.name));
        if let Some(description) = &state.description {
            line!(text, "description = {}", quoted(description));
        }
        line!(text, "exit_latency_ns = {}\nresidency_ns = {}", state.exit_latency_ns, state.residency_ns);
        if let Some(power) = &state.power_uw {
            amount(text, "power_uw", "power_range", power);
        }
        if state.disabled {
            line!(text, "disabled = true");
        }
        line!(text, "{}", origin(&state.origin));
    }
    power(text, machine);
}

fn power(text: &mut String, machine: &Machine) {
    for core in &machine.power.cores {
        line!(text, "\n[[power]]\ncpus = \"{}\"", core.cpus);
        match &core.busy {
            BusyPower::Coefficient(dynamic) => amount(text, "dynamic", "dynamic_range", dynamic),
            BusyPower::Table { points: table, range_pct } => {
                line!(text, "busy_uw = {}\nbusy_range_pct = {range_pct:?}", points(table));
            }
        }
        amount(text, "smt_pct", "smt_range", &core.smt_pct);
        amount(text, "leakage_uw", "leakage_range", &core.leakage_uw);
        line!(text, "{}", origin(&core.origin));
    }
    for shared in &machine.power.shared {
        let of = if shared.scope == Scope::Cluster { "cluster" } else { "package" };
        line!(text, "\n[[shared_power]]\nof = \"{of}\"\ncpus = \"{}\"", shared.cpus);
        amount(text, "awake_uw", "awake_range", &shared.awake_uw);
        amount(text, "asleep_uw", "asleep_range", &shared.asleep_uw);
        line!(text, "{}", origin(&shared.origin));
    }
    for domain in &machine.power.energy_model {
        line!(text, "\n[[energy_model]]\ncpus = \"{}\"\nopps = {}", domain.cpus, points(&domain.states));
        line!(text, "{}", origin(&domain.origin));
    }
}

fn amount(text: &mut String, key: &str, range: &str, amount: &Amount) {
    line!(text, "{key} = {}\n{range} = [{}, {}]", amount.value, amount.low, amount.high);
}
