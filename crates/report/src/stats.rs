//! Statistics of recordings and simulated runs.

use crate::VERSION;
use crate::csv_cells::{names, number_or_none, reason_columns, text as cell, whole_or_none, written};
use crate::explain::reason_meaning;
use crate::numbers::{count, share, thousands, us};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use wakelab_events::ReadError;
use wakelab_events::stream::RecorderCounts;
use wakelab_input::printable;
use wakelab_measure::{Latency, SearchStats};
use wakelab_sched::select::Reason;
use wakelab_study::recordings::stats::{Breakdown, By, Key, Run, RunTally, Stats, Tally};

/// Tables: wake-ups and waits, searches, reasons, and the parts that were asked for, `top` of each.
pub fn text(stats: &Stats, top: usize) -> String {
    let mut text = String::new();
    for (number, run) in (1..).zip(stats.keys()) {
        let _ = writeln!(text, "{number}  {}", title(run));
    }
    text += "\nWake-ups, and how long wakees waited until they ran (us)\n\n";
    text += &wakeups(stats);
    text += "\nSearches, of the choices whose reason is known\n\n";
    text += &searches(stats);
    text += "\nShare of each reason, %\n\n";
    text += &reasons(stats);
    for (number, tally) in (1..).zip(stats.values()) {
        for parts in tally.breakdowns.iter().filter(|parts| !parts.tallies.is_empty()) {
            let _ = write!(text, "\n{number}  {} (waits in us)\n\n", by_title(parts.by));
            text += &part_table(parts, top, tally.knows_reasons);
        }
    }
    text += &recorder_text(stats);
    text += &notes(stats);
    text
}

/// The share of a sample: `12.5%`, with as many digits as it takes.
pub fn sampled(share: f64) -> String {
    match 100.0 * share {
        pct if pct < 0.1 => format!("{pct:.3}%"),
        pct => format!("{pct:.1}%"),
    }
}

pub(crate) fn title(run: &Run) -> String {
    let words = [run.kind, &run.kernel, &run.machine, &run.workload, &run.variant];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn by_title(by: By) -> &'static str {
    match by {
        By::Task => "by wakee",
        By::Comm => "by name of the wakee",
        By::Cpu => "by the CPU where the wakee went",
        By::Llc => "by the last-level cache where the wakee went",
    }
}

fn wakeups(stats: &Stats) -> String {
    let header = ["", "wake-ups", "runs", "moved %", "other LLC %", "p50", "p95", "p99", "max", "balanced"];
    let mut table = table(&header, 1);
    for (number, tally) in (1..).zip(stats.values()) {
        let mut line = vec![format!("{number}"), thousands(tally.all.wakeups), thousands(tally.runs)];
        line.extend(moved(&tally.all));
        line.extend(waits(tally.has_waits, &tally.all.waits.latency()));
        line.push(tally.balanced.map_or("-".to_owned(), thousands));
        table.add_row(line);
    }
    table_text(&table)
}

fn moved(tally: &Tally) -> [String; 2] {
    [share(tally.moved, tally.moved_of), share(tally.crossed, tally.crossed_of)]
}

fn waits(has: bool, latency: &Latency) -> [String; 4] {
    [latency.p50, latency.p95, latency.p99, latency.max].map(|ns| {
        if !has || latency.n == 0 {
            return "-".to_owned();
        }
        us(ns)
    })
}

/// The search statistics and their rates, as the patch that introduced them prints them.
const SEARCH: [&str; 10] = [
    "sis_search",
    "sis_domain_search",
    "sis_scanned",
    "sis_failed",
    "fast_rate %",
    "success_rate %",
    "se_eff %",
    "dom_eff %",
    "looks per domain search",
    "choices",
];

/// The cells of a run; `-` each if it is `None`, because nothing is known of its choices.
fn search_cells(known: Option<(&SearchStats, u64)>) -> Vec<String> {
    let Some((search, choices)) = known else { return SEARCH.map(|_| "-".to_owned()).into() };
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    let mut cells: Vec<_> =
        [search.sis_search, search.sis_domain_search, search.sis_scanned, search.sis_failed].map(thousands).into();
    cells.extend(
        [
            search.fast_rate_pct(),
            search.success_rate_pct(),
            search.se_eff_pct(),
            search.dom_eff_pct(),
            search.looks_per_domain_search(),
        ]
        .map(rate),
    );
    cells.push(thousands(choices));
    cells
}

/// The searches of a run and the choices that they are of, if anything is known of its choices.
pub(crate) fn known_search(tally: &RunTally) -> Option<(&SearchStats, u64)> {
    tally.knows_reasons.then(|| (&tally.all.search, tally.all.reasons.values().sum()))
}

fn searches(stats: &Stats) -> String {
    let mut header = vec!["".to_owned()];
    header.extend((1..=stats.len()).map(|number| number.to_string()));
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    let columns: Vec<_> = stats.values().map(|tally| search_cells(known_search(tally))).collect();
    for (at, name) in SEARCH.into_iter().enumerate() {
        let mut line = vec![name.to_owned()];
        line.extend(columns.iter().map(|column| column[at].clone()));
        table.add_row(line);
    }
    table_text(&table)
}

fn reasons(stats: &Stats) -> String {
    let present: BTreeSet<Reason> = stats.values().flat_map(|tally| tally.all.reasons.keys().copied()).collect();
    if present.is_empty() {
        return "no reasons: they need decisions with their inputs, as wakelab-record records them\n".to_owned();
    }
    let mut header: Vec<String> = vec!["".to_owned()];
    header.extend((1..=stats.len()).map(|number| number.to_string()));
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    for reason in Reason::ALL.into_iter().filter(|reason| present.contains(reason)) {
        let mut line = vec![reason.name().to_owned()];
        line.extend(stats.values().map(|tally| {
            let all = tally.all.reasons.values().sum();
            share(tally.all.reasons.get(&reason).copied().unwrap_or(0), all)
        }));
        table.add_row(line);
    }
    let mut text = table_text(&table) + "\n";
    for reason in Reason::ALL.into_iter().filter(|reason| present.contains(reason)) {
        let _ = writeln!(text, "  {:<12}{}", reason.name(), reason_meaning(reason));
    }
    text
}

fn part_table(parts: &Breakdown, top: usize, knows_reasons: bool) -> String {
    let header =
        [parts.by.name(), "wake-ups", "moved %", "other LLC %", "p50", "p95", "p99", "max", "scanned", "failed"];
    let mut table = table(&header, 1);
    let all = sorted(parts);
    for (key, tally) in all.iter().take(top) {
        let mut line = vec![printable(&key.to_string()).into_owned(), thousands(tally.wakeups)];
        line.extend(moved(tally));
        let latency = tally.waits.latency();
        line.extend(waits(latency.n > 0, &latency));
        let searches = [tally.search.sis_scanned, tally.search.sis_failed];
        line.extend(searches.map(|n| if knows_reasons { thousands(n) } else { "-".to_owned() }));
        table.add_row(line);
    }
    let mut text = table_text(&table);
    if all.len() > top {
        let _ = writeln!(text, "and {} more (--top)", thousands((all.len() - top) as u64));
    }
    text
}

/// CPUs and caches in their order, tasks by how often they were woken.
pub(crate) fn sorted(parts: &Breakdown) -> Vec<(&Key, &Tally)> {
    let mut all: Vec<_> = parts.tallies.iter().collect();
    if matches!(parts.by, By::Task | By::Comm) {
        all.sort_by(|a, b| b.1.wakeups.cmp(&a.1.wakeups).then(a.0.cmp(b.0)));
    }
    all
}

/// What the numbers leave out.
pub(crate) fn notes(stats: &Stats) -> String {
    let mut text = String::new();
    for (number, tally) in (1..).zip(stats.values()) {
        let RunTally { unscored, unseen, has_waits, balanced, all, imported, .. } = tally;
        if let Some(share) = tally.recorder.and_then(|counts| counts.sample()) {
            let _ = writeln!(
                text,
                "\n{number}: a sample: it has {} of the decisions; filters, --sample or --max-rate left out the \
                 others. Counts are those of the sample, and the longest wait may be missing; shares and \
                 percentiles stand for all decisions only if --sample alone chose.",
                sampled(share)
            );
        }
        if *unscored > 0 {
            let _ = writeln!(
                text,
                "\n{number}: {} without a reason: their state changed while the kernel decided, or the model lacks \
                 what they read.",
                count(*unscored, "wake-up")
            );
        }
        if !has_waits && balanced.is_some() {
            let _ = writeln!(text, "\n{number}: no waits: no switches were recorded.");
        } else if !has_waits {
            let _ = writeln!(text, "\n{number}: no waits and no balancing: no switches were recorded.");
        } else if *unseen > 0 {
            let _ = writeln!(
                text,
                "\n{number}: {} of {} not seen to run before the recording ended, the next wake-up came, or at all.",
                thousands(*unseen),
                count(all.wakeups, "wakee")
            );
        }
        if all.moved_of > 0 && all.moved_of < all.wakeups {
            let _ = writeln!(
                text,
                "\n{number}: moved is a share of the {} whose previous CPU is known.",
                count(all.moved_of, "wake-up")
            );
        }
        if let Some(lost) = imported.as_ref().map(|imported| imported.lost).filter(|&lost| lost > 0) {
            let _ = writeln!(
                text,
                "\n{number}: the recorder lost at least {}: a wait whose end was lost ends at a later switch, so do \
                 not trust the longest.",
                count(lost, "event")
            );
        }
        if let Some((of, unfinished)) = imported.as_ref().map(|of| (of, of.unfinished)).filter(|(_, n)| *n > 0) {
            let _ = writeln!(
                text,
                "\n{number}: {} left out whose wake-up or run is not in the trace{}.",
                count(unfinished, "waking"),
                if of.lost > 0 { ", which has lost events" } else { "" }
            );
        }
        if *has_waits && balanced.is_none() && imported.is_some() {
            let _ = writeln!(
                text,
                "\n{number}: migrations by balancing are not counted: they need sched_waking and sched_migrate_task, \
                 with no event lost."
            );
        } else if *has_waits && balanced.is_none() {
            let _ = writeln!(
                text,
                "\n{number}: migrations by balancing are not counted: wake-ups were left out or lost, or none were \
                 counted, and their migrations cannot be told from those by balancing."
            );
        }
    }
    text
}

/// All that was counted; `errors` are what could not be read to its end.
pub fn json(stats: &Stats, errors: &[ReadError]) -> Value {
    let runs: Vec<Value> = stats
        .iter()
        .map(|(run, tally)| {
            let mut value = json!({
                "kind": run.kind, "kernel": run.kernel, "machine": run.machine, "workload": run.workload,
                "variant": run.variant, "runs": tally.runs, "unscored": tally.unscored, "unseen": tally.unseen,
                "balanced": tally.balanced,
                "recorder": recorder_json(tally.recorder),
                "imported": imported_json(tally),
                "from_ns": tally.span.map(|span| span.0), "to_ns": tally.span.map(|span| span.1),
            });
            extend(&mut value, tally_json(&tally.all, tally));
            for parts in &tally.breakdowns {
                value[parts.by.name()] = breakdown_json(parts, tally);
            }
            value
        })
        .collect();
    json!({"wakelab": VERSION, "runs": runs, "errors": errors.iter().map(crate::conform::error).collect::<Vec<_>>()})
}

/// Of what a line of [`csv`] is, and what was counted.
const COLUMNS: &str = "\
    kind kernel machine workload variant runs by name wakeups chose moved moved_of other_llc other_llc_of unscored \
    balanced";
/// The searches, as in JSON; empty if no reason is known.
const SEARCH_COLUMNS: &str = "\
    sis_search sis_domain_search sis_scanned sis_failed fast_rate_pct success_rate_pct se_eff_pct dom_eff_pct";
/// The waits, as in JSON; empty without switches.
const WAIT_COLUMNS: &str = "wait_n wait_mean_ns wait_p50_ns wait_p95_ns wait_p99_ns wait_max_ns";

/// A header, a line for each run (`by` is `all`) and one for each part of the breakdowns that were asked for. What is
/// not known is empty. Times are ns.
pub fn csv(stats: &Stats) -> String {
    let columns = [COLUMNS, SEARCH_COLUMNS, WAIT_COLUMNS].into_iter().flat_map(names);
    let mut lines = vec![columns.chain(reason_columns()).collect()];
    for (run, tally) in stats {
        lines.push(csv_line(run, tally, ["all", ""], &tally.all));
        for parts in &tally.breakdowns {
            lines.extend(
                parts.tallies.iter().map(|(key, part)| csv_line(run, tally, [parts.by.name(), &key.to_string()], part)),
            );
        }
    }
    written(lines)
}

fn csv_line(run: &Run, of: &RunTally, [by, name]: [&str; 2], tally: &Tally) -> Vec<String> {
    let known = |part: u64, of: u64| whole_or_none((of > 0 || tally.wakeups == 0).then_some(part));
    let whole = by == "all";
    let mut line = [run.kind, &run.kernel, &run.machine, &run.workload, &run.variant].map(cell).to_vec();
    line.extend([of.runs.to_string(), by.to_owned(), cell(name), tally.wakeups.to_string()]);
    line.extend([whole_or_none(tally.chose), known(tally.moved, tally.moved_of), tally.moved_of.to_string()]);
    line.extend([known(tally.crossed, tally.crossed_of), tally.crossed_of.to_string()]);
    // Both are counted of runs, not of their parts.
    line.extend([whole.then_some(of.unscored), of.balanced.filter(|_| whole)].map(whole_or_none));
    let search = of.knows_reasons.then_some(&tally.search);
    let count = |of: fn(&SearchStats) -> u64| whole_or_none(search.map(of));
    line.extend([count(|s| s.sis_search), count(|s| s.sis_domain_search)]);
    line.extend([count(|s| s.sis_scanned), count(|s| s.sis_failed)]);
    let rate = |of: fn(&SearchStats) -> Option<f64>| number_or_none(search.and_then(of));
    line.extend([rate(SearchStats::fast_rate_pct), rate(SearchStats::success_rate_pct)]);
    line.extend([rate(SearchStats::se_eff_pct), rate(SearchStats::dom_eff_pct)]);
    let latency = of.has_waits.then(|| tally.waits.latency());
    line.push(whole_or_none(latency.map(|wait| wait.n)));
    line.push(number_or_none(latency.map(|wait| wait.mean)));
    let waits = [latency.map(|wait| wait.p50), latency.map(|wait| wait.p95), latency.map(|wait| wait.p99)];
    line.extend(waits.into_iter().chain([latency.map(|wait| wait.max)]).map(whole_or_none));
    line.extend(Reason::ALL.into_iter().map(|reason| tally.reasons.get(&reason).copied().unwrap_or(0).to_string()));
    line
}

fn breakdown_json(parts: &Breakdown, run: &RunTally) -> Value {
    let line = |(key, tally): (&wakelab_study::recordings::stats::Key, &Tally)| {
        let mut value = json!({"name": key.to_string()});
        extend(&mut value, tally_json(tally, run));
        value
    };
    parts.tallies.iter().map(line).collect()
}

fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

/// Null is what is not known.
fn tally_json(tally: &Tally, run: &RunTally) -> Value {
    let search = &tally.search;
    let latency = tally.waits.latency();
    let known = |part: u64, of: u64| (of > 0 || tally.wakeups == 0).then_some(part);
    let reasons: BTreeMap<_, _> = tally.reasons.iter().map(|(reason, n)| (reason.name(), *n)).collect();
    json!({
        "wakeups": tally.wakeups, "chose": tally.chose,
        "moved": known(tally.moved, tally.moved_of), "moved_of": tally.moved_of,
        "other_llc": known(tally.crossed, tally.crossed_of), "other_llc_of": tally.crossed_of,
        "reasons": reasons,
        "search": run.knows_reasons.then(|| json!({
            "sis_search": search.sis_search, "sis_domain_search": search.sis_domain_search,
            "sis_scanned": search.sis_scanned, "sis_failed": search.sis_failed,
            "fast_rate_pct": search.fast_rate_pct(), "success_rate_pct": search.success_rate_pct(),
            "se_eff_pct": search.se_eff_pct(), "dom_eff_pct": search.dom_eff_pct(),
        })),
        "wait_ns": run.has_waits.then(|| json!({
            "n": latency.n, "mean": latency.mean, "p50": latency.p50, "p95": latency.p95, "p99": latency.p99,
            "max": latency.max,
        })),
    })
}

/// A table; empty where nothing was counted.
fn recorder_text(stats: &Stats) -> String {
    let counted = || (1..).zip(stats.values()).filter_map(|(n, tally)| Some((n, tally.recorder?)));
    if counted().next().is_none() {
        return String::new();
    }
    let header = [
        "",
        "choices",
        "recorded",
        "lost",
        "left out",
        "rebuilding",
        "unfinished",
        "other rows lost",
        "programs %",
        "recorder %",
    ];
    let mut table = table(&header, 1);
    for (n, counts) in counted() {
        let numbers = [counts.choices, counts.recorded, counts.lost, counts.left_out, counts.changed];
        let mut line = vec![format!("{n}")];
        line.extend(numbers.map(thousands));
        line.push(counts.unfinished.to_string());
        line.push(thousands(counts.events_lost));
        let [programs, recorder] = recorder_shares(&counts);
        line.extend([programs, recorder].map(|share| share.map_or("-".to_owned(), |share| format!("{share:.1}"))));
        table.add_row(line);
    }
    let mut text =
        "\nWhat the recorder counted: choices of the fair class, and the share of one CPU that recording took\n\n"
            .to_owned();
    text += &table_text(&table);
    let cut_off: u64 = counted().map(|(_, counts)| counts.cut_off).sum();
    if cut_off > 0 {
        text += "A recorder was killed: its counts are those of its last complete segment.\n";
    }
    text
}

/// Of one CPU, %: the BPF programs, where it is known, and the recorder itself.
pub(crate) fn recorder_shares(counts: &RecorderCounts) -> [Option<f64>; 2] {
    let share = |ns: u64| (counts.elapsed_ns > 0).then(|| ns as f64 / counts.elapsed_ns as f64 * 100.0);
    [counts.programs_ns.and_then(share), share(counts.recorder_ns)]
}

/// What an import knows of its trace; null for others.
fn imported_json(tally: &RunTally) -> Value {
    tally.imported.as_ref().map_or(Value::Null, |imported| {
        json!({
            "tracepoints": imported.tracepoints, "lost": imported.lost, "duration_ns": imported.duration_ns,
        })
    })
}

/// The same as JSON; null where nothing was counted.
fn recorder_json(counts: Option<RecorderCounts>) -> Value {
    let Some(counts) = counts else { return Value::Null };
    let [programs, recorder] = recorder_shares(&counts);
    json!({
        "choices": counts.choices, "recorded": counts.recorded, "lost": counts.lost, "left_out": counts.left_out,
        "rebuilding": counts.changed, "unfinished": counts.unfinished, "events_lost": counts.events_lost,
        "sample": counts.sample(), "programs_pct": programs, "recorder_pct": recorder, "cut_off": counts.cut_off,
    })
}
