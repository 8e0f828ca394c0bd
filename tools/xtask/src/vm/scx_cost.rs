//! `cargo xtask vm scx-cost`: the page of what `crates/scx-wakelab/cost` measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::conform::{number, string};
use crate::programs::root;

/// Writes docs/evidence/scx-cost.md from what crates/scx-wakelab/cost measured
///
/// Fails if placement takes more than three times the instructions of scx_simple's.
#[derive(clap::Args)]
pub struct Arguments {
    /// The kernel, as `uname -r` says it
    release: String,
    /// What `scx_wakelab --costs` printed of each scheduler, a file each
    folder: PathBuf,
}

/// Of the guest's clock (tools/vm/run), with up to 8 CPUs.
const NS_PER_INSTRUCTION: f64 = 8.0;

/// Placement may take so many times what scx_simple's takes.
const MOST: f64 = 3.0;

/// Writes and prints the page.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (rows, most) = rows(&read(&arguments.folder)?)?;
    let page = include_str!("scx_cost.md").replace("{{release}}", &arguments.release).replace("{{rows}}\n", &rows);
    print!("{page}");
    fs::write(root().join("docs/evidence/scx-cost.md"), page)?;
    // Placement reads the loads, flips and averages that fair.c's reads, where scx_simple has one call of a compiled
    // function.
    if most > 0.0 && most <= MOST {
        return Ok(0);
    }
    eprintln!(
        "crates/scx-wakelab/cost: expected placement at no more than 3 times that of scx_simple, found {most:.1}"
    );
    Ok(1)
}

/// The schedulers of a folder with what their programs cost, scx_simple first.
fn read(folder: &Path) -> Result<Vec<(String, Value)>> {
    let mut names = Vec::new();
    for file in fs::read_dir(folder)? {
        names.extend(file?.file_name().into_string());
    }
    names.retain(|name| name.starts_with(|letter: char| letter.is_ascii_uppercase()));
    names.sort();
    names.insert(0, "scx_simple".to_owned());
    let read = |name: String| {
        let text = fs::read_to_string(folder.join(&name)).with_context(|| name.clone())?;
        let costs = serde_json::from_str(&text).with_context(|| format!("{name}: expected JSON"))?;
        Ok((name, costs))
    };
    names.into_iter().map(read).collect()
}

/// The rows of the page, and the largest multiple of scx_simple's placement.
fn rows(schedulers: &[(String, Value)]) -> Result<(String, f64)> {
    let (mut text, mut most) = (String::new(), 0.0_f64);
    let mut base = None;
    for (name, costs) in schedulers {
        let cost = Cost::of(costs).with_context(|| format!("{name} placed no task"))?;
        let base = base.get_or_insert(cost);
        let placement = (cost.placement / base.placement * 10.0).round() / 10.0;
        most = most.max(placement);
        text += &format!(
            "| {} | {} | {placement:.1} | {} | {} | {} | {:.1} |\n",
            name.replace(',', ", "),
            cost.placement,
            cost.order,
            cost.averages,
            cost.all,
            cost.all / base.all
        );
    }
    if text.is_empty() {
        bail!("expected what scx_simple costs");
    }
    Ok((text, most))
}

/// Instructions for each placement.
#[derive(Clone, Copy)]
struct Cost {
    placement: f64,
    order: f64,
    averages: f64,
    all: f64,
}

impl Cost {
    fn of(costs: &Value) -> Option<Self> {
        let programs = costs.as_array()?;
        let is = |program: &Value, parts: &[&str]| parts.iter().any(|part| string(program, "program").contains(part));
        let chosen = programs.iter().filter(|program| is(program, &["select"]));
        let placements: u64 = chosen.map(|program| number(program, "runs")).sum();
        if placements == 0 {
            return None;
        }
        let of = |parts: &[&str]| {
            let ns = |program: &Value| number(program, "runs") as f64 * program["ns_per_run"].as_f64().unwrap_or(0.0);
            let sum: f64 = programs.iter().filter(|program| is(program, parts)).map(ns).sum();
            (sum / NS_PER_INSTRUCTION / placements as f64).round_ties_even()
        };
        Some(Self {
            placement: of(&["select", "enqueue"]),
            order: of(&["dispatc"]),
            averages: of(&["runn", "stopp", "quiesc", "tick", "update_idle"]),
            all: of(&[""]),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn costs_are_multiples_of_scx_simples() {
        let of = |ns: f64| {
            json!([
                {"program": "select_cpu", "runs": 10, "ns_per_run": ns},
                {"program": "enqueue", "runs": 5, "ns_per_run": 80.0},
                {"program": "dispatch", "runs": 20, "ns_per_run": 40.0},
                {"program": "tick", "runs": 10, "ns_per_run": 8.0},
            ])
        };
        let schedulers = [("scx_simple".to_owned(), of(800.0)), ("SIS_UTIL,SIS_SHORT".to_owned(), of(2000.0))];
        let (rows, most) = rows(&schedulers).expect("rows");
        let expected = "| scx_simple | 105 | 1.0 | 10 | 1 | 116 | 1.0 |\n\
                        | SIS_UTIL, SIS_SHORT | 255 | 2.4 | 10 | 1 | 266 | 2.3 |\n";
        assert_eq!((rows.as_str(), most), (expected, 2.4));
        assert!(super::rows(&[("scx_simple".to_owned(), json!([]))]).is_err());
    }
}
