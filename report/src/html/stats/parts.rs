//! Parts that were counted apart, and what recorders counted.

use crate::html::table::{TEXT, n, opt, share, table, text};
use crate::html::wakeups::latency;
use crate::stats::{by_title, sorted};
use wakelab_page::{Cell, Page, Section, Table};
use wakelab_study::stats::{Key, Parts, RunTally, Stats, Tally};

/// So many parts have a line in the chart of waits.
const WAITS: usize = 5;

/// Percentiles of the parts that were woken most.
pub(super) fn latencies(page: &mut Page, (side, load): (&str, &str), tally: &RunTally, top: usize) {
    for parts in &tally.parts {
        for (key, tally) in sorted(parts).into_iter().take(top.min(WAITS)) {
            let tasks = format!("{} {key}", parts.by.name());
            page.latencies.extend(latency(side, load, &tasks, &tally.waits.latency()));
        }
    }
}

/// A section for all parts that were asked for, and one for what recorders counted.
pub(super) fn sections(stats: &Stats, named: &[(String, String)], top: usize) -> Vec<Section> {
    let mut tables = Vec::new();
    for (number, ((side, load), tally)) in (1..).zip(named.iter().zip(stats.values())) {
        for parts in tally.parts.iter().filter(|parts| !parts.tallies.is_empty()) {
            let of = [side.as_str(), load].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            let id = format!("by-{}-{number}", parts.by.name());
            tables.push(part_table(&id, &format!("{of}: {}", by_title(parts.by)), parts, top));
        }
    }
    let section = |id: &str, title: &str, paragraph: &str, tables: Vec<Table>| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        paragraphs: vec![paragraph.to_owned()],
        tables,
    };
    let about = "Those that were woken most come first; `--top` says how many.";
    let parts = (!tables.is_empty()).then(|| section("parts", "Parts", about, tables));
    let about = "Choices of the fair class, and what recording took of one CPU.";
    let recorder =
        recorder(stats, named).map(|table| section("recorder", "What the recorder counted", about, vec![table]));
    parts.into_iter().chain(recorder).collect()
}

fn part_table(id: &str, caption: &str, parts: &Parts, top: usize) -> Table {
    let columns = [
        (parts.by.name(), TEXT),
        ("Wake-ups", ""),
        ("Moved", "%"),
        ("Other LLC", "%"),
        ("p50", "us"),
        ("p95", "us"),
        ("p99", "us"),
        ("max", "us"),
        ("Scanned", ""),
        ("Failed", ""),
    ];
    let row = |(key, tally): (&Key, &Tally)| {
        let waits = tally.waits.latency();
        let us = |ns: u64| if waits.n > 0 { Cell::Number(ns as f64 / 1e3, 1) } else { Cell::Empty };
        let mut row = vec![text(key.to_string()), n(tally.wakeups)];
        row.extend([share(tally.moved, tally.wakeups), share(tally.crossed, tally.wakeups)]);
        row.extend([waits.p50, waits.p95, waits.p99, waits.max].map(us));
        row.extend([n(tally.search.sis_scanned), n(tally.search.sis_failed)]);
        row
    };
    table(id, caption, &columns, sorted(parts).into_iter().take(top).map(row).collect())
}

fn recorder(stats: &Stats, named: &[(String, String)]) -> Option<Table> {
    let columns = [
        ("Side", TEXT),
        ("Load", TEXT),
        ("Choices", ""),
        ("Recorded", ""),
        ("Lost", ""),
        ("Left out", ""),
        ("Rebuilding", ""),
        ("Other rows lost", ""),
        ("Programs", "%"),
        ("Recorder", "%"),
    ];
    let row = |((side, load), tally): (&(String, String), &RunTally)| {
        let counts = tally.recorder?;
        let [programs, recorder] = crate::stats::recorder_shares(&counts);
        let mut row = vec![text(side.clone()), text(load.clone())];
        row.extend(
            [counts.choices, counts.recorded, counts.lost, counts.left_out, counts.changed, counts.events_lost].map(n),
        );
        row.extend([opt(programs, 1), opt(recorder, 1)]);
        Some(row)
    };
    let rows: Vec<_> = named.iter().zip(stats.values()).filter_map(row).collect();
    (!rows.is_empty()).then(|| table("recorder-table", "Losses, and what recording took", &columns, rows))
}
