//! `[costs.NAME]`, `[scx_costs.NAME]` and `[noise]`: what things cost, and the background work.

use super::value::{origin, range};
use crate::{Cost, Costs, Noise, NoiseOrigin, Origin, ScxCosts, Unit};
use std::ops::RangeInclusive;
use wakelab_input::{InputError, Table};

/// The keys of a cost.
const KEYS: &[&str] = &["ns", "pct", "ps", "range", "source", "measured", "assumed"];

/// Reads all costs: those of the file, and for the rest `inherited`. `clusters`: whether LLCs have clusters.
pub(super) fn read(root: &Table<'_>, inherited: Option<&Costs>, clusters: bool) -> Result<Costs, InputError> {
    let tables = root.table("costs", Costs::NAMES)?;
    Costs::try_from_fn(|name, unit| {
        let table = tables.as_ref().map(|tables| tables.table(name, KEYS)).transpose()?.flatten();
        match (table, inherited) {
            (Some(table), _) => cost(&table, name, unit),
            // What is known of another machine's clusters says nothing of these.
            (None, Some(inherited)) if name == "cluster_line" && clusters && inherited.cluster_line.low == 100 => {
                Ok(Cost::unknown_cluster_line(clusters))
            }
            (None, Some(inherited)) => Ok(inherited.clone().get_mut(name).expect("all costs have a name").clone()),
            // Most machines have no clusters, and files are older than this cost.
            (None, None) if name == "cluster_line" => Ok(Cost::unknown_cluster_line(clusters)),
            (None, None) => Err(missing(root, name, unit)),
        }
    })
}

/// Reads what sched_ext costs: what the file has, and for the rest `inherited`, or what is assumed of all machines.
pub(super) fn read_scx(root: &Table<'_>, inherited: Option<&ScxCosts>) -> Result<ScxCosts, InputError> {
    let tables = root.table("scx_costs", ScxCosts::NAMES)?;
    let mut rest = inherited.cloned().unwrap_or_default();
    ScxCosts::try_from_fn(|name, unit| {
        match tables.as_ref().map(|tables| tables.table(name, KEYS)).transpose()?.flatten() {
            Some(table) => cost(&table, name, unit),
            None => Ok(rest.get_mut(name).expect("all costs have a name").clone()),
        }
    })
}

fn missing(root: &Table<'_>, name: &str, unit: Unit) -> InputError {
    let doc = Costs::DOCS[Costs::NAMES.iter().position(|known| *known == name).expect("it is one of the names")];
    let expected = format!("a table with `{}`, `range` and `source` or `assumed`: {doc}", unit.key());
    let error = root.missing(&format!("costs.{name}"), &expected);
    error.with_hint("`costs_of = \"NAME\"` at the top takes missing costs from a machine of `wakelab machine list`")
}

fn cost(table: &Table<'_>, name: &str, unit: Unit) -> Result<Cost, InputError> {
    if let Some(other) = Unit::ALL.into_iter().find(|other| *other != unit && table.get(other.key()).is_some()) {
        let what =
            format!("this cost is measured in {}; expected `{}`, found `{}`", unit.in_words(), unit.key(), other.key());
        return Err(table.error(what));
    }
    let limits = unit.limits(name);
    let value = table.need_number(unit.key(), &limits)?;
    let [low, high] = range(table, "range", &limits, (unit.key(), value))?;
    Ok(Cost { value, low, high, origin: origin(table)? })
}

/// ns, up to 1000 s: less than one kworker in most runs.
const PERIOD: RangeInclusive<u64> = 0..=1_000_000_000_000;

/// ns, up to a second, like the costs.
const RUN: RangeInclusive<u64> = 0..=1_000_000_000;

const NOISE_KEYS: &[&str] = &[
    "kworker_period_ns",
    "kworker_period_range",
    "kworker_run_ns",
    "kworker_run_range",
    "daemons",
    "daemons_range",
    "source",
    "assumed",
];

/// More daemons than any machine has.
const DAEMONS: RangeInclusive<u64> = 0..=100_000;

/// How many daemons there are where a file does not say.
const DEFAULT_DAEMONS: (u64, [u64; 2], &str) = (
    10,
    [2, 40],
    "10, 2 to 40: what LKP's jobs of benchmarks start besides the benchmark has 9 that wake up once a second (iostat, \
     vmstat, mpstat, perf stat, five that read a file; lkp-tests, include/category/benchmark), more with nodes, and \
     kcompactd wakes up twice a second; a kernel with nothing else has only that",
);

/// Reads the background work. Returns `None` if the file does not describe it.
pub(super) fn read_noise(root: &Table<'_>) -> Result<Option<(Noise, NoiseOrigin)>, InputError> {
    let Some(table) = root.table("noise", NOISE_KEYS)? else { return Ok(None) };
    let period = table.need_number("kworker_period_ns", &PERIOD)?;
    let run = table.need_number("kworker_run_ns", &RUN)?;
    if period > 0 && !(1..period).contains(&run) {
        let what = format!("kworker_run_ns is {run}; expected at least 1 and less than kworker_period_ns, {period}");
        return Err(table.error(what).with_hint("`kworker_period_ns = 0` switches the kworkers off"));
    }
    // Kworkers that are switched off need no range.
    let range_or_off = |key: &str, limits, of: (&str, u64)| match table.get(key) {
        None if period == 0 => Ok([of.1; 2]),
        _ => range(&table, key, limits, of),
    };
    let period_range = range_or_off("kworker_period_range", &PERIOD, ("kworker_period_ns", period))?;
    let run_range = range_or_off("kworker_run_range", &RUN, ("kworker_run_ns", run))?;
    let origin = origin(&table)?;
    let (daemons, daemons_range, daemons_origin) = match table.number("daemons", &DAEMONS)? {
        Some(daemons) => (daemons, range_or_off("daemons_range", &DAEMONS, ("daemons", daemons))?, origin.clone()),
        None if period == 0 => (0, [0; 2], origin.clone()),
        None => {
            let (daemons, range, why) = DEFAULT_DAEMONS;
            (daemons, range, Origin::Assumed(why.to_owned()))
        }
    };
    let noise = Noise { kworker_period_ns: period, kworker_run_ns: run, daemons };
    Ok(Some((noise, NoiseOrigin { period_range, run_range, origin, daemons_range, daemons_origin })))
}
