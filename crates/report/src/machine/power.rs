//! A machine's power management, as it is shown.

use super::{from, with_text_at_end};
use crate::numbers::{duration, thousands};
use crate::table::table;
use std::fmt::Write;
use wakelab_machine::{Amount, BusyPower, Clock, FreqPolicy, Machine, Scope};

/// Frequencies, turbo, idle states and power; nothing of a machine that has none.
pub(super) fn text(machine: &Machine) -> String {
    frequencies(machine) + &turbo(machine) + &idle_states(machine) + &power(machine)
}

/// A line for all policies that differ in nothing but their CPUs.
fn frequencies(machine: &Machine) -> String {
    let alike = |a: &FreqPolicy, b: &FreqPolicy| FreqPolicy { cpus: b.cpus.clone(), ..a.clone() } == *b;
    let mut rows: Vec<(&FreqPolicy, u32, u32)> = Vec::new();
    for policy in &machine.frequencies {
        match rows.iter_mut().find(|(row, ..)| alike(row, policy)) {
            Some((_, policies, cpus)) => (*policies, *cpus) = (*policies + 1, *cpus + policy.cpus.weight()),
            None => rows.push((policy, 1, policy.cpus.weight())),
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let headers = ["policies", "CPUs", "MHz", "base", "points", "volts", "change", "clock of a", "from"];
    let mut list = table(&headers, 1);
    for (policy, policies, cpus) in rows {
        let volts = |khz| policy.uv(khz).map(|uv| format!("{:.3}", uv as f64 / 1e6));
        let volts = volts(policy.min_khz).zip(volts(policy.max_khz)).map(|(low, high)| format!("{low}..{high}"));
        list.add_row([
            policies.to_string(),
            cpus.to_string(),
            format!("{}..{}", mhz(policy.min_khz), mhz(policy.max_khz)),
            policy.base_khz.map_or_else(String::new, mhz),
            Some(policy.targets_khz().len()).filter(|&n| n > 0).map_or_else(|| "any".to_owned(), |n| n.to_string()),
            volts.unwrap_or_default(),
            policy.latency_ns.map_or_else(String::new, duration),
            match policy.clock {
                Clock::Policy => "policy".to_owned(),
                Clock::Core => "core".to_owned(),
                Clock::Package => "package".to_owned(),
            },
            from(&policy.origin),
        ]);
    }
    format!("\nFrequencies\n\n{}", with_text_at_end(list))
}

fn turbo(machine: &Machine) -> String {
    let Some(turbo) = &machine.turbo else { return String::new() };
    let bin = |bin: &wakelab_machine::TurboBin| format!("{} with {}", mhz(bin.khz), bin.cores);
    let bins: Vec<_> = turbo.bins.iter().map(bin).collect();
    format!("\nTurbo, MHz by active cores: {}\n  {}\n", bins.join(", "), from(&turbo.origin))
}

fn idle_states(machine: &Machine) -> String {
    if machine.idle_states.is_empty() {
        return String::new();
    }
    let mut list = table(&["idle state", "CPUs", "exit", "residency", "mW", "range", "from"], 1);
    for state in &machine.idle_states {
        let off = if state.disabled { " (off)" } else { "" };
        list.add_row([
            format!("{} {}{off}", state.index, state.name),
            state.cpus.weight().to_string(),
            duration(state.exit_latency_ns),
            duration(state.residency_ns),
            state.power_uw.map_or_else(String::new, |power| mw(power.value)),
            state.power_uw.as_ref().map_or_else(String::new, range),
            from(&state.origin),
        ]);
    }
    format!("\nIdle states\n\n{}", with_text_at_end(list))
}

fn power(machine: &Machine) -> String {
    if machine.power.is_empty() {
        return String::new();
    }
    let mut list = table(&["power", "CPUs", "mW", "range", "from"], 1);
    for core in &machine.power.cores {
        let policy = core.cpus.first().and_then(|cpu| machine.frequencies.iter().find(|p| p.cpus.test(cpu)));
        let cpus = core.cpus.to_string();
        let at = |khz: u64| mw(core.busy_uw(khz, policy.and_then(|policy| policy.uv(khz))));
        let (name, range_of) = match &core.busy {
            BusyPower::Coefficient(c) => (format!("core, {} uW/MHz/V²", c.value), range_of(c, 1)),
            BusyPower::Table { range_pct: [low, high], .. } => ("core".to_owned(), format!("{low}..{high} %")),
        };
        let ends = policy.map_or_else(String::new, |policy| format!("{}..{}", at(policy.min_khz), at(policy.max_khz)));
        list.add_row([name, cpus.clone(), ends, range_of, from(&core.origin)]);
        if core.smt_pct.high > 100 {
            let value = format!("× {} %", core.smt_pct.value);
            list.add_row([
                "with a busy sibling".to_owned(),
                cpus.clone(),
                value,
                range_of_pct(&core.smt_pct),
                String::new(),
            ]);
        }
        if core.leakage_uw.high > 0 {
            list.add_row([
                "leakage".to_owned(),
                cpus,
                mw(core.leakage_uw.value),
                range(&core.leakage_uw),
                String::new(),
            ]);
        }
    }
    for shared in &machine.power.shared {
        let of = if shared.scope == Scope::Cluster { "cluster" } else { "package" };
        for (state, power, origin) in
            [("awake", &shared.awake_uw, from(&shared.origin)), ("asleep", &shared.asleep_uw, String::new())]
        {
            list.add_row([format!("{of} {state}"), shared.cpus.to_string(), mw(power.value), range(power), origin]);
        }
    }
    let mut text = format!("\nPower\n\n{}", with_text_at_end(list));
    for domain in machine.energy_model() {
        let ends = [domain.states.first(), domain.states.last()].map(|state| state.map_or(0, |&(_, uw)| uw));
        let n = domain.states.len();
        let _ = writeln!(
            text,
            "Energy model of CPUs {}: {} to {} mW a CPU in {n} operating points",
            domain.cpus,
            mw(ends[0]),
            mw(ends[1])
        );
    }
    text
}

fn mhz(khz: u64) -> String {
    thousands(khz / 1000)
}

fn mw(uw: u64) -> String {
    thousands((uw + 500) / 1000)
}

fn range(amount: &Amount) -> String {
    range_of(amount, 1000)
}

fn range_of(amount: &Amount, unit: u64) -> String {
    format!("{}..{}", thousands(amount.low / unit), thousands(amount.high / unit))
}

fn range_of_pct(amount: &Amount) -> String {
    format!("{}..{} %", amount.low, amount.high)
}
