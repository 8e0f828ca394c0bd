//! What a candidate is worth on a panel: one number for an optimiser, a table for people, JSON for both.

use crate::VERSION;
use crate::compare::interval_or_identical;
use crate::numbers::{NONE, interval, signed, switches};
use crate::table::{table as new_table, text as table_text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use wakelab_study::experiment::Panel;
use wakelab_study::score::{Candidate, Rung, Score, ScoredRow};
use wakelab_study::verdict::RowVerdict;

/// The number alone, on a line of its own: how much better the candidate is, %, with four digits.
pub fn number(score: &Score) -> String {
    let rounded = (score.mean.pct * 1e4).round() / 1e4;
    // No minus before a zero.
    format!("{:.4}\n", rounded + 0.0)
}

/// A table of all rows, and what follows of them.
pub fn text(panel: &Panel, candidate: &Candidate<'_>, score: &Score) -> String {
    let columns =
        ["machine", "kernel", "workload", "load", "weight", "compare%", "95% interval", "verdict", "right before"];
    let mut table = new_table(&columns, 4);
    for ScoredRow { row, judged, weight, known } in &score.rows {
        let right = match known {
            Some(known) if known.effects > 0 => format!("{} of {}", known.right, known.effects),
            _ => NONE.to_owned(),
        };
        table.add_row([
            judged.machine.clone(),
            judged.kernel.clone(),
            format!("{}:{}", row.benchmark, row.case),
            row.load.clone(),
            weight.to_string(),
            signed(row.compare_pct, 2),
            interval_or_identical(judged.verdict == RowVerdict::Identical, row.ci95),
            judged.verdict.name().to_owned(),
            right,
        ]);
    }
    let holds_out = panel.parts.iter().any(|part| part.held_out);
    let part = match (candidate.held_out, holds_out) {
        (true, _) => "the parts that are held out",
        (false, true) => "the parts for training",
        (false, false) => "all parts",
    };
    let mut text = format!(
        "{}, {part}, {} rung: {} against {}, simulated\n\n{}\n",
        panel.name,
        score.rung.name(),
        switches(candidate.switches),
        switches(&panel.base),
        table_text(&table)
    );
    let _ = write!(text, "score: {}%", signed(score.mean.pct, 2));
    let identical = score.rows.iter().all(|row| row.judged.verdict == RowVerdict::Identical);
    match (score.mean.ci95, score.mean.probability_better) {
        _ if identical => text += ", because both sides are identical in every row",
        (Some(ci95), Some(probability)) => {
            let probability = match 100.0 * probability {
                low if low < 1.0 => "<1%".to_owned(),
                high if high > 99.0 => ">99%".to_owned(),
                between => format!("{between:.0}%"),
            };
            let _ = write!(text, " {}, better with a probability of {probability}", interval(Some(ci95)));
        }
        _ if score.rows.iter().any(|row| row.row.base.n < 2) => {
            text += ", without an interval, because rows have one run per side";
        }
        _ => text += ", without an interval, because no repeat differs from another",
    }
    text += "\n";
    if let Some(ScoredRow { row, judged, .. }) = score.worst() {
        let _ = writeln!(
            text,
            "worst row: {}% {} {} {} on {}, {}",
            signed(row.compare_pct, 2),
            row.benchmark,
            row.case,
            row.load,
            judged.machine,
            judged.kernel
        );
    }
    if score.gave_up {
        let limit = panel.give_up_pct.unwrap_or_default();
        let _ = writeln!(text, "given up after the fast rung: it loses more than {limit}%");
    }
    let known: BTreeSet<String> = score.rows.iter().filter_map(|row| Some(row.known.as_ref()?.to_string())).collect();
    for known in known {
        let _ = writeln!(text, "model: {known}");
    }
    text
}

/// JSON.
pub fn json(panel: &Panel, candidate: &Candidate<'_>, score: &Score) -> Value {
    let row = |scored: &ScoredRow| {
        let ScoredRow { row, judged, weight, known } = scored;
        json!({
            "machine": judged.machine,
            "kernel": judged.kernel,
            "benchmark": row.benchmark,
            "case": row.case,
            "load": row.load,
            "metric": row.metric,
            "unit": row.unit,
            "better": row.better,
            "weight": weight,
            "base": row.base.values,
            "with": row.with.values,
            "compare_pct": row.compare_pct,
            "ci95": row.ci95,
            "verdict": judged.verdict,
            "known": known,
        })
    };
    let rung = match score.rung {
        Rung::Fast => &panel.fast,
        Rung::Full => &panel.full,
    };
    json!({
        "wakelab": VERSION,
        "kind": "simulated",
        "panel": panel.name,
        "base": panel.base,
        "candidate": candidate.switches,
        "rung": score.rung.name(),
        "seed": panel.seed,
        "settle_ns": rung.settle_ns.value,
        "time_ns": rung.time_ns.value,
        "repeats": rung.repeats.value,
        "give_up_pct": panel.give_up_pct,
        "held_out": candidate.held_out,
        "gave_up": score.gave_up,
        "score_pct": score.mean.pct,
        "ci95": score.mean.ci95,
        "probability_better": score.mean.probability_better,
        "worst": score.worst().map(row),
        "rows": score.rows.iter().map(row).collect::<Vec<_>>(),
        "warnings": score.warnings,
    })
}
