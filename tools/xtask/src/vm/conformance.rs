//! `cargo xtask vm conformance`: the page of what `matrix` has left.

use std::cmp::Ordering;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::bars::Bars;
use super::conform::{conform, number, percent, recordings, string};
use super::wakelab;
use crate::programs::{Bad, folders};

/// The page of what `matrix` has left in a folder, on standard output
///
/// Fails if a cell has no recording.
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder, as in WAKELAB_MATRIX
    folder: PathBuf,
}

/// Prints the page.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (page, complete) = page(&wakelab()?, &arguments.folder)?;
    print!("{page}");
    Ok(u8::from(!complete))
}

/// The loads of the guests, as `guest-loads` names them.
const LOADS: [&str; 9] = ["hackbench", "half", "pipe", "double", "fork", "futex", "message", "tcp", "toggle"];

/// A guest of the matrix, as it was left.
pub struct Cell {
    /// Where it is.
    pub folder: PathBuf,
    /// Its kernel, `6.12`.
    pub kernel: String,
    /// How the page names it.
    label: String,
}

/// The cells in a folder, but for those that missed their bars and were run again.
pub fn cells(out: &Path) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for folder in folders(out)? {
        let file = folder.join("cell");
        if folder.extension().is_some_and(|end| end == "missed") || !file.exists() {
            continue;
        }
        let text = fs::read_to_string(&file)?;
        let fields: Vec<&str> = text.trim_end().split('\t').collect();
        let [kernel, topology, accel, version] = fields[..] else {
            bail!("{}: expected four fields", file.display());
        };
        let qemu = if accel == "multi" { format!(", QEMU {version}") } else { String::new() };
        let label = format!("{kernel} | {topology} | {accel}{qemu}");
        cells.push(Cell { folder, kernel: kernel.to_owned(), label });
    }
    Ok(cells)
}

/// The page, and whether each cell has a recording.
pub fn page(wakelab: &Path, out: &Path) -> Result<(String, bool)> {
    let mut complete = true;
    let mut rows = Vec::new();
    let mut recorded = Vec::new();
    for cell in cells(out)? {
        if !cell.folder.join("conform.json").exists() {
            complete = false;
            rows.push(format!("| {} | **failed:** the guest did not get to its end | | | | |\n", cell.label));
            continue;
        }
        let folder = cell.folder.join("rec");
        let bars = Bars::of(fs::read_to_string(cell.folder.join("bars"))?.trim_end())?;
        let row = row(&cell.label, Some(bars), &conform(wakelab, &recordings(&folder)?)?);
        rows.push(row.with_context(|| format!("{} has no wake-up", folder.display()))?);
        recorded.push(folder);
    }
    if rows.is_empty() {
        bail!(Bad(format!("{} has no cell", out.display())));
    }
    rows.sort_by(|a, b| by_version(a, b));

    let mut loads = String::new();
    for load in LOADS {
        let files: Vec<PathBuf> =
            recorded.iter().map(|folder| folder.join(load)).filter(|file| file.is_dir()).collect();
        if !files.is_empty() {
            loads += &row(load, None, &conform(wakelab, &files)?).with_context(|| format!("{load} has no wake-up"))?;
        }
    }
    let all: Result<Vec<Vec<PathBuf>>> = recorded.iter().map(|folder| recordings(folder)).collect();
    let all = conform(wakelab, &all?.concat())?;
    let page = include_str!("conformance.md");
    let page = page.replace("{{cells}}\n", &rows.concat()).replace("{{loads}}\n", &loads);
    Ok((page.replace("{{reasons}}\n", &reasons(&all)).replace("{{kernels}}\n", &kernels(&all)), complete))
}

/// A row for what `wakelab conform` says, marked if it misses a bar; none without wake-ups.
fn row(label: &str, bars: Option<Bars>, of: &Value) -> Option<String> {
    let (all, rows, same) = (number(of, "wakeups"), number(of, "scored"), number(of, "equal"));
    if all == 0 {
        return None;
    }
    let mark = |missed: bool| if missed { "**missed:** " } else { "" };
    let (share, share_equal) = (percent(rows, all), percent(same, rows));
    let little = mark(bars.is_some_and(|bars| share < bars.scored));
    let differ = mark(bars.is_some_and(|bars| rows == 0 || share_equal < bars.equal));
    let equal =
        if same == rows { "all".to_owned() } else { format!("{same} ({share_equal:.4} %, {} differ)", rows - same) };
    let prev = percent(number(&of["total"], "chose_prev"), rows);
    let [changed, long, unknown] = ["idle_changed", "long", "unknown"].map(|why| number(&of["not_scored"], why));
    Some(format!(
        "| {label} | {all} | {little}{rows} ({share:.2} %) | {differ}{equal} | {prev:.1} % | {changed} / {long} / \
         {unknown} |\n"
    ))
}

/// The rows by reason, and that of all.
fn reasons(of: &Value) -> String {
    let mut text = String::new();
    let mut line = |kernel: &str, of: &Value| {
        let [rows, equal, cpu] = ["rows", "equal", "other_cpu"].map(|name| number(of, name));
        let [recent, flips] = ["other_recent_used_cpu", "other_wakee_flips"].map(|name| number(of, name));
        let (reason, prev) = (string(of, "reason"), percent(number(of, "chose_prev"), rows));
        writeln!(text, "| {kernel} | {reason} | {rows} | {equal} | {cpu} | {recent} | {flips} | {prev:.1} % |")
            .expect("a string takes all");
    };
    for reason in of["reasons"].as_array().into_iter().flatten() {
        line(string(reason, "kernel"), reason);
    }
    line("all", &of["total"]);
    text
}

/// The rows by kernel.
fn kernels(of: &Value) -> String {
    let line = |of: &Value| {
        let [all, scored, equal] = ["wakeups", "scored", "equal"].map(|name| number(of, name));
        format!("| {} | {all} | {scored} | {equal} |\n", string(of, "release"))
    };
    of["kernels"].as_array().into_iter().flatten().map(line).collect()
}

/// Orders texts by the numbers in them, as `sort -V` does.
fn by_version(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (word, other_word) = (take(&mut a, false), take(&mut b, false));
        let (number, other_number) = (take(&mut a, true), take(&mut b, true));
        let numbers = || (number.len(), number).cmp(&(other_number.len(), other_number));
        match word.cmp(other_word).then_with(numbers) {
            Ordering::Equal if a.is_empty() && b.is_empty() => return Ordering::Equal,
            Ordering::Equal => {}
            order => return order,
        }
    }
}

/// Takes the digits, or what is before the next ones, from the begin of a text; of digits without leading zeros.
fn take<'a>(text: &mut &'a str, digits: bool) -> &'a str {
    let end = text.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(text.len());
    let (taken, rest) = text.split_at(end);
    *text = rest;
    if digits { taken.trim_start_matches('0') } else { taken }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(all: u64, scored: u64, equal: u64) -> Value {
        let not_scored = json!({"idle_changed": all - scored, "long": 0, "unknown": 0});
        let total = json!({"rows": scored, "equal": equal, "other_cpu": 1, "chose_prev": scored / 2});
        let kernels = json!([{"release": "6.1.0", "wakeups": all, "scored": scored, "equal": equal}]);
        let reasons = json!([{"kernel": "v6.1", "reason": "scan", "rows": 0}]);
        json!({"wakeups": all, "scored": scored, "equal": equal, "not_scored": not_scored, "total": total,
            "kernels": kernels, "reasons": reasons})
    }

    #[test]
    fn a_row_that_misses_a_bar_is_marked() {
        let single = Some(Bars::of("single").expect("single"));
        let multi = Some(Bars::of("multi").expect("multi"));
        let of = |bars, all, scored, equal| row("cell", bars, &said(all, scored, equal)).expect("a row");
        assert_eq!(of(single, 200, 198, 198), "| cell | 200 | 198 (99.00 %) | all | 50.0 % | 2 / 0 / 0 |\n");
        let expected = "| cell | 200 | **missed:** 100 (50.00 %) | **missed:** 99 (99.0000 %, 1 differ) | 50.0 % | \
                        100 / 0 / 0 |\n";
        assert_eq!(of(single, 200, 100, 99), expected);
        assert_eq!(
            of(multi, 2000, 1000, 999),
            "| cell | 2000 | 1000 (50.00 %) | 999 (99.9000 %, 1 differ) | 50.0 % | 1000 / 0 / 0 |\n"
        );
        assert!(!of(None, 200, 100, 50).contains("missed"));
        assert_eq!(row("cell", None, &said(0, 0, 0)), None);
    }

    #[test]
    fn reasons_and_kernels_have_their_tables() {
        let of = said(200, 198, 197);
        let expected = "| v6.1 | scan | 0 | 0 | 0 | 0 | 0 | 0.0 % |\n| all |  | 198 | 197 | 1 | 0 | 0 | 50.0 % |\n";
        assert_eq!(reasons(&of), expected);
        assert_eq!(kernels(&of), "| 6.1.0 | 200 | 198 | 197 |\n");
    }

    #[test]
    fn kernels_are_sorted_by_version() {
        let sorted = [
            "| 6.1 | 1x1x4x2 | multi, QEMU 7.2.22 |",
            "| 6.1 | 1x1x4x2 | multi, QEMU 10.0.2 |",
            "| 6.1 | 1x1x4x2 | single |",
            "| 6.1 | 2x1x4x2,nodes=2 | single |",
            "| 6.12 | 1x1x4x2 | single |",
            "| 7.2 | 1x1x4x2 | single |",
            "| 7.2 | 1x1x56x2 | single |",
            "| 7.2 | 1x2x4x2 | single |",
        ];
        let mut rows = sorted;
        rows.reverse();
        rows.sort_by(|a, b| by_version(a, b));
        assert_eq!(rows, sorted);
    }

    #[test]
    fn the_page_is_that_of_the_evidence() {
        let committed =
            fs::read_to_string(crate::programs::root().join("docs/evidence/conformance.md")).expect("a page");
        let prose = |page: &str| {
            page.lines()
                .filter(|line| !line.starts_with("| ") && !line.starts_with("{{"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(prose(include_str!("conformance.md")), prose(&committed));
    }
}
