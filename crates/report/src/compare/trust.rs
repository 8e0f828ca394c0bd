//! How sure the rows are: sensitivity to the assumed constants, and a control run of the base side; as tables and as
//! JSON.

use crate::numbers::{NONE, count, fixed, interval, p_value, signed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_statistics::log_ratio;
use wakelab_study::compare::{Comparison, Control};
use wakelab_study::sensitivity::{
    Classes, Condition, Influence, Method, SAMPLES_MIN, Sensitivity, SensitivityRow, Side, Verdict,
};

/// So many of the constants that a row follows most are named.
const NAMED: usize = 3;

/// In which share of the machines that fit each row is better, the same and worse.
fn ensemble(found: &Sensitivity) -> String {
    let fitted = found.fitted.as_deref().unwrap_or_default();
    let sets = count(found.samples.len() as u64, "set");
    let mut text = format!("\nEnsemble: {sets} of constants that fit {fitted}\n\n");
    if !found.complete {
        let (done, asked) = (found.samples.len(), found.asked);
        let _ = writeln!(text, "Not complete: it was interrupted after {done} of {asked} sets.\n");
    }
    let columns =
        ["case", "load", "better in", "same in", "worse in", "compare%", "lowest", "median", "highest", "noise%"];
    let mut rows = table(&columns, 2);
    for row in &found.rows {
        let Classes { better, same, worse } = row.classes;
        let mut line = vec![row.case.clone(), row.load.clone()];
        line.extend([better, same, worse].map(|n| format!("{n} of {}", row.same.of)));
        line.push(signed(row.compare_pct, 2));
        line.extend(row.range.map_or([NONE; 3].map(str::to_owned), |range| range.map(|pct| signed(pct, 2))));
        line.push(fixed(row.noise_pct, 1));
        rows.add_row(line);
    }
    text += &table_text(&rows);
    text.push('\n');
    for row in found.rows.iter().filter(|row| row.same.of > 0) {
        let Classes { better, same, worse } = row.classes;
        let most = [(better, "better"), (same, "the same"), (worse, "worse")];
        let (n, class) = most.into_iter().rev().max_by_key(|(n, _)| *n).expect("three classes");
        let pct = 100.0 * n as f64 / row.same.of as f64;
        let (place, of) = (format!("{} {}", row.case, row.load), row.same.of);
        let _ = writeln!(text, "{place}: {class} in {}% of {of} machines that look like this one", fixed(pct, 0));
    }
    text
}

/// Each row's verdict, what it depends on, and which constants it follows most.
pub fn sensitivity(found: &Sensitivity) -> String {
    if found.method == Method::Ensemble {
        return ensemble(found);
    }
    let constants = count(found.constants.len() as u64, "assumed constant");
    let how = match found.method {
        Method::LatinHypercube => format!("{constants} changed at once (Latin hypercube, seed {})", found.seed),
        Method::OneAtATime | Method::Ensemble => format!("{constants} at the lowest and at the highest, one at a time"),
    };
    let mut text = format!("\nSensitivity: {} with {how}\n\n", count(found.samples.len() as u64, "sample"));
    if !found.complete {
        let (done, asked) = (found.samples.len(), found.asked);
        let _ = writeln!(text, "Not complete: it was interrupted after {done} of {asked} samples.\n");
    }
    let columns = ["case", "load", "verdict", "class", "same in", "compare%", "lowest", "median", "highest", "noise%"];
    let mut rows = table(&columns, 4);
    for row in &found.rows {
        let range = row.range.map_or([NONE; 3].map(str::to_owned), |range| range.map(|pct| signed(pct, 2)));
        let mut line = vec![row.case.clone(), row.load.clone(), verdict_name(&row.verdict).to_owned()];
        line.extend([row.class.name().to_owned(), format!("{} of {}", thousands(row.same.n as u64), row.same.of)]);
        line.push(signed(row.compare_pct, 2));
        line.extend(range);
        line.push(fixed(row.noise_pct, 1));
        rows.add_row(line);
    }
    text += &table_text(&rows);
    text.push('\n');
    found.rows.iter().for_each(|row| text += &details(found, row));
    text
}

fn details(found: &Sensitivity, row: &SensitivityRow) -> String {
    let place = format!("{} {}", row.case, row.load);
    let mut text = String::new();
    match &row.verdict {
        Verdict::Holds => {}
        Verdict::Depends(on) => {
            on.iter().for_each(|condition| {
                let _ = writeln!(text, "{place}: {}", depends(row, condition));
            });
        }
        Verdict::Uncertain => {
            let (n, of) = (row.same.n, row.same.of);
            let why = match found.method {
                Method::LatinHypercube if of < SAMPLES_MIN => {
                    format!("too few samples to tell: {SAMPLES_MIN} are needed")
                }
                _ => "no single constant separates them".to_owned(),
            };
            let _ = writeln!(text, "{place}: {} in {n} of {of}; {why}", row.class.name());
        }
    }
    let strongest = strongest(found, row);
    let _ = match (&found.method, row.stands_out_above) {
        _ if !strongest.is_empty() => writeln!(text, "{place} follows {strongest}"),
        (Method::LatinHypercube, Some(above)) => {
            writeln!(text, "{place}: no constant stands out (rank correlation above {})", fixed(above, 2))
        }
        _ => Ok(()),
    };
    text
}

/// The constants on which a verdict depends.
pub(crate) fn conditions(verdict: &Verdict) -> &[Condition] {
    if let Verdict::Depends(on) = verdict { on } else { &[] }
}

/// On which constant the class of a row depends, and where.
pub(crate) fn depends(row: &SensitivityRow, condition: &Condition) -> String {
    let Condition { constant, side, between: [low, high], inside, outside } = condition;
    let side = match side {
        Side::Above => "above",
        Side::Below => "below",
    };
    format!(
        "depends on {} of {} {side} {}..{} {} (used: {}): {} there in {} of {}, else in {} of {}",
        constant.name,
        constant.of,
        thousands(*low),
        thousands(*high),
        constant.unit,
        thousands(constant.value),
        row.class.name(),
        inside.n,
        inside.of,
        outside.n,
        outside.of,
    )
}

/// The constants that compare% follows most: by rank correlation, where it is above what chance gives the largest of so
/// many, or by what their ends make of it.
fn strongest(found: &Sensitivity, row: &SensitivityRow) -> String {
    let strength = |one: &Influence| match (one.spearman, one.at_low_pct, one.at_high_pct) {
        (Some(rho), ..) => rho.abs(),
        (None, Some(low), Some(high)) => {
            let log = |pct| log_ratio(pct, row.better).unwrap_or(f64::INFINITY);
            let from_own =
                |pct: f64| if pct == row.compare_pct { 0.0 } else { (log(pct) - log(row.compare_pct)).abs() };
            from_own(low).max(from_own(high))
        }
        _ => 0.0,
    };
    let stands_out = |one: &Influence| match found.method {
        Method::LatinHypercube => row.stands_out_above.is_some_and(|above| strength(one) > above),
        Method::OneAtATime | Method::Ensemble => strength(one) > 0.0,
    };
    let mut influences: Vec<&Influence> = row.influences.iter().filter(|one| stands_out(one)).collect();
    // A stable sort: equal ones stay in the order of the constants.
    influences.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    let told = influences.into_iter().take(NAMED).map(|one| match found.method {
        Method::LatinHypercube => {
            format!("{} of {} (rank correlation {})", one.name, one.of, signed(one.spearman.unwrap_or(f64::NAN), 2))
        }
        Method::OneAtATime | Method::Ensemble => {
            let ends = [one.at_low_pct, one.at_high_pct].map(|pct| signed(pct.unwrap_or(f64::NAN), 2));
            format!("{} of {} ({} at its lowest, {} at its highest)", one.name, one.of, ends[0], ends[1])
        }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The name of a verdict in the output.
pub(crate) fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Depends(_) => "depends",
        Verdict::Uncertain => "uncertain",
    }
}

/// The same for programs, with every sample.
pub fn sensitivity_json(found: &Sensitivity) -> Value {
    let rows = found.rows.iter().map(|row| {
        let on = conditions(&row.verdict);
        json!({
            "benchmark": row.benchmark,
            "case": row.case,
            "load": row.load,
            "compare_pct": row.compare_pct,
            "noise_pct": row.noise_pct,
            "class": row.class,
            "verdict": verdict_name(&row.verdict),
            "same": row.same,
            "classes": row.classes,
            "on": on,
            "range": row.range,
            "influences": row.influences,
            "stands_out_above": row.stands_out_above,
        })
    });
    json!({
        "method": found.method,
        "seed": found.seed,
        "fitted": found.fitted,
        "asked": found.asked,
        "complete": found.complete,
        "constants": found.constants,
        "rows": rows.collect::<Vec<_>>(),
        "samples": found.samples,
    })
}

/// The base against itself, with the comparison's own difference beside.
pub fn control(comparison: &Comparison, control: &Control) -> String {
    let columns = ["case", "load", "compare%", "95% interval", "base against itself", "95% interval", "p", "n"];
    let mut rows = table(&columns, 2);
    for row in &control.rows {
        let same = comparison
            .rows
            .iter()
            .find(|other| (&other.benchmark, &other.case, &other.load) == (&row.benchmark, &row.case, &row.load));
        rows.add_row([
            row.case.clone(),
            row.load.clone(),
            same.map_or_else(|| NONE.to_owned(), |row| signed(row.compare_pct, 2)),
            interval(same.and_then(|row| row.ci95)),
            signed(row.compare_pct, 2),
            interval(row.ci95),
            p_value(row.p_value),
            row.other_values.len().to_string(),
        ]);
    }
    let incomplete = if control.complete { "" } else { "Not complete: it was interrupted.\n\n" };
    format!(
        "\nControl: the base side against itself with other seeds: one example of what chance does, not a \
         threshold\n\n{incomplete}{}",
        table_text(&rows)
    )
}

/// The same for programs.
pub fn control_json(control: &Control) -> Value {
    json!({"complete": control.complete, "rows": control.rows})
}
