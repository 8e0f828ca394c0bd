//! The table of patch letters, as schedtests prints it.

use super::matrix::{self, FAILED, Group, Line, failed_text, groups, kernel, key, machine};
use super::table::of_runs;
use super::{differences, verdict_text};
use super::{interval_or_identical, power_quantity};
use crate::numbers::{amount, fixed, signed, switches};
use crate::table::{table as new_table, text as table_text};
use std::fmt::Write;
use wakelab_study::compare::{CompareRow, Comparison, MatrixComparison, PowerDifference};
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
            super::verdict::runs(verdict.repeats),
        );
        text += &header(&widths);
        rows.iter().for_each(|row| text += &line(&widths, row));
    }
    let once = of_runs(&comparison.rows);
    for rows in once.chunk_by(|a, b| a.benchmark == b.benchmark) {
        power(rows, &mut text);
    }
    if comparison.rows.is_empty() {
        text += "simulated: no row is complete\n";
    }
    text + &verdict_text(verdict)
}

/// A matrix as patch letters show it: a table for each machine, kernel, workload and metric, with a column for each
/// variant, the geometric mean of its lines, and the verdicts.
pub fn of_matrix(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> String {
    let incomplete = if found.complete { "" } else { ", interrupted: rows are missing" };
    let mut text = String::new();
    for (variant, name) in found.variants.iter().enumerate() {
        let mut told: Vec<String> = Vec::new();
        for comparison in found.of_variant(variant) {
            let differ = differences(&comparison.experiment, &format!("{name} differs: "));
            if !told.contains(&differ) {
                text += &differ;
                told.push(differ);
            }
        }
    }
    for group in groups(found, verdicts) {
        let same = |a: &Line<'_>, b: &Line<'_>| (machine(a.of), kernel(a.of)) == (machine(b.of), kernel(b.of));
        for lines in group.lines.chunk_by(same) {
            let experiment = &lines[0].of.experiment;
            let [benchmark, case, metric] = &group.key;
            let runs = |line: &Line<'_>| line.first().base.n;
            let least = lines.iter().map(runs).min().unwrap_or(0) as u32;
            let most = lines.iter().map(runs).max().unwrap_or(0) as u32;
            let _ = writeln!(
                text,
                "\n{benchmark} {case} {metric}, simulated: {} {}, baseline {}, n {}{incomplete}",
                experiment.machine,
                experiment.kernel,
                switches(&experiment.base),
                super::verdict::runs([least, most]),
            );
            text += &matrix_lines(found, &group, lines);
        }
    }
    if found.lines() == 0 {
        text += "simulated: no row is complete\n";
    }
    text + &failed_text(found) + &matrix::verdict_text(verdicts)
}

/// The lines of a table of [`of_matrix`], and their geometric mean.
fn matrix_lines(found: &MatrixComparison, group: &Group<'_>, lines: &[Line<'_>]) -> String {
    const MEAN: &str = "geomean";
    let base = |row: &CompareRow| format!("1.00 ({:>6})", fixed(row.base.std_pct, 2));
    let cell = |row: &CompareRow| format!("{:>7} ({:>6})", signed(row.compare_pct, 2), fixed(row.compare_std_pct, 2));
    let of_line = |line: &Line<'_>| {
        let row = line.first();
        let failed = || format!("{FAILED:>7}{:9}", "");
        let variants = line.rows.iter().map(|of| of.map_or_else(failed, |(row, _)| cell(row)));
        [row.load.clone(), base(row)].into_iter().chain(variants).collect::<Vec<_>>()
    };
    // The mean has no spread, so that its brackets are blank.
    let mean = |variant| {
        let block = &lines[0].of.experiment;
        let mean = found.mean(variant, |of, row| {
            (&of.experiment.machine, &of.experiment.kernel) == (&block.machine, &block.kernel) && key(row) == group.key
        });
        format!("{:>7}{:9}", signed(mean.map_or(f64::NAN, |mean| mean.pct), 2), "")
    };
    let head = ["load", "baseline(std%)"].into_iter().map(str::to_owned);
    let head = head.chain(found.variants.iter().map(|name| format!("{name}%( std%)"))).collect();
    let means = [MEAN.to_owned(), format!("1.00{:9}", "")].into_iter();
    let means = means.chain((0..found.variants.len()).map(mean)).collect();
    let all: Vec<Vec<String>> =
        std::iter::once(head).chain(lines.iter().map(of_line)).chain(std::iter::once(means)).collect();
    let width = |column: usize| all.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..found.variants.len() + 2).map(width).collect();
    let mut text = String::new();
    for line in all {
        let rest = line[1..].iter().zip(&widths[1..]).map(|(cell, width)| format!("  {cell:>width$}"));
        let line = format!("{:first$}{}", line[0], rest.collect::<String>(), first = widths[0]);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Power and energy below the performance, where they are known; schedtests has no such lines. As there, positive is
/// better, which is less.
fn power(rows: &[CompareRow], text: &mut String) {
    let columns = ["case", "load", "of", "base", "with", "compare%", "95% interval"];
    let mut table = new_table(&columns, 3);
    let mut any = false;
    for row in rows {
        for found in PowerDifference::of(row) {
            any = true;
            table.add_row([
                row.case.clone(),
                row.load.clone(),
                format!("{}, {}", power_quantity(row, &found), found.unit),
                amount(found.base),
                amount(found.with),
                signed(found.compare_pct, 2),
                interval_or_identical(found.is_identical(), found.ci95),
            ]);
        }
    }
    if any {
        let _ = write!(
            text,
            "\npower and energy of {}; compare%: positive is less\n{}",
            rows[0].benchmark,
            table_text(&table)
        );
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
