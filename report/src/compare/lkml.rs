//! The table of patch letters, as schedtests prints it.

use super::{differences, verdict_text};
use crate::numbers::{fixed, signed, switches};
use std::fmt::Write;
use wakelab_study::compare::{CompareRow, Comparison, Side};
use wakelab_study::verdict::Verdict;

/// The widths of the columns. What no longer fits widens its column in every line.
struct Widths {
    case: usize,
    load: usize,
    base_std: usize,
    compare: usize,
    compare_std: usize,
}

impl Widths {
    fn of(rows: &[CompareRow]) -> Self {
        let longest = |least: usize, text: fn(&CompareRow) -> String| {
            rows.iter().map(|row| text(row).chars().count()).fold(least, usize::max)
        };
        // Two blanks stand after case and load.
        Widths {
            case: longest(8, |row| row.case.clone()),
            load: longest(11, |row| row.load.clone()),
            base_std: longest(6, |row| fixed(row.base.std_pct, 2)),
            compare: longest(7, |row| signed(row.compare_pct, 2)),
            compare_std: longest(6, |row| fixed(row.compare_std_pct, 2)),
        }
    }
}

/// The comparison as patch letters show it: a table for each benchmark and metric, after a line that says that it is
/// simulated, and the verdict. The base is 1.00; positive is better.
pub fn lkml(comparison: &Comparison, verdict: &Verdict<'_>) -> String {
    let experiment = &comparison.experiment;
    let widths = Widths::of(&comparison.rows);
    let mut text = differences(experiment, "differ: ");
    // Lines are cut out and posted: one that lacks loads says so itself.
    let incomplete = if comparison.complete { "" } else { ", interrupted: rows are missing" };
    let same_table = |a: &CompareRow, b: &CompareRow| a.benchmark == b.benchmark && a.metric == b.metric;
    for rows in comparison.rows.chunk_by(same_table) {
        let first = &rows[0];
        let _ = writeln!(
            text,
            "\n{} {}, simulated: {} {}, baseline {}, compare {}, n {}{incomplete}",
            first.benchmark,
            first.metric,
            experiment.machine,
            experiment.kernel,
            switches(&experiment.base),
            switches(&experiment.with),
            experiment.repeats,
        );
        text += &header(&widths);
        rows.iter().for_each(|row| text += &line(&widths, row));
        power(&widths, rows, &mut text);
    }
    if comparison.rows.is_empty() {
        text += "simulated: no row is complete\n";
    }
    text + &verdict_text(verdict)
}

/// Mean power of both sides beside the performance, where it is known; schedtests has no such lines.
fn power(w: &Widths, rows: &[CompareRow], text: &mut String) {
    let mw = |side: &Side| side.power.as_ref().and_then(|power| power.total_mw);
    let known: Vec<_> = rows.iter().filter_map(|row| Some((row, mw(&row.base)?, mw(&row.with)?))).collect();
    if known.is_empty() {
        return;
    }
    let (case, load) = (w.case, w.load);
    let _ = writeln!(text, "{:case$}  {:load$}  {:>12}  {:>12}  {:>8}", "power", "", "base mW", "with mW", "change%");
    for (row, base, with) in known {
        let change = signed(100.0 * (with / base - 1.0), 2);
        let (base, with) = (fixed(base, 1), fixed(with, 1));
        let _ = writeln!(text, "{:case$}  {:load$}  {base:>12}  {with:>12}  {change:>8}", row.case, row.load);
    }
}

fn header(w: &Widths) -> String {
    // The headings end where the brackets of the lines end.
    let (base, compare) = (5 + 2 + w.base_std + 1, w.compare + 2 + w.compare_std + 1);
    let (case, load) = (w.case + 2, w.load + 2);
    format!("{:case$}{:load$}{:>base$}  {:>compare$}\n", "case", "load", "baseline(std%)", "compare%( std%)")
}

fn line(w: &Widths, row: &CompareRow) -> String {
    format!(
        "{:case$}  {:load$}   1.00 ({:>base_std$})  {:>compare$} ({:>compare_std$})\n",
        row.case,
        row.load,
        fixed(row.base.std_pct, 2),
        signed(row.compare_pct, 2),
        fixed(row.compare_std_pct, 2),
        case = w.case,
        load = w.load,
        base_std = w.base_std,
        compare = w.compare,
        compare_std = w.compare_std,
    )
}
