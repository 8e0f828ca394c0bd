//! Reads experiment files.

use super::flags::kernels;
use super::side::{BASE, check_name};
use super::{Given, NamedSide, Place, REPEATS_MAX, Spec, SpecError, WorkloadSpec};
use crate::compare::Until;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use wakelab_input::{Document, InputError, Table, Value, did_you_mean, shortened};

const KEYS: [&str; 17] = [
    "name",
    "machine",
    "machines",
    "kernel",
    "kernels",
    "repeats",
    "until",
    "max_repeats",
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
    /// Reads an experiment file; see docs/compare.md.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no TOML, lacks a key or has an unknown one, or if a value is out of
    /// range.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let text = read_text(path, "an experiment is a TOML file, such as data/experiments/quickstart.toml")?;
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
        let machines = one_or_more(&top, "machine", "machines", "\"intel-1s56c112t\"")?
            .ok_or_else(|| missing(&top, "machine", "\"intel-1s56c112t\""))?;
        let of_file = one_or_more(&top, "kernel", "kernels", "\"v5.19-rc1\"")?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let workloads = workloads(&top, &folder)?;
        let (base, variants) = sides(&top)?;
        let kernels = match of_file {
            Some(of_file) => kernels(of_file, &base, &variants)?,
            None => kernels(Vec::new(), &base, &variants).map_err(|_| missing(&top, "kernel", "\"v5.19-rc1\""))?,
        };
        let mut spec = Spec::with_defaults(name, (machines, kernels), workloads, (base, variants));
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

/// Returns the text of a file; an error has the hint.
pub(super) fn read_text(path: &Path, hint: &str) -> Result<String, SpecError> {
    wakelab_input::read_text(path).map_err(|e| {
        let place = Place::File { path: path.to_owned(), line: None, key: None };
        SpecError { place, what: e.to_string(), hint: None }.with_hint(hint)
    })
}

/// Returns the values of a key of one value, or of its plural; `None` if neither is there.
pub(super) fn one_or_more(
    top: &Table<'_>,
    one: &str,
    several: &str,
    example: &str,
) -> Result<Option<Vec<Given<String>>>, SpecError> {
    let given = text(top, one)?;
    if top.get(several).is_none() {
        return Ok(given.map(|given| vec![given]));
    }
    if given.is_some() {
        return Err(top.wrong(several, format!("{one} and {several}; expected one of them")).into());
    }
    let expected = format!("a list of one or more names such as [{example}]");
    let named = |value: &Value<'_>| match value.get_ref().as_str() {
        Some(text) => {
            let place = SpecError::from(top.wrong_at(several, value.span().start, "")).place;
            Ok(Given { value: text.to_owned(), place })
        }
        None => Err(top.unexpected_at(several, value, "a name in quotes").into()),
    };
    top.elements(several, &expected)?.into_iter().map(named).collect::<Result<_, SpecError>>().map(Some)
}

/// Returns the base and the variants that are compared with it, in the order of the file.
fn sides(top: &Table<'_>) -> Result<(NamedSide, Vec<NamedSide>), SpecError> {
    let example = "{ base = \"SIS_PROP\", with = \"SIS_UTIL\" }";
    let variants = top
        .map("variants", &format!("a table of sides, as in {example}"))?
        .ok_or_else(|| missing(top, "variants", example))?;
    let mut names: Vec<(usize, &str)> = variants.entries().map(|(name, value)| (value.span().start, name)).collect();
    names.sort_unstable();
    if names.iter().all(|&(_, name)| name != BASE) {
        let like = names.iter().find(|(_, name)| did_you_mean(name, [BASE]).is_some());
        let error = missing(&variants, BASE, "\"SIS_PROP\"");
        return Err(match like {
            Some((_, name)) => error.with_hint(format!("did you mean `{}`?", shortened(name))),
            None => error.with_hint("it is the side that the others are compared with; \"\" for the kernel as it is"),
        });
    }
    let mut others = Vec::new();
    for (_, name) in names.into_iter().filter(|&(_, name)| name != BASE) {
        check_name(name).map_err(|what| variants.error(what))?;
        others.push(NamedSide::new(name, need_text(&variants, name, "\"SIS_UTIL\"")?));
    }
    if others.is_empty() {
        return Err(missing(&variants, "with", "\"SIS_UTIL\""));
    }
    Ok((NamedSide::base(need_text(&variants, BASE, "\"SIS_PROP\"")?), others))
}

fn numbers(spec: &mut Spec, top: &Table<'_>) -> Result<(), SpecError> {
    if let Some(Given { value, place }) = number(top, "repeats", &(1..=u64::from(REPEATS_MAX)))? {
        spec.repeats = Given { value: value as u32, place };
    }
    let most = number(top, "max_repeats", &(2..=u64::from(REPEATS_MAX)))?;
    match text(top, "until")? {
        Some(Given { value, place }) => {
            let half_width_pct = Until::parse_half_width(&value).map_err(|what| top.wrong("until", what))?;
            let most = most.map_or(Until::MOST, |most| most.value as u32);
            spec.until = Some(Given { value: Until { half_width_pct, most }, place });
        }
        None if most.is_some() => {
            let what = "it has no effect without `until`, which says how exact the intervals must be";
            return Err(top.wrong("max_repeats", what).into());
        }
        None => {}
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

pub(super) fn time(top: &Table<'_>, name: &str, least: u64) -> Result<Option<Given<u64>>, SpecError> {
    match top.duration(name)? {
        Some(ns) if ns < least => Err(top.unexpected(name, "more than 0").into()),
        ns => Ok(ns.map(|ns| given(top, name, ns))),
    }
}

pub(super) fn workloads(top: &Table<'_>, folder: &Path) -> Result<Vec<WorkloadSpec>, SpecError> {
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
pub(super) fn text(table: &Table<'_>, name: &str) -> Result<Option<Given<String>>, SpecError> {
    Ok(table.any_text(name)?.map(|text| given(table, name, text.to_owned())))
}

/// Returns the text of a key that must be there, such as `example`.
fn need_text(table: &Table<'_>, name: &str, example: &str) -> Result<Given<String>, SpecError> {
    text(table, name)?.ok_or_else(|| missing(table, name, example))
}

/// Returns the whole number of a key; `None` if the key is not there.
pub(super) fn number(
    table: &Table<'_>,
    name: &str,
    limits: &RangeInclusive<u64>,
) -> Result<Option<Given<u64>>, SpecError> {
    Ok(table.number(name, limits)?.map(|number| given(table, name, number)))
}

/// Returns the error that a key is missing, whose value could be `example`.
pub(super) fn missing(table: &Table<'_>, name: &str, example: &str) -> SpecError {
    table.missing(name, &format!("a value such as {example}")).into()
}
