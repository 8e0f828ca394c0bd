//! A published table that is data alone: a folder with `table.toml` and `rows.csv`, whose format
//! `docs/reproduce.md` describes.
//!
//! `table.toml` has what holds for all rows: machine, kernel, the switches of both sides, which sign is better, and
//! which workload stands for each benchmark. A table without `with` has one side, and is compared by its curves.

use super::{AtLoad, Published, Recipe, Row, SearchRates, instances, permille, read_rows};
use crate::compare::PublishedError;
use crate::experiment::found_from;
use crate::reproduce::{Quantity, ReproduceError, Table};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wakelab_input::{Document, InputError};
use wakelab_kernel::{Preset, Switches};

/// The file that makes a folder a table.
pub(in crate::reproduce) const TABLE_TOML: &str = "table.toml";
const ROWS_CSV: &str = "rows.csv";

const KEYS: [&str; 17] = [
    "title",
    "source",
    "machine",
    "machine_nearest",
    "machine_description",
    "kernel",
    "kernel_posted",
    "base",
    "with",
    "better",
    "pinned",
    "notes",
    "confidence",
    "workloads",
    "params",
    "observer_cost",
    "rows",
];

/// What stands for numbers of postings for which `[workloads]` names none, by `benchmark,case`: tables that were typed
/// before wakelab had a workload stay as they are.
const USUAL: [(&str, &str); 14] = [
    ("dbench4,loadfile_time", "dbench:loadfile"),
    ("jankbench,power", "jankbench:mean power"),
    ("schbench,request_99th_lat", "schbench:request-99th"),
    ("schbench,rps_20th", "schbench:rps-20th"),
    ("schbench,rps_50th", "schbench:rps-50th"),
    ("schbench,rps_90th", "schbench:rps-90th"),
    ("schbench,rps_max", "schbench:rps-max"),
    ("schbench,rps_mean", "schbench:requests"),
    ("schbench,wakeup_50th", "schbench:wakeup-50th"),
    ("schbench,wakeup_90th", "schbench:wakeup-90th"),
    ("schbench,wakeup_99th", "schbench:wakeup-99th"),
    ("schbench,wakeup_99.9th", "schbench:wakeup-99.9th"),
    ("schbench,wakeup_99th_lat", "schbench:wakeup-99th"),
    ("schbench,wakeup_max", "schbench:wakeup-max"),
];

/// Whether the poster's percentages are of a value of which more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Positive,
    Negative,
}

/// What holds for all rows.
struct About<'a> {
    machine: String,
    kernel: &'a str,
    base: Cow<'a, str>,
    with: Option<&'a str>,
    better: Sign,
    pinned: Option<String>,
    observer_cost_ns: u64,
    workloads: BTreeMap<String, Stand>,
}

/// What stands for a benchmark and case.
struct Stand {
    /// The workload and the quantity of it, or why there is none.
    is: Result<(String, Quantity), String>,
    params: Vec<(String, u64)>,
}

/// Reads the table of a `table.toml`, with the rows of the file that it names, or of `rows.csv` beside it. A file of
/// another name, `mine.toml`, has its rows in `mine.csv`. The table's name is that of its folder, or `mine`.
///
/// # Errors
/// Fails if a file cannot be read, or says what the format does not have.
pub(in crate::reproduce) fn read(path: &Path) -> Result<Table, ReproduceError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let of_file = |what: String| PublishedError { path: path.to_owned(), line: None, column: None, what };
    let text = wakelab_input::read_text(path).map_err(|e| of_file(e.to_string()))?;
    let document = Document::parse(path, &text).map_err(told)?;
    let top = document.root(&KEYS).map_err(told)?;
    let (about, mut notes) = about(folder, &top).map_err(told)?;
    let own = path.file_name().is_some_and(|name| name == TABLE_TOML);
    let rows = match top.text("rows").map_err(told)? {
        Some(rows) => folder.join(rows),
        None if own => folder.join(ROWS_CSV),
        None => path.with_extension("csv"),
    };
    let mut columns = vec!["benchmark", "case", "load", "base"];
    columns.extend(about.with.map(|_| "compare_pct"));
    let file = read_rows(&rows, &columns)?;
    // A row may come again: postings repeat what looked odd.
    let (mut rows, mut used) = (Vec::new(), BTreeSet::new());
    for row in &file.rows {
        let row = Row { file: &file, row };
        let key = format!("{},{}", row.text("benchmark")?, row.text("case")?);
        rows.push(published(&about, &key, row)?);
        used.insert(key);
    }
    let unused = about.workloads.keys().filter(|&key| !used.contains(key));
    notes.extend(unused.map(|key| format!("no row uses [workloads] \"{key}\"")));
    let name = if own { folder.file_name() } else { path.file_stem() };
    let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Table { name, rows, notes })
}

fn told(error: InputError) -> PublishedError {
    let InputError { path, line, key, what, hint } = error;
    let what = key.map_or(what.clone(), |key| format!("{key}: {what}"));
    let what = hint.map_or(what.clone(), |hint| format!("{what}; {hint}"));
    PublishedError { path, line: line.map(|line| line as u64), column: None, what }
}

/// Reads what holds for all rows, and notes on it.
fn about<'a>(folder: &Path, top: &wakelab_input::Table<'a>) -> Result<(About<'a>, Vec<String>), InputError> {
    let machine = top.need_text("machine", "the name of a machine, or of a machine file beside this one")?;
    let beside = folder.join(if machine.ends_with(".toml") { machine.to_owned() } else { format!("{machine}.toml") });
    let kernel = top.need_text("kernel", "the name of a kernel from `wakelab kernel list`")?;
    let with = top.any_text("with")?;
    let base = without_what_is_compared(kernel, top.any_text("base")?.unwrap_or_default(), with.unwrap_or_default());
    let better =
        top.choice("better", &[("positive", Sign::Positive), ("negative", Sign::Negative)])?.unwrap_or(Sign::Positive);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(top.any_text("title")?.filter(|title| !title.is_empty()).map(str::to_owned));
    let posted = top.any_text("kernel_posted")?.filter(|posted| !posted.is_empty());
    notes.push(format!(
        "on {machine}, {kernel}{}: {} {}",
        posted.map_or_else(String::new, |posted| format!(" (posted on {posted})")),
        if base.is_empty() { "no switches" } else { &base },
        with.map_or_else(
            || "alone; the other side is not given".to_owned(),
            |with| format!("against {}", if with.is_empty() { "no switches" } else { with })
        )
    ));
    let pinned = match top.any_text("pinned")?.unwrap_or_default() {
        "" => None,
        text => {
            // "0-31 (node 0)": what is in brackets is for readers.
            let list = text.split(" (").next().unwrap_or(text).trim();
            if list.starts_with(|c: char| c.is_ascii_digit()) || list.starts_with("node") {
                Some(list.to_owned())
            } else {
                notes.push(format!("simulated without the affinity that the posting has: {text}"));
                None
            }
        }
    };
    for key in ["source", "notes", "confidence"] {
        notes.extend(top.any_text(key)?.filter(|text| !text.is_empty()).map(|text| format!("{key}: {text}")));
    }
    for key in ["machine_nearest", "machine_description"] {
        top.any_text(key)?;
    }
    let about = About {
        machine: if beside.is_file() { beside.to_string_lossy().into_owned() } else { machine.to_owned() },
        kernel,
        base,
        with,
        better,
        pinned,
        observer_cost_ns: top.duration("observer_cost")?.unwrap_or(0),
        workloads: workloads(folder, top)?,
    };
    Ok((about, notes))
}

/// The switches of the base side. What the other side switches on, and the base side does not name, is off there even
/// if the kernel stands for an older one and has it on by now: it is what the posting adds.
fn without_what_is_compared<'a>(kernel: &str, base: &'a str, with: &str) -> Cow<'a, str> {
    let (Ok(preset), Ok(own), Ok(other)) = (Preset::get(kernel), base.parse::<Switches>(), with.parse::<Switches>())
    else {
        // The error is told where the sides are made.
        return Cow::Borrowed(base);
    };
    let named = |feature| own.iter().any(|(known, _)| known == feature);
    let added = other.iter().filter(|&(feature, on)| on && preset.features.has(feature) && !named(feature));
    let off: Vec<String> = added.map(|(feature, _)| format!("NO_{feature}")).collect();
    match off.is_empty() {
        true => Cow::Borrowed(base),
        false => Cow::Owned(
            [base]
                .into_iter()
                .filter(|base| !base.is_empty())
                .map(str::to_owned)
                .chain(off)
                .collect::<Vec<_>>()
                .join(","),
        ),
    }
}

/// What stands for each benchmark and case.
fn workloads(folder: &Path, top: &wakelab_input::Table<'_>) -> Result<BTreeMap<String, Stand>, InputError> {
    let expected = "a table such as { \"netperf,TCP_RR\" = \"netperf:TCP_RR\" }";
    let table = top.map("workloads", expected)?.ok_or_else(|| top.missing("workloads", expected))?;
    let params = top.map("params", "a table such as { \"schbench,99th\" = { message_threads = 2 } }")?;
    let mut workloads = BTreeMap::new();
    for (key, _) in table.entries() {
        let given = table.any_text(key)?.unwrap_or_default();
        let usual = USUAL.iter().find(|(name, _)| *name == key).map_or("", |(_, stands)| *stands);
        let text = if given.is_empty() { usual } else { given };
        let is = match text.split_once(' ').unwrap_or((text, "")) {
            ("", _) => Err("table.toml names no workload for it".to_owned()),
            (name, quantity) => {
                let quantity = self::quantity(quantity).ok_or_else(|| {
                    table.wrong(key, format!("no quantity {quantity}; expected power, or a percentile such as p99"))
                })?;
                Ok((found_from(folder, name).into_owned(), quantity))
            }
        };
        let of_key = match &params {
            Some(params) => params.map(key, "a table of whole numbers")?,
            None => None,
        };
        let mut set = Vec::new();
        if let Some(of_key) = of_key {
            for (name, _) in of_key.entries() {
                set.push((name.to_owned(), of_key.need_number(name, &(0..=i64::MAX as u64))?));
            }
        }
        workloads.insert(key.to_owned(), Stand { is, params: set });
    }
    if let Some(params) = params
        && let Some((key, _)) = params.entries().find(|(key, _)| !workloads.contains_key(*key))
    {
        return Err(params.wrong(key, "[workloads] has no such benchmark and case"));
    }
    Ok(workloads)
}

/// The quantity of a workload that a name means; without a name its metric.
fn quantity(name: &str) -> Option<Quantity> {
    match name {
        "" => Some(Quantity::Metric),
        "power" => Some(Quantity::Power),
        _ => permille(name.strip_prefix('p')?).ok().map(Quantity::Latency),
    }
}

/// `key` is `benchmark,case`.
fn published(about: &About<'_>, key: &str, row: Row<'_>) -> Result<Published, PublishedError> {
    let stand = about.workloads.get(key).ok_or_else(|| {
        row.error("case", format!("[workloads] of {TABLE_TOML} has no \"{key}\"; expected one, \"\" if there is none"))
    })?;
    let recipe = recipe(about, stand, row.text("load")?);
    let quantity = stand.is.as_ref().map_or(Quantity::Metric, |(_, quantity)| *quantity);
    // A base side that is given as 1 everywhere, or in no unit, is no curve.
    let unit = row.text_or_empty("unit");
    let is_curve = !["", "ratio", "normalised"].contains(&unit);
    let base = row.number("base")?;
    let (with, given) = match about.with {
        Some(_) => (row.number("with")?, row.number("compare_pct")?),
        None => (None, None),
    };
    // Percentages are printed so that positive is better.
    let compare_pct = given.map(|pct| if about.better == Sign::Positive { pct } else { -pct });
    Ok(Published {
        quantity,
        compare_pct,
        spreads: row.spreads("base_std_pct", "with_std_pct")?,
        baseline: base.filter(|base| *base > 0.0 && is_curve).map(|base| (key.to_owned(), base)),
        per_instance: unit.contains(" per "),
        values: base.is_some().then_some([base, with]),
        base_std_pct: row.number("base_std_pct")?,
        search: search(row)?,
        idle_pct: share(row, "idle_pct")?,
        ..row.published(recipe)
    })
}

/// The search statistics of the base side, if the file has all four.
fn search(row: Row<'_>) -> Result<Option<SearchRates>, PublishedError> {
    let rates = [
        share(row, "se_eff_pct")?,
        share(row, "dom_eff_pct")?,
        share(row, "fast_rate_pct")?,
        share(row, "success_rate_pct")?,
    ];
    let [Some(se_eff_pct), Some(dom_eff_pct), Some(fast_rate_pct), Some(success_rate_pct)] = rates else {
        return Ok(None);
    };
    Ok(Some(SearchRates { se_eff_pct, dom_eff_pct, fast_rate_pct, success_rate_pct }))
}

/// A share of the base side, %, which may be empty.
fn share(row: Row<'_>, column: &str) -> Result<Option<f64>, PublishedError> {
    match row.number(column)? {
        Some(_) => row.number_that(column, "0 to 100", |pct| (0.0..=100.0).contains(&pct)).map(Some),
        None => Ok(None),
    }
}

/// A workload that a table names may be of a benchmark without a model, or misspelt.
fn not_modelled(workload: &str) -> String {
    let cases = wakelab_workload::benchmarks()
        .iter()
        .flat_map(|benchmark| benchmark.cases().iter().map(move |case| format!("{}:{}", benchmark.name(), case.name)));
    let names: Vec<String> = cases.collect();
    let similar = wakelab_input::nearest(workload, names.iter().map(String::as_str));
    format!("{workload} is not modelled{}", wakelab_input::suggest(&similar))
}

fn recipe(about: &About<'_>, stand: &Stand, load: &str) -> AtLoad {
    let (workload, _) = stand.is.clone()?;
    if !workload.ends_with(".toml") && !workload.ends_with(".json") {
        wakelab_workload::describe(&workload).map_err(|_| not_modelled(&workload))?;
    }
    let recipe = Recipe {
        machine: about.machine.clone(),
        kernel: about.kernel.to_owned(),
        base: about.base.clone().into_owned(),
        with: about.with.map(str::to_owned),
        workload,
        params: stand.params.clone(),
        pinned: about.pinned.clone(),
        observer_cost_ns: about.observer_cost_ns,
    };
    Ok((recipe, instances(load)?))
}
