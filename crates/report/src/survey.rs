//! A survey: policies by what they are worth on all loads, and on each.

use crate::compare::{conclusion, matrix};
use crate::numbers::{fixed, interval, signed};
use crate::table::{table as new_table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use textwrap::Options;
use wakelab_study::compare::{CompareRow, MatrixComparison};
use wakelab_study::survey::{Ranked, ranking};
use wakelab_study::verdict::{JudgedRow, RowVerdict, Verdict};

/// The columns of sentences.
const WIDTH: usize = 100;

/// The whole survey, and the command to run next, if there is one.
pub fn text(found: &MatrixComparison, verdicts: &[Verdict<'_>], next: Option<&str>) -> String {
    let (ranked, idle) = ranking(found, verdicts);
    let mut text = matrix::header(found, false);
    if found.lines() > 0 {
        let (all, each) = (over_all(found, &ranked), by_workload(found, verdicts, &ranked));
        let _ = write!(text, "\nOver all loads, the best first, %; positive is better\n\n{all}");
        let _ = write!(text, "\nBy workload, geometric means of its loads, %\n\n{each}");
    }
    text += &matrix::failed_text(found);
    text += "\n";
    let wrapped = Options::new(WIDTH).subsequent_indent("  ");
    for line in notes(found, &ranked, &idle).into_iter().chain(conclusions(found, verdicts)) {
        text += &(textwrap::fill(&line, &wrapped) + "\n");
    }
    if let Some(next) = next {
        // A command goes on one line, to be copied.
        text += "next: the best of many looks better than it is; try it again with other seeds:\n  ";
        text += next;
        text += "\n";
    }
    text
}

/// JSON: that of the matrix, with the ranking.
pub fn json(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> Value {
    let (ranked, idle) = ranking(found, verdicts);
    let end = |(row, judged): (&CompareRow, &JudgedRow)| {
        json!({
            "benchmark": row.benchmark,
            "case": row.case,
            "load": row.load,
            "compare_pct": row.compare_pct,
            "ci95": row.ci95,
            "verdict": judged.verdict,
        })
    };
    let one = |one: &Ranked<'_>| {
        json!({
            "variant": found.variants[one.variant],
            "compare_pct": one.mean.pct,
            "ci95": one.mean.ci95,
            "rows": one.rows,
            "better": one.better,
            "worse": one.worse,
            "identical": one.identical,
            "best": end(one.best),
            "worst": end(one.worst),
        })
    };
    let mut value = matrix::json(found, verdicts);
    value["survey"] = json!({
        "ranking": ranked.iter().map(one).collect::<Vec<_>>(),
        "identical": idle.iter().map(|&variant| &found.variants[variant]).collect::<Vec<_>>(),
    });
    value
}

fn over_all(found: &MatrixComparison, ranked: &[Ranked<'_>]) -> String {
    let columns = ["rank", "switch", "mean", "95% interval", "better", "worse", "rows", "best row", "worst row"];
    let mut table = new_table(&columns, 2);
    let end = |(row, _): (&CompareRow, &JudgedRow)| {
        format!("{} {} {} {}", signed(row.compare_pct, 1), row.benchmark, row.case, row.load)
    };
    for (rank, one) in (1..).zip(ranked) {
        table.add_row([
            format!("{rank}"),
            found.variants[one.variant].clone(),
            signed(one.mean.pct, 2),
            interval(one.mean.ci95),
            one.better.to_string(),
            one.worse.to_string(),
            one.rows.to_string(),
            end(one.best),
            end(one.worst),
        ]);
    }
    table_text(&table)
}

fn by_workload(found: &MatrixComparison, verdicts: &[Verdict<'_>], ranked: &[Ranked<'_>]) -> String {
    let keys: Vec<[String; 3]> = matrix::groups(found, verdicts).into_iter().map(|group| group.key).collect();
    let titles: Vec<String> = keys.iter().map(|[benchmark, case, _]| format!("{benchmark} {case}")).collect();
    let columns: Vec<&str> = ["switch"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let mut table = new_table(&columns, 1);
    for one in ranked {
        let mean = |key: &[String; 3]| {
            let mean = found.mean(one.variant, |_, row| matrix::key(row) == *key);
            mean.map_or_else(
                || "n/a".to_owned(),
                |mean| {
                    let half =
                        mean.ci95.map_or_else(String::new, |[low, high]| format!(" ±{}", fixed((high - low) / 2.0, 1)));
                    format!("{}{half}", signed(mean.pct, 1))
                },
            )
        };
        table.add_row([found.variants[one.variant].clone()].into_iter().chain(keys.iter().map(mean)));
    }
    table_text(&table)
}

/// The switches that do nothing, and the one that is not a policy.
pub(crate) fn notes(found: &MatrixComparison, ranked: &[Ranked<'_>], idle: &[usize]) -> Vec<String> {
    let mut notes = Vec::new();
    if !idle.is_empty() {
        let names: Vec<&str> = idle.iter().map(|&variant| found.variants[variant].as_str()).collect();
        notes.push(format!("Identical to the base in every row, with every seed: {}.", names.join(", ")));
    }
    if ranked.iter().any(|one| found.variants[one.variant] == "SIS_ORACLE") {
        notes.push(
            "SIS_ORACLE is not a policy: it knows every idle CPU of the LLC, and bounds what a search can find.".into(),
        );
    }
    notes
}

/// A sentence for each switch that is better or worse somewhere, and what holds for all.
pub(crate) fn conclusions(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> Vec<String> {
    let (ranked, _) = ranking(found, verdicts);
    let shown = |one: &&Ranked<'_>| one.better + one.worse > 0;
    let mut lines: Vec<String> =
        ranked.iter().filter(shown).map(|one| format!("verdict: {}", conclusion(&verdicts[one.variant]))).collect();
    let others = ranked.len() - lines.len();
    if others > 0 {
        let of = if lines.is_empty() { "any switch".to_owned() } else { format!("the other {others}") };
        lines.push(format!("verdict: no difference from {} is shown for {of}", found.base));
    }
    let untested = verdicts.iter().all(|verdict| verdict.count(RowVerdict::Untested) > 0 && verdict.tested() == 0);
    if untested {
        lines.push("One run per side cannot tell a difference from chance: --repeat 3 gives a verdict.".to_owned());
    }
    lines.extend(matrix::model(verdicts));
    lines
}
