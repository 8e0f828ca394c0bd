//! `[[frequency]]` and `[turbo]`: the frequencies of policies, and how fast cores may run together.

use super::topology::COUNT;
use super::value::{KHZ, Points, need_cpus, origin, range_pct};
use crate::{Clock, FreqPolicy, IdleState, Turbo, TurboBin};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::MAX_CPUS;

/// Numbers of policies: there are no more of them than CPUs.
const POLICY: RangeInclusive<u64> = 0..=MAX_CPUS as u64 - 1;

/// us, up to a second.
const US: RangeInclusive<u64> = 0..=1_000_000;

const KEYS: &[&str] = &[
    "cpus",
    "policy",
    "min_khz",
    "max_khz",
    "base_khz",
    "steps_khz",
    "grain_khz",
    "opps",
    "voltages",
    "voltage_range_pct",
    "latency_us",
    "delay_us",
    "clock",
    "driver",
    "source",
    "assumed",
];

const VOLTAGES: Points = Points {
    what: "voltage",
    unit: "uV",
    hint: "a faster operating point that needs no higher voltage makes the slower one useless: check the table",
    may_stay: true,
};

/// Reads the policies, by their lowest CPU.
pub(super) fn read(root: &Table<'_>, nr_cpus: u32) -> Result<Vec<FreqPolicy>, InputError> {
    let mut policies: BTreeMap<u64, FreqPolicy> = BTreeMap::new();
    let mut all = CpuMask::new(nr_cpus);
    for table in root.tables("frequency", KEYS)? {
        let cpus = need_cpus(&table, nr_cpus)?;
        if cpus.intersects(&all) {
            return Err(table.error("some of these CPUs already have frequencies; expected each CPU once"));
        }
        all.or_with(&cpus);
        let numbers = policy_numbers(&table, &cpus)?;
        if let Some(number) = numbers.iter().find(|number| policies.contains_key(number)) {
            return Err(
                table.error(format!("policy {number} is already in a row above; expected each policy in one row"))
            );
        }
        let row = read_policy(&table, CpuMask::new(nr_cpus))?;
        for (cpu, number) in cpus.iter().zip(numbers) {
            policies.entry(number).or_insert_with(|| row.clone()).cpus.set(cpu);
        }
    }
    let mut policies: Vec<_> = policies.into_values().collect();
    policies.sort_by_key(|policy| policy.cpus.first());
    Ok(policies)
}

/// The policy of each CPU of a row: one number for all, which change their frequency together, or a list.
fn policy_numbers(table: &Table<'_>, cpus: &CpuMask) -> Result<Vec<u64>, InputError> {
    let Some(value) = table.get("policy") else {
        return Err(table.missing("policy", "the number of the policy, or a list with one for each CPU of the row"));
    };
    let count = cpus.weight() as usize;
    if !value.get_ref().is_array() {
        return Ok(vec![table.number_at("policy", value, &POLICY)?; count]);
    }
    let numbers = table.numbers("policy", &POLICY)?.unwrap_or_default();
    if numbers.len() != count {
        let what = format!("policy has {} numbers; expected one for each of the row's {count} CPUs", numbers.len());
        return Err(table.error(what));
    }
    Ok(numbers)
}

/// Reads what all policies of a row have in common. `cpus` has none yet.
fn read_policy(table: &Table<'_>, cpus: CpuMask) -> Result<FreqPolicy, InputError> {
    let opps = VOLTAGES.read(table, "opps")?;
    let instead = ["steps_khz", "voltages", "grain_khz"].into_iter().find(|key| table.get(key).is_some());
    if let (Some(_), Some(key)) = (&opps, instead) {
        return Err(table.error(format!("give `opps` or `{key}`, not both")));
    }
    let ends = opps.as_ref().map(|opps| [opps[0].0, opps[opps.len() - 1].0]);
    let end = |key: &str, limits: RangeInclusive<u64>, which: usize| match (table.number(key, &limits)?, ends) {
        (None, Some(ends)) => Ok(ends[which]),
        _ => table.need_number(key, &limits),
    };
    let min_khz = end("min_khz", 0..=*KHZ.end(), 0)?;
    let max_khz = end("max_khz", KHZ, 1)?;
    if min_khz > max_khz {
        return Err(table.error(format!("max_khz = {max_khz}; expected min_khz, {min_khz}, or more")));
    }
    if let Some([low, high]) = ends.filter(|&[low, high]| low < min_khz || high > max_khz) {
        let what = format!(
            "`opps` range from {low} to {high} kHz; expected them to lie between min_khz, {min_khz}, and max_khz, \
             {max_khz}"
        );
        return Err(table.error(what));
    }
    let steps_khz = table.numbers("steps_khz", &KHZ)?.unwrap_or_default();
    if !steps_khz.is_sorted_by(|a, b| a < b) {
        return Err(table.error("expected `steps_khz` in ascending order, each once"));
    }
    let grain_khz = table.number("grain_khz", &KHZ)?;
    if grain_khz.is_some() && !steps_khz.is_empty() {
        let error = table.error("give `steps_khz` or `grain_khz`, not both");
        return Err(error.with_hint("a driver with a table has steps; one that chooses freely has a grain"));
    }
    let steps_khz = opps.as_ref().map_or(steps_khz, |opps| opps.iter().map(|&(khz, _)| khz).collect());
    let ns = |key: &str| table.number(key, &US).map(|us| us.map(|us| us * 1000));
    let clocks = [("policy", Clock::Policy), ("core", Clock::Core), ("package", Clock::Package)];
    Ok(FreqPolicy {
        cpus,
        driver: table.text("driver")?.map(str::to_owned),
        min_khz,
        max_khz,
        base_khz: table.number("base_khz", &KHZ)?,
        steps_khz,
        grain_khz,
        voltages: match opps {
            Some(opps) => opps,
            None => VOLTAGES.read(table, "voltages")?.unwrap_or_default(),
        },
        voltage_range_pct: match table.get("voltage_range_pct") {
            Some(_) => range_pct(table, "voltage_range_pct")?,
            None => [100; 2],
        },
        latency_ns: ns("latency_us")?,
        delay_ns: ns("delay_us")?,
        clock: table.choice("clock", &clocks)?.unwrap_or(Clock::Policy),
        origin: origin(table)?,
    })
}

/// Reads what limits turbo. Returns `None` if the file does not mention it. `policies` and `states` are the machine's.
pub(super) fn read_turbo(
    root: &Table<'_>,
    policies: &[FreqPolicy],
    states: &[IdleState],
) -> Result<Option<Turbo>, InputError> {
    let keys = &["khz", "cores", "active_states", "source", "assumed"];
    let Some(table) = root.table("turbo", keys)? else { return Ok(None) };
    let Some(highest) = policies.iter().map(|policy| policy.max_khz).max() else {
        let error = table.error("the machine has no frequencies");
        return Err(error.with_hint("`[[frequency]]` lists the frequencies of the CPUs; turbo limits them"));
    };
    let khz = table.numbers("khz", &KHZ)?.filter(|khz| !khz.is_empty());
    let khz = khz.ok_or_else(|| table.missing("khz", "a list: the highest frequency with 1, 2... active cores"))?;
    if let Some(pair) = khz.windows(2).find(|pair| pair[1] > pair[0]) {
        let what =
            format!("khz has {} after {}; expected it not to rise with the number of active cores", pair[1], pair[0]);
        return Err(table.error(what).with_hint("the first is for one active core, which can run the fastest"));
    }
    if khz[0] > highest {
        let what =
            format!("khz begins with {}; expected at most {highest}, the highest max_khz of `[[frequency]]`", khz[0]);
        return Err(table.error(what).with_hint("max_khz includes turbo"));
    }
    let cores = match table.numbers("cores", &COUNT)? {
        None => (1..=khz.len() as u64).collect(),
        Some(cores) if cores.len() != khz.len() => {
            let what = format!("cores has {} numbers; expected one for each of khz, {}", cores.len(), khz.len());
            return Err(table.error(what));
        }
        Some(cores) if !cores.is_sorted_by(|a, b| a < b) => {
            return Err(table.error("expected `cores` in ascending order, each once"));
        }
        Some(cores) => cores,
    };
    let bins = cores.into_iter().zip(khz).map(|(cores, khz)| TurboBin { cores: cores as u32, khz }).collect();
    let active_states = table.texts("active_states")?.unwrap_or_default();
    if let Some(name) = active_states.iter().find(|name| !states.iter().any(|state| state.name == **name)) {
        let error = table.error(format!("active_states has {name}, but no `[[idle]]` has that name"));
        return Err(error.with_hint("these are the states in which a core still counts as active, such as C1"));
    }
    let active_states = active_states.into_iter().map(str::to_owned).collect();
    Ok(Some(Turbo { bins, active_states, origin: origin(&table)? }))
}
