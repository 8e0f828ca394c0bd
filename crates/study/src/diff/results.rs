//! Files of results, as docs/results.schema.json describes them, side by side.

use super::config::{differing, flatten};
use super::{Diff, DiffRow, difference_of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wakelab_input::files;
use wakelab_statistics::Better;

/// The largest file that is read, bytes.
const FILE_MAX: u64 = 512 << 20;
/// The next step after an error about a file.
const HINT: &str = "`wakelab compare` and `wakelab run` write such a file with --format json --out FILE";

/// A file is no result.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}\n  hint: {HINT}", path.display())]
pub struct ResultFileError {
    /// The file.
    pub path: PathBuf,
    /// The problem, and what was expected.
    pub what: String,
}

/// The result in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultFile {
    /// The file.
    pub path: PathBuf,
    /// What was run, a text for each setting.
    settings: Vec<(String, String)>,
    /// The sides of all rows.
    sides: Vec<SideOfRow>,
}

/// A side of a row.
#[derive(Clone, Debug, PartialEq)]
struct SideOfRow {
    machine: String,
    kernel: String,
    /// `base`, or the name of the variant.
    side: String,
    benchmark: String,
    case: String,
    load: String,
    metric: String,
    unit: String,
    better: Better,
    values: Vec<f64>,
    /// `None` for the base.
    compare_pct: Option<f64>,
}

impl ResultFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if it cannot be read, is no JSON, or is no result.
    pub fn read(path: &Path) -> Result<Self, ResultFileError> {
        let wrong = |what: String| ResultFileError { path: path.to_owned(), what };
        let text = files::read(path, FILE_MAX).map_err(|error| wrong(format!("the file cannot be read: {error}")))?;
        let value: Value = serde_json::from_slice(&text).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
        ResultFile::of(path, &value).map_err(wrong)
    }

    /// Takes a result over from JSON that was read from `path`.
    ///
    /// # Errors
    /// Fails with what was expected if it is no result.
    pub fn of(path: &Path, value: &Value) -> Result<Self, String> {
        let comparisons: Vec<&Value> = match (value.get("comparisons").and_then(Value::as_array), value.get("rows")) {
            (Some(comparisons), _) if !comparisons.is_empty() => comparisons.iter().collect(),
            (None, Some(_)) => vec![value],
            _ => return Err("it is not the result of a comparison: it has neither `rows` nor `comparisons`".to_owned()),
        };
        let (mut settings, mut sides) = (Vec::new(), Vec::new());
        flatten("wakelab", &value["wakelab"], &mut settings);
        if let Some(matrix) = value.get("matrix") {
            flatten("matrix", matrix, &mut settings);
        }
        let mut machines = BTreeSet::new();
        let mut places = BTreeSet::new();
        for &comparison in &comparisons {
            let variant = comparison.get("variant").and_then(Value::as_str);
            let (machine, kernel) = (text(comparison, "/experiment/machine")?, text(comparison, "/experiment/kernel")?);
            // Settings and rows are told apart by it.
            if variant.is_none() && comparisons.len() > 1 {
                return Err("one of its comparisons has no `variant`".to_owned());
            }
            if !places.insert((machine.clone(), kernel.clone(), variant)) {
                let variant = variant.unwrap_or_default();
                return Err(format!(
                    "two of its comparisons are of the variant {variant:?} on {machine} with {kernel}"
                ));
            }
            match variant {
                None => flatten("experiment", &comparison["experiment"], &mut settings),
                Some(name) => {
                    let place = format!("{machine} {kernel} {name}");
                    flatten(&place, &comparison["experiment"], &mut settings);
                }
            }
            if machines.insert(machine.clone()) {
                let name = if variant.is_some() { format!("machine {machine}") } else { "machine".to_owned() };
                flatten(&name, &comparison["machine"], &mut settings);
                assumed(&comparison["assumed"], &mut settings);
            }
            let rows = comparison["rows"].as_array().ok_or("`rows` is not a list")?;
            for row in rows {
                for (key, side) in [("base", "base"), ("with", variant.unwrap_or("with"))] {
                    let read = side_of(row, key, side, &machine, &kernel)?;
                    // All variants have one base.
                    if key == "with" || sides.iter().all(|other| !is_same(other, &read)) {
                        sides.push(read);
                    }
                }
            }
        }
        Ok(ResultFile { path: path.to_owned(), settings, sides })
    }
}

/// The constants of workloads; those of the machine stand there.
fn assumed(list: &Value, into: &mut Vec<(String, String)>) {
    for one in list.as_array().into_iter().flatten() {
        let [of, name] = ["of", "name"].map(|key| one[key].as_str().unwrap_or_default());
        let name = format!("{of} {name}");
        if of != wakelab_machine::MACHINE && into.iter().all(|(other, _)| *other != name) {
            into.push((name, one["value"].to_string()));
        }
    }
}

fn text(value: &Value, pointer: &str) -> Result<String, String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| format!("`{}` is not a text", pointer.trim_start_matches('/').replace('/', ".")))
}

fn side_of(row: &Value, key: &str, side: &str, machine: &str, kernel: &str) -> Result<SideOfRow, String> {
    let of_row = |name: &str| text(row, &format!("/{name}"));
    let better = match row["better"].as_str() {
        Some("higher") => Better::Higher,
        Some("lower") => Better::Lower,
        _ => return Err("`better` of a row is neither higher nor lower".to_owned()),
    };
    let values = row[key]["values"].as_array().ok_or("`values` of a side is not a list")?;
    let values: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    Ok(SideOfRow {
        machine: machine.to_owned(),
        kernel: kernel.to_owned(),
        side: side.to_owned(),
        benchmark: of_row("benchmark")?,
        case: of_row("case")?,
        load: of_row("load")?,
        metric: of_row("metric")?,
        unit: of_row("unit")?,
        better,
        values: values.filter(|values| !values.is_empty()).ok_or("`values` of a side are not numbers")?,
        compare_pct: (key == "with").then(|| row["compare_pct"].as_f64()).flatten(),
    })
}

fn is_same(a: &SideOfRow, b: &SideOfRow) -> bool {
    let key = |it: &SideOfRow| {
        let SideOfRow { machine, kernel, side, benchmark, case, load, metric, .. } = it.clone();
        (machine, kernel, side, benchmark, case, load, metric)
    };
    key(a) == key(b)
}

/// Compares two results row by row: the base of the second with that of the first, and each other side in the same way.
/// Where each file has one machine, one kernel or one side beside the base, rows are matched whatever its name is.
pub fn diff_results(a: &ResultFile, b: &ResultFile) -> Diff {
    let several = |of: fn(&SideOfRow) -> &str| {
        let names = |file: &ResultFile| file.sides.iter().map(|it| of(it).to_owned()).collect::<BTreeSet<_>>().len();
        names(a) > 1 || names(b) > 1
    };
    let others = |file: &ResultFile| {
        file.sides.iter().filter(|it| it.side != "base").map(|it| it.side.clone()).collect::<BTreeSet<_>>().len()
    };
    let (machines, kernels) = (several(|it| &it.machine), several(|it| &it.kernel));
    let variants = others(a) > 1 || others(b) > 1;
    let key = |it: &SideOfRow| {
        let kept = |name: &str, keep: bool| if keep { name.to_owned() } else { String::new() };
        let side = match it.side.as_str() {
            "base" => "base",
            name if variants => name,
            _ => "with",
        };
        let names = [&it.benchmark, &it.case, &it.metric, &it.load].map(String::clone);
        (kept(&it.machine, machines), kept(&it.kernel, kernels), side.to_owned(), names)
    };
    let place = |it: &SideOfRow| {
        let (machine, kernel, side, [benchmark, case, _, load]) = key(it);
        let parts = [machine, kernel, benchmark, case, load, side];
        parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let row = |of_a: &SideOfRow, of_b: &SideOfRow| {
        let (machine, kernel, side, _) = key(of_a);
        DiffRow {
            machine,
            kernel,
            side,
            benchmark: of_a.benchmark.clone(),
            case: of_a.case.clone(),
            load: of_a.load.clone(),
            unit: of_a.unit.clone(),
            better: Some(of_a.better),
            values_a: of_a.values.clone(),
            values_b: of_b.values.clone(),
            compare_pct: of_a.compare_pct.zip(of_b.compare_pct).map(|(a, b)| [a, b]),
            difference: difference_of(&of_a.values, &of_b.values, Some(of_a.better)),
        }
    };
    let like = |it: &SideOfRow, file: &ResultFile| file.sides.iter().find(|other| key(other) == key(it)).cloned();
    let rows = a.sides.iter().filter_map(|of_a| Some(row(of_a, &like(of_a, b)?))).collect();
    let alone = |file: &ResultFile, other: &ResultFile| {
        file.sides.iter().filter(|it| like(it, other).is_none()).map(place).collect()
    };
    let name = |file: &ResultFile| file.path.display().to_string();
    Diff {
        a: name(a),
        b: name(b),
        settings: differing(&a.settings, &b.settings),
        notes: Vec::new(),
        rows,
        only_a: alone(a, b),
        only_b: alone(b, a),
    }
}
