//! The scoreboard of published tables: as text, as Markdown, as JSON.

mod markdown;

pub use markdown::markdown;

use crate::VERSION;
use crate::numbers::count;
use crate::table::{table, text as table_text};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use wakelab_study::compare::Class;
use wakelab_study::reproduce::{Plan, Scoreboard, Scored, ScoredTable, Summary, distance, ledger};

/// The scoreboard for a terminal.
pub fn text(board: &Scoreboard) -> String {
    let mut text = format!("published tables, simulated by wakelab {VERSION}, not measured\n");
    let _ = writeln!(text, "{}\n", effort(board));
    for one in &board.tables {
        let _ = writeln!(text, "{}\n", one.name);
        let mut shown = table(&HEADER, 1);
        for row in compared(one) {
            shown.add_row(line(row));
        }
        if compared(one).next().is_some() {
            text.push_str(&table_text(&shown));
            text.push('\n');
        }
        if one.rows.iter().any(|row| row.side_by_side.is_some()) {
            text.push_str(&table_text(&beside(one)));
            text.push('\n');
        }
        for note in &one.notes {
            let _ = writeln!(text, "  {note}");
        }
        for (name, value) in facts(&one.summary) {
            let _ = writeln!(text, "  {name}: {value}");
        }
        for (why, rows) in excluded(one) {
            let _ = writeln!(text, "  not simulated: {rows} ({why})");
        }
        text.push('\n');
    }
    if board.tables.len() > 1 {
        let _ = writeln!(text, "all {} tables", board.tables.len());
        for (name, value) in facts(&board.of_all) {
            let _ = writeln!(text, "  {name}: {value}");
        }
        text.push('\n');
    }
    text
}

/// The plan of `wakelab reproduce --dry-run`; `jobs` runs go at a time.
pub fn plan(plan: &Plan, jobs: usize) -> String {
    let mut shown = table(&["table", "rows", "simulated", "runs", "kept", "CPU time, about"], 1);
    for one in &plan.tables {
        let numbers = [one.rows, one.simulated, one.runs, one.kept].map(|number| number.to_string());
        let [rows, simulated, runs, kept] = numbers;
        shown.add_row([one.name.clone(), rows, simulated, runs, kept, duration_about(one.cpu_s)]);
    }
    let mut text = table_text(&shown);
    for one in plan.tables.iter().filter(|one| !one.excluded.is_empty()) {
        for (why, rows) in &one.excluded {
            let _ = writeln!(text, "{}: not simulated: {rows} ({why})", one.name);
        }
    }
    text + "\n" + &to_make([plan.runs, plan.kept], plan.cpu_s, jobs)
}

/// So many runs to make and so many that are kept, and how long that takes with `jobs` at a time.
pub(crate) fn to_make([runs, kept]: [usize; 2], cpu_s: f64, jobs: usize) -> String {
    format!(
        "{} to make, {kept} kept; about {} with {} at a time. Finished runs are kept: after an interruption it \
         continues from there.\n",
        count(runs as u64, "run"),
        duration_about(cpu_s / jobs.max(1) as f64),
        jobs.max(1),
    )
}

/// A time of which no more than its size is known.
fn duration_about(s: f64) -> String {
    match s {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Rows that have a difference, search statistics or the time in locks.
pub(crate) fn compared(table: &ScoredTable) -> impl Iterator<Item = &Scored> {
    let has = |row: &&Scored| {
        let difference = row.published_compare_pct.is_some() || row.published_search.is_some();
        difference || row.published_rq_lock_pct.is_some()
    };
    table.rows.iter().filter(|row| row.excluded.is_none()).filter(has)
}

/// What is no difference: published and simulated, side by side.
fn beside(one: &ScoredTable) -> comfy_table::Table {
    let mut shown = table(&["row", "what", "base publ.", "sim.", "with publ.", "sim."], 2);
    for line in one.rows.iter().filter_map(beside_line) {
        shown.add_row(line);
    }
    shown
}

/// Its cells; `None` for a row that has none.
pub(crate) fn beside_line(row: &Scored) -> Option<[String; 6]> {
    let beside = row.side_by_side.as_ref()?;
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| format!("{number:.2}"));
    let [base, with] = [0, 1].map(|side| (number(beside.published[side]), number(beside.simulated[side])));
    Some([name(row), beside.what.to_owned(), base.0, base.1, with.0, with.1])
}

const HEADER: [&str; 7] =
    ["row", "published%", "simulated%", "noise%", "published", "simulated", "fast/dom or rq_lock%, publ. | sim."];

/// How much was simulated.
pub(crate) fn effort(board: &Scoreboard) -> String {
    let effort = board.effort;
    let confirm = if effort.confirm > effort.repeats {
        format!(", {} where that shows an effect", effort.confirm)
    } else {
        String::new()
    };
    format!(
        "{} repeat{} of each case and side{confirm}, {} ms measured after {} ms, longer where the benchmark says so{}",
        effort.repeats,
        if effort.repeats == 1 { "" } else { "s" },
        effort.time_ns / 1_000_000,
        effort.settle_ns / 1_000_000,
        if effort.headlines { "; headline rows only" } else { "" },
    )
}

/// What names a row: its cells that are no numbers of results.
pub(crate) fn name(row: &Scored) -> String {
    const NAMES: [&str; 19] = [
        "benchmark",
        "case",
        "machine",
        "numa_config",
        "SIS_CORE",
        "SIS_PROP",
        "load",
        "counter",
        "hackbench_groups",
        "metric",
        "usecs_from",
        "observer_cost_ns",
        "llc_weight",
        "sum_util_pct",
        "nr_instance",
        "intel_pstate_mode",
        "governor",
        "placement",
        "command",
    ];
    let cells = row.cells.iter().filter(|(column, _)| NAMES.contains(&column.as_str()));
    let parts = cells.map(|(column, cell)| match column.as_str() {
        "SIS_CORE" | "SIS_PROP" if cell == "false" => format!("NO_{column}"),
        "SIS_CORE" | "SIS_PROP" => String::new(),
        // Of results of a benchmark it is what the table is of; else it is the row.
        "metric" if row.cells.iter().any(|(column, _)| column == "benchmark") => String::new(),
        "hackbench_groups" => format!("{cell} groups:"),
        "usecs_from" => format!("from {cell} us"),
        "observer_cost_ns" if cell == "0" => String::new(),
        "observer_cost_ns" => format!("traced ({cell} ns)"),
        "llc_weight" => format!("{cell} CPUs"),
        "sum_util_pct" => format!("{cell}% used"),
        _ => cell.clone(),
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn signed(number: Option<f64>) -> String {
    number.map_or_else(|| "n/a".to_owned(), |number| format!("{number:+.2}"))
}

/// The class of each side's difference, published and simulated.
pub(crate) fn classes(row: &Scored) -> [Option<Class>; 2] {
    [row.published_compare_pct, row.simulated_compare_pct].map(|pct| pct.map(|pct| Class::of(pct, row.noise_pct)))
}

fn line(row: &Scored) -> [String; 7] {
    let [published, simulated] = classes(row).map(|class| class.map_or("n/a", Class::name).to_owned());
    let search = match (row.published_search, row.simulated_search) {
        (Some(publ), Some(sim)) => {
            format!(
                "{:.1}/{:.2} | {:.1}/{:.2}",
                publ.fast_rate_pct, publ.dom_eff_pct, sim.fast_rate_pct, sim.dom_eff_pct
            )
        }
        _ => locks(row).map_or_else(String::new, |(publ, sim)| format!("{publ:.2} | {sim:.2}")),
    };
    let noise = if row.published_compare_pct.is_some() { format!("{:.1}", row.noise_pct) } else { String::new() };
    [
        name(row),
        signed(row.published_compare_pct),
        signed(row.simulated_compare_pct),
        noise,
        published,
        simulated,
        search,
    ]
}

/// The share of time in run-queue locks, published and simulated.
pub(crate) fn locks(row: &Scored) -> Option<(f64, f64)> {
    row.published_rq_lock_pct.zip(row.simulated_rq_lock_pct)
}

/// The summary, a line for each number that there is.
pub(crate) fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = vec![("rows simulated", format!("{} of {}", summary.rows, summary.rows + summary.excluded))];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    let compared = summary.class_agreement_pct.is_some();
    let of = |right: usize, all: usize| match all {
        0 => "none was published".to_owned(),
        _ => format!("{right} of {all}"),
    };
    add("effects with the right class", compared.then(|| of(summary.effects_class_right, summary.effects)));
    add("effects with the right class and size", compared.then(|| of(summary.effects_right, summary.effects)));
    add(
        "large effects with the right class and size",
        compared.then(|| of(summary.large_effects_right, summary.large_effects)),
    );
    add(
        "false effects",
        compared.then(|| format!("{} of {} rows without an effect", summary.false_effects, summary.null_rows)),
    );
    add("large effects with the wrong sign", compared.then(|| summary.wrong_sign.to_string()));
    add("class agreement", summary.class_agreement_pct.map(|pct| format!("{pct:.0}%")));
    add("median distance", summary.median_log_distance.map(|log| format!("a factor of {:.3}", log.exp())));
    add("skill", summary.skill.map(|skill| format!("{skill:.2}")));
    add("RMS log error of the baseline's curve", summary.curve_rms_log_error.map(|error| format!("{error:.2}")));
    add("correlation of the time in run-queue locks", summary.rq_lock_correlation.map(|r| format!("{r:.2}")));
    add(
        "mean error of searches, points",
        summary.search_mae.map(|mae| {
            format!(
                "se_eff {:.2}, dom_eff {:.2}, fast_rate {:.2}, success_rate {:.2}",
                mae.se_eff_pct, mae.dom_eff_pct, mae.fast_rate_pct, mae.success_rate_pct
            )
        }),
    );
    facts
}

/// Why rows are not simulated, after the names of their benchmarks where the table has these, with how many.
pub(crate) fn excluded(table: &ScoredTable) -> Vec<(String, usize)> {
    let mut found: Vec<(&str, Vec<&str>, usize)> = Vec::new();
    for row in &table.rows {
        let Some(why) = row.excluded.as_deref() else { continue };
        let at = found.iter().position(|(one, ..)| *one == why).unwrap_or_else(|| {
            found.push((why, Vec::new(), 0));
            found.len() - 1
        });
        let (_, names, rows) = &mut found[at];
        *rows += 1;
        let name = row.cells.iter().find(|(column, _)| column == "benchmark").map(|(_, cell)| cell.as_str());
        // Some reasons say it themselves.
        names.extend(name.filter(|name| !names.contains(name) && !why.contains(name)));
    }
    let told = found.into_iter().map(|(why, names, rows)| match names[..] {
        [] => (why.to_owned(), rows),
        _ => (format!("{}: {why}", names.join(", ")), rows),
    });
    told.collect()
}

/// `{"wakelab":…,"kind":"simulated","tables":[…],"assumed":[…]}`.
pub fn json(board: &Scoreboard) -> Value {
    let tables: Vec<Value> = board
        .tables
        .iter()
        .map(|one| {
            json!({
                "name": one.name,
                "rows": one.rows.iter().map(json_row).collect::<Vec<_>>(),
                "notes": one.notes,
                "summary": one.summary,
            })
        })
        .collect();
    json!({
        "wakelab": VERSION,
        "kind": "simulated",
        "repeats": board.effort.repeats,
        "confirm": board.effort.confirm,
        "settle_ns": board.effort.settle_ns,
        "time_ns": board.effort.time_ns,
        "complete": board.complete,
        "tables": tables,
        "of_all": board.of_all,
        "assumed": board.assumed,
    })
}

fn json_row(row: &Scored) -> Value {
    let mut cells: Map<String, Value> = row.cells.iter().map(|(column, cell)| (column.clone(), json!(cell))).collect();
    let [published, simulated] = classes(row);
    let own = json!({
        "excluded": row.excluded,
        "published_compare_pct": row.published_compare_pct,
        "simulated_compare_pct": row.simulated_compare_pct,
        "noise_pct": row.noise_pct,
        "class_published": published,
        "class_simulated": simulated,
        "simulated_baseline": row.simulated_baseline,
        "published_search": row.published_search,
        "simulated_search": row.simulated_search,
        "beside": row.side_by_side,
        "published_rq_lock_pct": row.published_rq_lock_pct,
        "simulated_rq_lock_pct": row.simulated_rq_lock_pct,
    });
    if let Value::Object(own) = own {
        cells.extend(own);
    }
    Value::Object(cells)
}

/// Every published difference with its simulation, a line each.
pub fn csv(board: &Scoreboard) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in ledger(board) {
        writer.serialize(row).expect("writing to memory does not fail");
    }
    String::from_utf8(writer.into_inner().expect("writing to memory does not fail")).expect("CSV is UTF-8")
}

/// Rows whose class is not the published one, with the names of their tables, the farthest first.
pub(crate) fn missed(board: &Scoreboard) -> Vec<(&str, &Scored)> {
    let far = |row: &Scored| distance(row).unwrap_or(0.0);
    let missed = |row: &&Scored| {
        let [published, simulated] = classes(row);
        published.zip(simulated).is_some_and(|(a, b)| a != b)
    };
    let of_table = board.tables.iter().flat_map(|table| {
        let name = table.name.as_str();
        table.rows.iter().filter(missed).map(move |row| (name, row))
    });
    let mut found: Vec<(&str, &Scored)> = of_table.collect();
    found.sort_by(|a, b| far(b.1).total_cmp(&far(a.1)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(benchmark: &str, excluded: &str) -> Scored {
        Scored {
            cells: vec![("benchmark".to_owned(), benchmark.to_owned())],
            excluded: Some(excluded.to_owned()),
            noise_pct: 10.0,
            ..Scored::default()
        }
    }

    #[test]
    fn rows_that_are_not_simulated_are_told_with_their_benchmarks() {
        let why = "memory bandwidth is not modelled";
        let rows = vec![
            row("Stream 10 runs", why),
            row("Stream 100 runs", why),
            row("Stream 10 runs", why),
            row("x", "x is not"),
        ];
        let table = ScoredTable { name: "t".to_owned(), rows, notes: Vec::new(), summary: Summary::default() };
        let told = excluded(&table);
        assert_eq!(told[0], ("Stream 10 runs, Stream 100 runs: memory bandwidth is not modelled".to_owned(), 3));
        assert_eq!(told[1], ("x is not".to_owned(), 1));
    }

    #[test]
    fn every_row_of_the_published_tables_has_a_name() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published");
        for table in wakelab_study::reproduce::tables(&folder, &[]).unwrap() {
            for published in &table.rows {
                let named = Scored { cells: published.cells.clone(), ..row("", "") };
                assert!(!name(&named).is_empty(), "{}: {:?}", table.name, published.cells);
            }
        }
    }
}
