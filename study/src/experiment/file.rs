//! Reads experiment files.

use super::{Given, Place, REPEATS_MAX, Spec, SpecError, WorkloadSpec};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use wakelab_input::{Document, InputError, Table};

const KEYS: [&str; 13] = [
    "name",
    "machine",
    "kernel",
    "repeats",
    "seed",
    "time",
    "settle",
    "observer_cost",
    "pinned",
    "lenient",
    "workload",
    "variants",
    "published",
];

/// The highest number that TOML can hold.
const NUMBER_MAX: u64 = i64::MAX as u64;

impl Spec {
    /// Reads an experiment file; see docs/experiments.md.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no TOML, lacks a key or has an unknown one, or if a value is out of
    /// range.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let place = || Place::File { path: path.to_owned(), line: None, key: None };
        let text = wakelab_input::read_text(path).map_err(|e| {
            let error = SpecError { place: place(), what: e.to_string(), hint: None };
            error.with_hint("an experiment is a TOML file, such as experiments/quickstart.toml")
        })?;
        Spec::parse(path, &text)
    }

    /// Reads the text of an experiment file at `path`.
    ///
    /// # Errors
    /// Fails if the text is no TOML, lacks a key or has an unknown one, or if a value is out of range.
    pub fn parse(path: &Path, toml: &str) -> Result<Self, SpecError> {
        let document = Document::parse(path, toml)?;
        let top = document.root(&KEYS)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = text(&top, "name")?.map(|name| name.value).or(stem).unwrap_or_default();
        let machine = need_text(&top, "machine", "\"intel-1s56c112t\"")?;
        let kernel = need_text(&top, "kernel", "\"v5.19-rc1\"")?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let workloads = workloads(&top, &folder)?;
        let variants = top
            .table("variants", &["base", "with"])?
            .ok_or_else(|| missing(&top, "variants", "{ base = \"SIS_PROP\", with = \"SIS_UTIL\" }"))?;
        let base = need_text(&variants, "base", "\"SIS_PROP\"")?;
        let with = need_text(&variants, "with", "\"SIS_UTIL\"")?;
        let mut spec = Spec::with_defaults(name, (machine, kernel), workloads, (base, with));
        numbers(&mut spec, &top)?;
        spec.pinned = text(&top, "pinned")?;
        spec.lenient = top.flag("lenient")?.unwrap_or(false);
        spec.folder = folder;
        if let Some(published) = top.table("published", &["results", "search"])? {
            let file = |name| {
                let file = text(&published, name)?;
                Ok::<_, SpecError>(file.map(|file| Given { value: PathBuf::from(file.value), place: file.place }))
            };
            spec.results = file("results")?;
            spec.search = file("search")?;
        }
        Ok(spec)
    }
}

fn numbers(spec: &mut Spec, top: &Table<'_>) -> Result<(), SpecError> {
    if let Some(Given { value, place }) = number(top, "repeats", &(1..=u64::from(REPEATS_MAX)))? {
        spec.repeats = Given { value: value as u32, place };
    }
    if let Some(seed) = number(top, "seed", &(0..=NUMBER_MAX))? {
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
    match top.duration(name)? {
        Some(ns) if ns < least => Err(top.unexpected(name, "more than 0").into()),
        ns => Ok(ns.map(|ns| given(top, name, ns))),
    }
}

fn workloads(top: &Table<'_>, folder: &Path) -> Result<Vec<WorkloadSpec>, SpecError> {
    let example = "netperf:TCP_RR\", load = \"25%..200%/25%\"";
    let tables = top.tables("workload", &["name", "load", "params"])?;
    if tables.is_empty() {
        return Err(match top.get("workload") {
            None => missing(top, "workload", &format!("[{{ name = \"{example} }}]")),
            Some(_) => top.unexpected("workload", &format!("tables: [[workload]] with name = \"{example}")).into(),
        });
    }
    let workload = |table: &Table<'_>| {
        let name = need_text(table, "name", "\"netperf:TCP_RR\"")?;
        let own = if table.get("load").is_some() { None } else { WorkloadSpec::own_load(&name, folder) };
        let load = own.map_or_else(|| need_text(table, "load", "\"25%..200%/25%\""), Ok)?;
        Ok(WorkloadSpec { name, load, params: params(table)? })
    };
    tables.iter().map(workload).collect()
}

/// Returns the parameters in `params`. Which ones there are depends on the workload, which checks them.
fn params(workload: &Table<'_>) -> Result<Vec<(String, Given<u64>)>, SpecError> {
    let Some(table) = workload.map("params", "a table of whole numbers such as { send = 1900 }")? else {
        return Ok(Vec::new());
    };
    let read = |(name, _): (&str, _)| {
        let number = number(&table, name, &(0..=NUMBER_MAX))?;
        Ok((name.to_owned(), number.expect("the table has the key")))
    };
    table.entries().map(read).collect()
}

impl From<InputError> for SpecError {
    fn from(error: InputError) -> Self {
        let InputError { path, line, key, what, hint } = error;
        SpecError { place: Place::File { path, line, key }, what, hint }
    }
}

/// Returns a value with the place of its key.
fn given<T>(table: &Table<'_>, name: &str, value: T) -> Given<T> {
    Given { value, place: SpecError::from(table.wrong(name, "")).place }
}

/// Returns the text of a key; `None` if the key is not there.
fn text(table: &Table<'_>, name: &str) -> Result<Option<Given<String>>, SpecError> {
    Ok(table.any_text(name)?.map(|text| given(table, name, text.to_owned())))
}

/// Returns the text of a key that must be there, such as `example`.
fn need_text(table: &Table<'_>, name: &str, example: &str) -> Result<Given<String>, SpecError> {
    text(table, name)?.ok_or_else(|| missing(table, name, example))
}

/// Returns the whole number of a key; `None` if the key is not there.
fn number(table: &Table<'_>, name: &str, limits: &RangeInclusive<u64>) -> Result<Option<Given<u64>>, SpecError> {
    Ok(table.number(name, limits)?.map(|number| given(table, name, number)))
}

/// Returns the error that a key is missing, whose value could be `example`.
fn missing(table: &Table<'_>, name: &str, example: &str) -> SpecError {
    table.missing(name, &format!("a value such as {example}")).into()
}
