//! The control and the sensitivity to assumed constants, as sections of the page.

use super::load;
use wakelab_page::{Align, Cell, Column, Section, Table};
use wakelab_study::compare::{CompareRow, Comparison, Control};
use wakelab_study::sensitivity::{Sensitivity, SensitivityRow};
use wakelab_study::verdict::Certainty;

/// What was run of the two.
pub(super) fn trust(found: &Comparison, certainty: Certainty<'_>) -> Vec<Section> {
    let control = certainty.control.map(|run| control(found, run));
    let sensitivity = certainty.sensitivity.map(|run| sensitivity(found, run));
    control.into_iter().chain(sensitivity).collect()
}

fn column(title: &str, unit: &str, align: Align) -> Column {
    Column { title: title.to_owned(), unit: unit.to_owned(), align }
}

fn columns(numbers: &[(&str, &str)]) -> Vec<Column> {
    let numbers = numbers.iter().map(|(title, unit)| column(title, unit, Align::Right));
    std::iter::once(column("Load", "", Align::Left)).chain(numbers).collect()
}

fn pct(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, |value| Cell::Number(value, 2))
}

fn control(found: &Comparison, control: &Control) -> Section {
    let line = |(row, base): (&CompareRow, &wakelab_study::compare::ControlRow)| {
        let ends =
            |ends: Option<[f64; 2]>| ends.map_or([Cell::Empty, Cell::Empty], |ends| ends.map(|end| pct(Some(end))));
        let [low, high] = ends(base.ci95);
        vec![Cell::Text(load(found, row)), pct(Some(row.compare_pct)), pct(Some(base.compare_pct)), low, high]
    };
    Section {
        id: "control".to_owned(),
        title: "The base side against itself".to_owned(),
        paragraphs: vec![
            "The base side again with other seeds: one draw of what chance does, not a threshold.".to_owned(),
        ],
        tables: vec![Table {
            id: "control-table".to_owned(),
            caption: "Differences of the comparison and of the base side against itself".to_owned(),
            columns: columns(&[
                ("Comparison", "%"),
                ("Base against itself", "%"),
                ("Lower end", "%"),
                ("Upper end", "%"),
            ]),
            rows: found.rows.iter().zip(&control.rows).map(line).collect(),
        }],
    }
}

fn sensitivity(found: &Comparison, sensitivity: &Sensitivity) -> Section {
    let line = |(row, of): (&CompareRow, &SensitivityRow)| {
        let [low, middle, high] = of.range.map_or([None; 3], |range| range.map(Some));
        vec![
            Cell::Text(load(found, row)),
            Cell::Text(crate::compare::verdict_name(&of.verdict).to_owned()),
            Cell::Text(of.class.name().to_owned()),
            Cell::Text(format!("{} of {}", of.same.n, of.same.of)),
            pct(Some(of.compare_pct)),
            pct(low),
            pct(middle),
            pct(high),
            pct(Some(of.noise_pct)),
        ]
    };
    let mut columns =
        columns(&[("Comparison", "%"), ("Lowest", "%"), ("Median", "%"), ("Highest", "%"), ("Noise", "%")]);
    columns.splice(1..1, ["Verdict", "Class", "Same in"].map(|title| column(title, "", Align::Left)));
    let samples = sensitivity.samples.len();
    let how = match &sensitivity.fitted {
        Some(to) => format!("The comparison with each of {samples} sets of constants that fit {to}."),
        None => format!("The comparison with {samples} samples of the assumed constants, each within its range."),
    };
    Section {
        id: "sensitivity".to_owned(),
        title: "What the assumed constants decide".to_owned(),
        paragraphs: std::iter::once(how).chain(decisive(found, sensitivity)).collect(),
        tables: vec![Table {
            id: "sensitivity-table".to_owned(),
            caption: "Whether the class of each row stays".to_owned(),
            columns,
            rows: found.rows.iter().zip(&sensitivity.rows).map(line).collect(),
        }],
    }
}

/// A sentence for each constant on which a row depends.
fn decisive(found: &Comparison, sensitivity: &Sensitivity) -> Vec<String> {
    let of_row = |(row, of): (&CompareRow, &SensitivityRow)| {
        let place = load(found, row);
        let on = crate::compare::conditions(&of.verdict);
        on.iter().map(|one| format!("{place}: {}.", crate::compare::depends(of, one))).collect::<Vec<_>>()
    };
    found.rows.iter().zip(&sensitivity.rows).flat_map(of_row).collect()
}
