//! `wakelab fit`: the constants, how well they fit row by row, and the sets that fit as well.

use crate::numbers::{count, fixed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use wakelab_study::fit::{Fit, Misfit, Observations, Residual};

/// The report for a terminal.
pub fn text(fit: &Fit, observed: &Observations) -> String {
    let machine = &fit.machine.machine.name;
    let rows = count(observed.rows.len() as u64, "row");
    let numbers = count(fit.best.count() as u64, "number");
    let mut text = format!(
        "{machine}, fitted to {numbers} of the base side in {rows} of {}\nEverything is simulated, not measured, \
         except the numbers that it was fitted to.\n\n",
        observed.tables.join(", ")
    );
    let levels = |misfit: &Misfit| {
        misfit.levels_rms_log().map_or(String::new(), |rms| format!(", levels {}% off", fixed(100.0 * rms, 1)))
    };
    let _ = writeln!(
        text,
        "misfit, where 1 is the noise: {}{} in the middle of all ranges, {}{} as the machine was before, {}{} fitted",
        fixed(fit.middle.mean(), 2),
        levels(&fit.middle),
        fixed(fit.before.mean(), 2),
        levels(&fit.before),
        fixed(fit.best.mean(), 2),
        levels(&fit.best),
    );
    let [short, long] = fit.tried.map(|tried| count(tried as u64, "set"));
    let sets = count(fit.ensemble.len() as u64, "set");
    let _ = writeln!(
        text,
        "tried {short} of constants in short runs and {long} in long ones; the ensemble has {sets} with a misfit of up \
         to {} in long runs\n",
        fixed(fit.fits_below, 2)
    );

    let mut constants = table(&["constant", "of", "unit", "range", "before", "fitted", "ensemble"], 3);
    for one in &fit.constants {
        let range = |[low, high]: [u64; 2]| format!("{}..{}", thousands(low), thousands(high));
        let mut line = vec![one.name.clone(), one.of.clone(), one.unit.clone(), range(one.range)];
        line.extend([thousands(one.before), thousands(one.best), range(one.ensemble)]);
        constants.add_row(line);
    }
    text += &table_text(&constants);
    text.push('\n');

    let mut rows = table(&["row", "misfit", "farthest number", "measured", "simulated", "in noises"], 1);
    for of_row in fit.best.residuals.chunk_by(|a, b| a.row == b.row) {
        let farthest = farthest(of_row);
        let rms = (of_row.iter().map(|one| one.z * one.z).sum::<f64>() / of_row.len() as f64).sqrt();
        rows.add_row([
            farthest.row.clone(),
            fixed(rms, 2),
            farthest.what.clone(),
            fixed(farthest.measured, 3),
            fixed(farthest.simulated, 3),
            fixed(farthest.z, 1),
        ]);
    }
    text += &table_text(&rows);
    if fit.best.failed > 0 {
        let _ = writeln!(text, "\n{} could not be simulated.", count(fit.best.failed as u64, "row"));
    }
    for (why, rows) in observed.left_out.iter().chain(&fit.left_out) {
        let _ = writeln!(text, "\nleft out: {} ({why})", count(*rows as u64, "row"));
    }
    text
}

fn farthest(of_row: &[Residual]) -> &Residual {
    of_row.iter().max_by(|a, b| a.z.abs().total_cmp(&b.z.abs())).expect("a row has a number")
}

/// The same for programs, with every number.
pub fn json(fit: &Fit, observed: &Observations) -> Value {
    let misfit = |misfit: &Misfit| {
        json!({
            "mean": misfit.mean(),
            "levels_rms_log": misfit.levels_rms_log(),
            "failed": misfit.failed,
            "numbers": misfit.residuals,
        })
    };
    json!({
        "wakelab": crate::VERSION,
        "kind": "simulated",
        "machine": fit.machine.machine.name,
        "tables": observed.tables,
        "rows": observed.rows.len(),
        "left_out": observed.left_out.iter().chain(&fit.left_out).collect::<BTreeMap<_, _>>(),
        "constants": fit.constants,
        "middle": misfit(&fit.middle),
        "before": misfit(&fit.before),
        "fitted": misfit(&fit.best),
        "fits_below": fit.fits_below,
        "ensemble": fit.ensemble,
        "sets_tried": {"short": fit.tried[0], "long": fit.tried[1]},
    })
}
