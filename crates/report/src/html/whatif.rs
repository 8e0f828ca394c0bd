//! The page of a what-if: how like the recording the captured workload is, what is predicted, and the comparison.

use super::{TEXT, opt, table, text};
use crate::capture::{WhatIf, judged, losses, verdict};
use wakelab_page::{Cell, Error, Kind, Page, Section, Table, render};
use wakelab_study::capture::{FidelityRow, Likeness, Prediction};
use wakelab_study::runners::Pictures;

/// The page of the first side that is asked for, with what was seen of the first repeats; `command` makes it again.
/// `None` if no side was compared.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn whatif(asked: &WhatIf<'_>, seen: &Pictures, command: &str) -> Option<Result<String, Error>> {
    let found = asked.comparisons.first()?;
    let mut page = Page {
        lead: lead(asked, &found.experiment.machine),
        ..super::comparison::page(found, &judged(found), seen, command)
    };
    if asked.fidelity.verdict() == Likeness::Not {
        page.verdict.clear();
    }
    page.run.kind = Kind::Both;
    let mut paragraphs = vec![format!("Verdict: {}.", verdict(asked.fidelity.verdict()))];
    paragraphs.extend(losses(&asked.captured.losses).into_iter().map(|loss| format!("{loss}.")));
    let predicted = asked.predictions.first().map(|prediction| Section {
        id: "predicted".to_owned(),
        title: format!("Predicted for {}", prediction.side),
        paragraphs: Vec::new(),
        tables: vec![predictions(prediction)],
    });
    let fidelity = Section {
        id: "fidelity".to_owned(),
        title: "How like the recording it is".to_owned(),
        paragraphs,
        tables: vec![alike(&asked.fidelity.rows)],
    };
    page.sections.splice(0..0, [Some(fidelity), predicted].into_iter().flatten());
    Some(render(&page))
}

fn lead(asked: &WhatIf<'_>, machine: &str) -> String {
    let certain = match asked.fidelity.verdict() {
        Likeness::Not => " It is not like the recording: what follows does not show which side is better.",
        _ => "",
    };
    format!("A recorded load, captured, and simulated on {machine} as it was and as asked.{certain}")
}

fn likeness(of: Option<Likeness>) -> Cell {
    text(of.map_or("", Likeness::name))
}

/// Rates, times and shares stand in one column, which has one precision.
fn number(value: Option<f64>) -> Cell {
    opt(value, 1)
}

fn alike(rows: &[FidelityRow]) -> Table {
    let row = |row: &FidelityRow| {
        let numbers = [number(row.recorded), number(Some(row.simulated))];
        let names = [text(&row.quantity), text(row.unit)].into_iter();
        names.chain(numbers).chain([likeness(row.likeness())]).collect()
    };
    let columns = [("Quantity", TEXT), ("Unit", TEXT), ("Recorded", ""), ("Simulated", ""), ("Alike", TEXT)];
    table("fidelity-table", "The recording, and its simulation", &columns, rows.iter().map(row).collect())
}

fn predictions(prediction: &Prediction) -> Table {
    let came_out = prediction.rows.iter().any(|row| row.came_out.is_some());
    let mut columns = vec![("Quantity", TEXT), ("Unit", TEXT), ("Recorded", ""), ("Simulated", ""), ("Predicted", "")];
    if came_out {
        columns.extend([("Came out", ""), ("Alike", TEXT)]);
    }
    let rows = prediction.rows.iter().map(|row| {
        let of = &row.as_recorded;
        let mut cells = vec![text(&of.quantity), text(of.unit)];
        cells.extend([of.recorded, Some(of.simulated), Some(row.predicted)].map(number));
        if came_out {
            cells.extend([number(row.came_out), likeness(row.likeness())]);
        }
        cells
    });
    let caption = format!("As it was recorded, and with {}", prediction.side);
    table("predicted-table", &caption, &columns, rows.collect())
}
