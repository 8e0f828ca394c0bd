//! `[scaled]` and `[reference]`: costs of another machine times ratios, and what such ratios are taken from.

use super::value::{need_amount, origin};
use crate::counts::has_clusters;
use crate::scaled::{From, Speed, costs};
use crate::{
    Amount, Cost, Costs, Counts, Machine, MachineFile, Noise, NoiseOrigin, Origin, Reference, ScxCosts, builtin,
};
use std::ops::RangeInclusive;
use std::path::Path;
use wakelab_input::{Document, InputError, Table};
use wakelab_sched::domain::Topology;

/// MHz.
const CLOCK: RangeInclusive<u64> = 1..=100_000;

/// ns, of a cache line.
const LINE: RangeInclusive<u64> = 1..=100_000;

/// How many times as much or as little a machine's clock or line may be: more was meant to be in another unit.
const RATIO_MAX: u64 = 20;

/// The values that a file takes from another machine: costs, and background work.
#[derive(Debug)]
pub(super) struct Inherited {
    pub(super) costs: Costs,
    pub(super) scx_costs: ScxCosts,
    pub(super) noise: Noise,
    pub(super) noise_origin: NoiseOrigin,
}

impl Inherited {
    /// Everything as it is there.
    pub(super) fn all_of(machine: Machine) -> Self {
        Inherited {
            costs: machine.costs,
            scx_costs: machine.scx_costs,
            noise: machine.noise,
            noise_origin: machine.noise_origin,
        }
    }
}

/// Reads what other machines' costs can be scaled from. Returns `None` if the file has none.
pub(super) fn read_reference(root: &Table<'_>) -> Result<Option<Reference>, InputError> {
    let Some(table) = root.table("reference", &["clock", "llc_line", "far_line"])? else { return Ok(None) };
    if let Some(other) = ["costs_of", "scaled"].into_iter().find(|key| root.get(key).is_some()) {
        let what = format!("only costs that the file itself gives can be scaled from; found `{other}` too");
        return Err(table.error(what));
    }
    let line = |key: &str| -> Result<_, InputError> {
        let line = table.need_table(key, &["ns", "source", "assumed"])?;
        Ok((line.need_number("ns", &LINE)?, origin(&line)?))
    };
    Ok(Some(Reference { clock: clock(&table)?, llc_line: line("llc_line")?, far_line: line("far_line")? }))
}

/// Reads `[scaled]`, and computes the costs. Returns `None` if the file has none.
pub(super) fn read(root: &Table<'_>, topology: &Topology, split_llc: bool) -> Result<Option<Inherited>, InputError> {
    let keys = &["from", "clock", "cluster_line", "llc_line", "far_line"];
    let Some(table) = root.table("scaled", keys)? else { return Ok(None) };
    if root.get("costs_of").is_some() {
        let what = "give `costs_of`, which takes costs as they are, or `scaled`, not both";
        return Err(table.error(what));
    }
    let (name, from, reference) = need_from(&table)?;
    let llc_line = need_line(&table, "llc_line")?;
    let counts = Counts::of(topology);
    let llcs = if split_llc { counts.packages } else { counts.llcs };
    let far_line = match (table.get("far_line").is_some(), llcs > 1) {
        (true, false) => return Err(table.wrong("far_line", "the machine has only one LLC; remove this table")),
        (_, true) => Some(need_line(&table, "far_line")?),
        (false, false) => None,
    };
    let clusters = has_clusters(topology);
    let cluster_line = match table.get("cluster_line").is_some() {
        true if !clusters => {
            return Err(table.wrong("cluster_line", "the LLCs have no clusters of cores; remove this table"));
        }
        true => Some(need_line(&table, "cluster_line")?),
        false => None,
    };
    let (llc_cpus_max, smt) = (llc_cpus(topology), counts.threads_max > 1);
    let speed =
        Speed { clock: clock(&table)?, clusters, cluster_line, llc_line, far_line, llc_cpus: llc_cpus_max, smt };
    check(&table, &speed, &reference, name)?;
    let llc_cpus = llc_cpus(&from.topology);
    let costs = costs(From { name, costs: &from.costs, reference: &reference, llc_cpus }, &speed);
    let line = |(Amount { value, low, high }, origin): &(Amount, Origin)| Cost {
        value: *value,
        low: *low,
        high: *high,
        origin: origin.clone(),
    };
    let scx_costs = from.scx_costs.with_lines(line(&speed.llc_line), speed.far_line.as_ref().map(line));
    let origin = Origin::Assumed(format!("that of {name}: nothing is published"));
    Ok(Some(Inherited {
        costs,
        scx_costs,
        noise: from.noise,
        noise_origin: NoiseOrigin { origin, ..from.noise_origin },
    }))
}

/// The machine that costs are scaled from. Only a built-in one with costs of its own, so that there are no cycles.
fn need_from<'a>(table: &Table<'a>) -> Result<(&'a str, Machine, Reference), InputError> {
    let name = table.need_text("from", "the name of a machine of `wakelab machine list`")?;
    let (file, text) = builtin::text(name).map_err(|error| {
        let what = format!("`{name}`: {}", error.what);
        table.wrong("from", what).with_hint_if(error.hint)
    })?;
    let has_reference = Document::parse(Path::new(file), text)?.root(super::KEYS)?.get("reference").is_some();
    let found = if has_reference { Some(MachineFile::from_toml(text, file)?) } else { None };
    match found.map(|found| (found.machine, found.reference)) {
        Some((machine, Some(reference))) => Ok((name, machine, reference)),
        _ => {
            let what = format!("{name} has costs of another machine, and no table [reference] to scale by");
            Err(table.wrong("from", what).with_hint("`intel-1s56c112t` has both"))
        }
    }
}

fn clock(table: &Table<'_>) -> Result<(u64, Origin), InputError> {
    let clock = table.need_table("clock", &["mhz", "source", "assumed"])?;
    Ok((clock.need_number("mhz", &CLOCK)?, origin(&clock)?))
}

fn need_line(table: &Table<'_>, key: &str) -> Result<(Amount, Origin), InputError> {
    let line = table.need_table(key, &["ns", "range", "source", "assumed"])?;
    Ok((need_amount(&line, "ns", "range", &LINE)?, origin(&line)?))
}

/// Refuses a machine that is too far from the one that it is scaled from, or whose other LLCs are nearer than its own.
fn check(table: &Table<'_>, speed: &Speed, reference: &Reference, name: &str) -> Result<(), InputError> {
    let far_line = speed.far_line.as_ref().map(|(line, _)| line.value);
    let all = [
        ("clock", Some(speed.clock.0), reference.clock.0, "MHz"),
        ("llc_line", Some(speed.llc_line.0.value), reference.llc_line.0, "ns"),
        ("far_line", far_line, reference.far_line.0, "ns"),
    ];
    for (key, value, of, unit) in all {
        let Some(value) = value.filter(|&value| value > RATIO_MAX * of || value * RATIO_MAX < of) else { continue };
        let what = format!("{value} {unit} differs by more than {RATIO_MAX} times from the {of} {unit} of {name}");
        return Err(table.wrong(key, what));
    }
    if let Some((cluster, _)) = &speed.cluster_line {
        let llc = speed.llc_line.0.value;
        if cluster.high > llc {
            let what = format!("{} to {} ns; expected at most llc_line's {llc} ns", cluster.low, cluster.high);
            return Err(table.wrong("cluster_line", what));
        }
    }
    if let Some((far, _)) = &speed.far_line {
        let near = &speed.llc_line.0;
        if far.value < near.value || far.low < near.low || far.high < near.high {
            let what = format!(
                "{} ns ({} to {}) is less than llc_line's {} ns ({} to {}); expected at least as much",
                far.value, far.low, far.high, near.value, near.low, near.high
            );
            return Err(table.wrong("far_line", what));
        }
    }
    Ok(())
}

/// The most CPUs that an LLC has.
fn llc_cpus(topology: &Topology) -> u64 {
    let mut cpus = std::collections::BTreeMap::<u32, u64>::new();
    for cpu in &topology.cpus {
        *cpus.entry(cpu.llc).or_default() += 1;
    }
    cpus.into_values().max().unwrap_or(1)
}
