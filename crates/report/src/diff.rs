//! Two results or recordings side by side.

use crate::VERSION;
use crate::numbers::{amount, count, interval, p_value, signed, spread};
use crate::table::{table as new_table, text as table_text, with_text_at_end};
use serde_json::{Value, json};
use std::fmt::Write;
use textwrap::Options;
use wakelab_statistics::Better;
use wakelab_study::diff::{Diff, DiffRow, Setting};
use wakelab_study::verdict::{JudgedRow, RowVerdict, Verdict};

/// The columns of sentences.
const WIDTH: usize = 100;
/// So many settings are printed, and so many rows that one of both lacks; JSON has all.
const SHOWN: usize = 20;

/// The whole difference: what was run otherwise, then row by row, then the verdict.
pub fn text(diff: &Diff, verdict: &Verdict<'_>) -> String {
    let mut text = format!("A  {}\nB  {}\n", diff.a, diff.b);
    text += &settings(&diff.settings);
    for note in &diff.notes {
        let _ = write!(text, "\n{}\n", textwrap::fill(note, Options::new(WIDTH).subsequent_indent("  ")));
    }
    let groups = diff.rows.iter().zip(&verdict.rows).collect::<Vec<_>>();
    for rows in groups.chunk_by(|(a, _), (b, _)| group(a) == group(b)) {
        text += &results(rows);
    }
    for (of, other, rows) in [("A", "B", &diff.only_a), ("B", "A", &diff.only_b)] {
        if !rows.is_empty() {
            let _ = write!(text, "\n{} only in {of}, not in {other}: ", count(rows.len() as u64, "row"));
            text += &some(rows);
            text += "\n";
        }
    }
    text + &conclusion(verdict)
}

/// Rows of results are grouped by benchmark and unit, those of recordings by what they are about.
fn group(row: &DiffRow) -> (&str, &str, &str) {
    match row.side.is_empty() {
        true => (&row.benchmark, "", ""),
        false => (&row.benchmark, &row.unit, better_if(row.better)),
    }
}

fn some(names: &[String]) -> String {
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}

fn settings(settings: &[Setting]) -> String {
    if settings.is_empty() {
        return "\nNothing differs in what was run.\n".to_owned();
    }
    let mut table = new_table(&["differs", "A", "B"], 3);
    let value = |value: &Option<String>| match value.as_deref() {
        None => "(none)".to_owned(),
        Some("") => "(nothing)".to_owned(),
        Some(text) => text.to_owned(),
    };
    for Setting { name, a, b } in settings.iter().take(SHOWN) {
        table.add_row([name.clone(), value(a), value(b)]);
    }
    let mut text = format!("\nWhat was run differently\n\n{}", with_text_at_end(table));
    if settings.len() > SHOWN {
        let _ = writeln!(text, "and {} more; --format json lists all", settings.len() - SHOWN);
    }
    text
}

fn results(rows: &[(&DiffRow, &JudgedRow)]) -> String {
    let (first, _) = rows[0];
    let of_results = !first.side.is_empty();
    let any = |of: fn(&DiffRow) -> &String| rows.iter().any(|(row, _)| !of(row).is_empty());
    let (machines, kernels) = (any(|row| &row.machine), any(|row| &row.kernel));
    let compared = rows.iter().any(|(row, _)| row.compare_pct.is_some());
    let mut columns: Vec<&str> = Vec::new();
    columns.extend(machines.then_some("machine"));
    columns.extend(kernels.then_some("kernel"));
    columns.extend(if of_results { &["case", "load", "side"][..] } else { &["quantity", "unit", "better if"][..] });
    let text_columns = columns.len();
    columns.extend(["A ± std%", "B ± std%", "B to A %", "95% interval", "p", "n"]);
    columns.extend(compared.then_some("compare% A, B"));
    columns.push("");
    let mut table = new_table(&columns, text_columns);
    for (row, judged) in rows {
        let mut line: Vec<String> = Vec::new();
        line.extend(machines.then(|| row.machine.clone()));
        line.extend(kernels.then(|| row.kernel.clone()));
        match of_results {
            true => line.extend([row.case.clone(), row.load.clone(), row.side.clone()]),
            false => line.extend([row.case.clone(), row.unit.clone(), better_if(row.better).to_owned()]),
        }
        let [mean_a, mean_b] = row.means();
        let [std_a, std_b] = row.std_pcts();
        let side = |mean: f64, std_pct: f64, n: usize| match n > 1 || of_results {
            true => spread(mean, std_pct, n),
            false => amount(mean),
        };
        let found = &row.difference;
        let (a, b) = (row.values_a.len(), row.values_b.len());
        line.extend([side(mean_a, std_a, a), side(mean_b, std_b, b), signed(found.compare_pct, 2)]);
        line.extend([interval(found.ci95), p_value(found.p_value)]);
        line.push(if a == b { a.to_string() } else { format!("{a}, {b}") });
        if compared {
            line.push(row.compare_pct.map_or_else(String::new, |both| both.map(|pct| signed(pct, 2)).join(", ")));
        }
        line.push(match judged.verdict {
            RowVerdict::Same | RowVerdict::Untested => String::new(),
            said => said.name().to_owned(),
        });
        table.add_row(line);
    }
    let title = match of_results {
        true => {
            let good = better_if(first.better);
            format!("{}, {}, {good} is better; %: positive means B is better", first.benchmark, first.unit)
        }
        false if rows.iter().any(|(row, _)| row.better.is_some()) => {
            format!(
                "{}; %: positive means B is better in a row with a \"better if\", and more in the others",
                first.benchmark
            )
        }
        false => format!("{}; %: positive means B is more", first.benchmark),
    };
    format!("\n{title}\n\n{}", table_text(&table))
}

/// The direction in which a quantity is better; nothing where there is none.
fn better_if(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "",
    }
}

fn conclusion(verdict: &Verdict<'_>) -> String {
    let wrapped = Options::new(WIDTH).subsequent_indent("  ");
    let all = verdict.rows.len();
    let n = |which| verdict.count(which);
    let (better, worse, identical) = (n(RowVerdict::Better), n(RowVerdict::Worse), n(RowVerdict::Identical));
    let line = if all == 0 {
        "verdict: none: no row is in both".to_owned()
    } else if identical == all {
        format!("verdict: A and B are identical in {}", count(all as u64, "row"))
    } else if verdict.tested() == 0 {
        let differ = all - identical;
        format!(
            "verdict: none, as one run per side cannot tell a difference from chance: A and B differ in {differ} of {}",
            count(all as u64, "row")
        )
    } else {
        let named = |which| {
            let mut rows: Vec<&JudgedRow> = verdict.rows_that_are(which).collect();
            rows.sort_by(|a, b| b.size().total_cmp(&a.size()));
            let one = |row: &&JudgedRow| {
                let parts = [&row.machine, &row.kernel, &row.benchmark, &row.case, &row.load];
                let place: Vec<&str> = parts.iter().map(|part| part.as_str()).filter(|part| !part.is_empty()).collect();
                format!("{}% at {}", signed(row.compare_pct, 1), place.join(" "))
            };
            let told: Vec<String> = rows.iter().take(3).map(one).collect();
            if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
        };
        format!(
            "verdict: B is better than A in {better} of {}{}, worse in {worse}{}, {identical} identical",
            count(all as u64, "row"),
            named(RowVerdict::Better),
            named(RowVerdict::Worse),
        )
    };
    let mut text = format!("\n{}\n", textwrap::fill(&line, &wrapped));
    if verdict.tested() > 0 {
        let [least, most] = verdict.repeats;
        let runs = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let tested = count(verdict.tested() as u64, "tested row");
        let line = format!("chance: {runs} runs per side, p below 0.05 after Holm's correction for {tested}");
        let _ = writeln!(text, "{}", textwrap::fill(&line, &wrapped));
    }
    text
}

/// JSON: all settings and rows.
pub fn json(diff: &Diff, verdict: &Verdict<'_>) -> Value {
    let row = |(row, judged): (&DiffRow, &JudgedRow)| {
        json!({
            "machine": row.machine,
            "kernel": row.kernel,
            "side": row.side,
            "benchmark": row.benchmark,
            "case": row.case,
            "load": row.load,
            "unit": row.unit,
            "better": row.better,
            "a": {"mean": finite(row.means()[0]), "values": row.values_a},
            "b": {"mean": finite(row.means()[1]), "values": row.values_b},
            "compare_pct": finite(row.difference.compare_pct),
            "ci95": row.difference.ci95,
            "p_value": row.difference.p_value,
            "p_holm": judged.p_holm,
            "noise_pct": finite(judged.noise_pct),
            "verdict": judged.verdict,
            "compare_pct_of_each": row.compare_pct,
        })
    };
    let setting = |one: &Setting| json!({"name": one.name, "a": one.a, "b": one.b});
    json!({
        "wakelab": VERSION,
        "a": diff.a,
        "b": diff.b,
        "notes": diff.notes,
        "settings": diff.settings.iter().map(setting).collect::<Vec<_>>(),
        "rows": diff.rows.iter().zip(&verdict.rows).map(row).collect::<Vec<_>>(),
        "only_a": diff.only_a,
        "only_b": diff.only_b,
    })
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_say_how_much_they_leave_out() {
        let names: Vec<String> = (0..25).map(|n| n.to_string()).collect();
        assert!(some(&names).ends_with("18, 19 and 5 more"));
        assert_eq!(some(&names[..2]), "0, 1");
        let setting = |n: usize| Setting { name: format!("s{n}"), a: Some(String::new()), b: None };
        let text = settings(&(0..21).map(setting).collect::<Vec<_>>());
        assert!(
            text.contains("s0       (nothing)  (none)") && text.ends_with("and 1 more; --format json lists all\n"),
            "{text}"
        );
        assert!(settings(&[]).contains("Nothing differs"));
    }
}
