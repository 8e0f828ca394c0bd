//! Reads experiment files.

use super::toml_table::{Source, Table};
use super::{Given, Place, REPEATS_MAX, Spec, SpecError, TIME_MAX_NS, WorkloadSpec, parse_time};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 11] = [
    "name",
    "machine",
    "kernel",
    "repeats",
    "seed",
    "time",
    "settle",
    "observer_cost",
    "workload",
    "variants",
    "published",
];

impl Spec {
    /// Reads an experiment file; see docs/experiments.md.
    ///
    /// # Errors
    /// Where it cannot be read, is no TOML, lacks a key or has one that is not known, or holds what is no value for it.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let place = || Place::File { path: path.to_owned(), line: None, key: None };
        let text = std::fs::read_to_string(path).map_err(|e| {
            let error = SpecError { place: place(), what: e.to_string(), hint: None };
            error.with_hint("an experiment is a TOML file, such as experiments/quickstart.toml")
        })?;
        Spec::parse(path, &text)
    }

    /// Reads the text of an experiment file that lies at `path`.
    ///
    /// # Errors
    /// The same.
    pub fn parse(path: &Path, text: &str) -> Result<Self, SpecError> {
        let source = Source { path, text };
        let root = DeTable::parse(text)
            .map_err(|e| source.error(e.span().map(|span| span.start), None, e.message().trim_end()))?;
        let top = Table::new(source, "", 0, root.get_ref(), &KEYS)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = top.text("name", "\"quickstart\"")?.map(|name| name.value).or(stem).unwrap_or_default();
        let hosts = (top.need_text("machine", "\"intel-1s56c112t\"")?, top.need_text("kernel", "\"v5.19-rc1\"")?);
        let workloads = workloads(source, &top)?;
        let variants = sub_table(source, &top, "variants", &["base", "with"])?
            .ok_or_else(|| top.missing("variants", "{ base = \"SIS_PROP\", with = \"SIS_UTIL\" }"))?;
        let sides = (variants.need_text("base", "\"SIS_PROP\"")?, variants.need_text("with", "\"SIS_UTIL\"")?);
        let mut spec = Spec::with_defaults(name, hosts, workloads, sides);
        numbers(&mut spec, &top)?;
        spec.folder = path.parent().map(Path::to_owned).unwrap_or_default();
        if let Some(published) = sub_table(source, &top, "published", &["results", "search"])? {
            let file = |name| {
                let file = published.text(name, "\"../published/sis_util-results.csv\"")?;
                Ok(file.map(|file| Given { value: PathBuf::from(file.value), place: file.place }))
            };
            spec.results = file("results")?;
            spec.search = file("search")?;
        }
        Ok(spec)
    }
}

fn numbers(spec: &mut Spec, top: &Table<'_>) -> Result<(), SpecError> {
    if let Some(Given { value, place }) = top.number("repeats", 1, u64::from(REPEATS_MAX))? {
        spec.repeats = Given { value: value as u32, place };
    }
    if let Some(seed) = top.number("seed", 0, i64::MAX as u64)? {
        spec.seed = seed.value;
    }
    if let Some(time) = time(top, "time", 1)? {
        spec.time_ns = time;
    }
    if let Some(settle) = time(top, "settle", 0)? {
        spec.settle_ns = settle;
    }
    if let Some(cost) = time(top, "observer_cost", 0)? {
        spec.observer_cost_ns = cost.value;
    }
    Ok(())
}

fn time(top: &Table<'_>, name: &str, least: u64) -> Result<Option<Given<u64>>, SpecError> {
    let Some(text) = top.text(name, "\"600ms\"")? else { return Ok(None) };
    let ns = parse_time(&text.value).map_err(|what| text.error(what))?;
    if ns < least {
        return Err(text.error(format!("expected more than 0, at most {} s", TIME_MAX_NS / 1_000_000_000)));
    }
    Ok(Some(Given { value: ns, place: text.place }))
}

fn workloads(source: Source<'_>, top: &Table<'_>) -> Result<Vec<WorkloadSpec>, SpecError> {
    let example = "netperf:TCP_RR\", load = \"25%..200%/25%\"";
    let missing = || top.missing("workload", &format!("[{{ name = \"{example} }}]"));
    let value = top.get("workload").ok_or_else(missing)?;
    let wrong = |value| top.wrong("workload", value, format!("expected tables: [[workload]] with name = \"{example}"));
    let array = value.get_ref().as_array().filter(|array| !array.is_empty()).ok_or_else(|| wrong(value))?;
    let workload = |value| {
        let table = as_table(value).ok_or_else(|| wrong(value))?;
        let table = Table::new(source, "workload", value.span().start, table, &["name", "load", "params"])?;
        Ok(WorkloadSpec {
            name: table.need_text("name", "\"netperf:TCP_RR\"")?,
            load: table.need_text("load", "\"25%..200%/25%\"")?,
            params: params(source, &table)?,
        })
    };
    array.iter().map(workload).collect()
}

/// The numbers in `params`. Which there are, the workload knows.
fn params(source: Source<'_>, workload: &Table<'_>) -> Result<Vec<(String, Given<u64>)>, SpecError> {
    let Some(value) = workload.get("params") else { return Ok(Vec::new()) };
    let table = as_table(value)
        .ok_or_else(|| workload.wrong("params", value, "expected a table of whole numbers, { send_ns = 1900 }"))?;
    let names: Vec<&str> = table.keys().map(|key| key.get_ref().as_ref()).collect();
    let table = Table::new(source, "workload.params", value.span().start, table, &names)?;
    table
        .entries()
        .map(|(name, _)| {
            let number = table.number(name, 0, i64::MAX as u64)?;
            Ok((name.to_owned(), number.expect("the key was listed")))
        })
        .collect()
}

fn sub_table<'a>(
    source: Source<'a>,
    top: &Table<'a>,
    name: &str,
    keys: &[&str],
) -> Result<Option<Table<'a>>, SpecError> {
    let Some(value) = top.get(name) else { return Ok(None) };
    let wrong = || top.wrong(name, value, format!("expected a table with {}", keys.join(", ")));
    let table = as_table(value).ok_or_else(wrong)?;
    Table::new(source, name, value.span().start, table, keys).map(Some)
}

fn as_table<'a>(value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
    value.get_ref().as_table()
}
