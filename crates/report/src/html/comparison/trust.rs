//! The control and the sensitivity to assumed constants, as sections of the page.

use super::{names, place};
use crate::compare::{conditions, depends, verdict_name};
use crate::html::{TEXT, opt, table, text};
use wakelab_page::{Cell, Place, Section};
use wakelab_study::compare::{CompareRow, Comparison, Control, ControlRow};
use wakelab_study::sensitivity::{Sensitivity, SensitivityRow};
use wakelab_study::verdict::Certainty;

/// What was run of the two.
pub(super) fn trust(found: &Comparison, certainty: Certainty<'_>) -> Vec<Section> {
    let control = certainty.control.map(|run| control(found, run));
    let sensitivity = certainty.sensitivity.map(|run| sensitivity(found, run));
    control.into_iter().chain(sensitivity).collect()
}

/// The case and the load of a row.
fn named(found: &Comparison, row: &CompareRow) -> String {
    let Place { case, load } = place(found, row);
    format!("{case} {load}").trim().to_owned()
}

fn pct(value: f64) -> Cell {
    Cell::Number(value, 2)
}

fn control(found: &Comparison, control: &Control) -> Section {
    let line = |(row, base): (&CompareRow, &ControlRow)| {
        let [low, high] = [0, 1].map(|end| opt(base.ci95.map(|ends| ends[end]), 2));
        vec![text(named(found, row)), pct(row.compare_pct), pct(base.compare_pct), low, high]
    };
    let [base, _] = names(found);
    let itself = format!("{base} against itself");
    let columns = [("Row", TEXT), ("Comparison", "%"), (&itself, "%"), ("Lower end", "%"), ("Upper end", "%")];
    let rows = found.rows.iter().zip(&control.rows).map(line).collect();
    Section {
        id: "control".to_owned(),
        title: itself.clone(),
        paragraphs: vec![format!("{base} again with other seeds: one example of what chance does, not a threshold.")],
        tables: vec![table("control-table", "Differences of the comparison and of chance", &columns, rows)],
    }
}

fn sensitivity(found: &Comparison, sensitivity: &Sensitivity) -> Section {
    let line = |(row, of): (&CompareRow, &SensitivityRow)| {
        let [low, middle, high] = [0, 1, 2].map(|at| opt(of.range.map(|range| range[at]), 2));
        vec![
            text(named(found, row)),
            text(verdict_name(&of.verdict)),
            text(of.class.name()),
            text(format!("{} of {}", of.same.n, of.same.of)),
            pct(of.compare_pct),
            low,
            middle,
            high,
            pct(of.noise_pct),
        ]
    };
    let columns = [
        ("Row", TEXT),
        ("Verdict", TEXT),
        ("Class", TEXT),
        ("Same in", TEXT),
        ("Comparison", "%"),
        ("Lowest", "%"),
        ("Median", "%"),
        ("Highest", "%"),
        ("Noise", "%"),
    ];
    let rows = found.rows.iter().zip(&sensitivity.rows).map(line).collect();
    let samples = sensitivity.samples.len();
    let how = match &sensitivity.fitted {
        Some(to) => format!("The comparison with each of {samples} sets of constants that fit {to}."),
        None => format!("The comparison with {samples} samples of the assumed constants, each within its range."),
    };
    Section {
        id: "sensitivity".to_owned(),
        title: "What the assumed constants decide".to_owned(),
        paragraphs: std::iter::once(how).chain(decisive(found, sensitivity)).collect(),
        tables: vec![table("sensitivity-table", "Whether the class of each row stays", &columns, rows)],
    }
}

/// A sentence for each constant on which a row depends.
fn decisive(found: &Comparison, sensitivity: &Sensitivity) -> Vec<String> {
    let of_row = |(row, of): (&CompareRow, &SensitivityRow)| {
        let place = named(found, row);
        conditions(&of.verdict).iter().map(|on| format!("{place}: {}.", depends(of, on))).collect::<Vec<_>>()
    };
    found.rows.iter().zip(&sensitivity.rows).flat_map(of_row).collect()
}
