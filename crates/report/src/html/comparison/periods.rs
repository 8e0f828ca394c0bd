//! The threads that wait for a periodic timer, with the names of rt-app's log.

use super::super::{TEXT, n, opt, table, text};
use super::{named, place};
use wakelab_page::{Cell, Place, Section};
use wakelab_study::compare::Comparison;

/// A line for each thread on each side. `None` if no thread has periods.
pub(super) fn periods(found: &Comparison) -> Option<Section> {
    let mut rows = Vec::new();
    for row in &found.rows {
        let Place { case, load } = place(found, row);
        for thread in &row.base.threads {
            for (side, of) in named(found, row) {
                let Some(thread) = of.threads.iter().find(|other| other.name == thread.name) else { continue };
                let us = |ns: Option<f64>| opt(ns.map(|ns| ns / 1e3), 2);
                let waits = thread.wakeup_latency_ns;
                let mut cells = vec![text(format!("{case} {load}").trim()), text(thread.name.clone()), text(side)];
                cells.extend([n(thread.periods), Cell::Number(thread.missed_pct, 2)]);
                cells.extend([us(Some(thread.slack_mean_ns)), us(Some(thread.slack_min_ns as f64))]);
                cells.extend([waits.map(|ns| ns.p50), waits.map(|ns| ns.p99), waits.map(|ns| ns.max)].map(us));
                rows.push(cells);
            }
        }
    }
    let columns = [
        ("Row", TEXT),
        ("Thread", TEXT),
        ("Side", TEXT),
        ("Periods", ""),
        ("Missed", "%"),
        ("Slack", "us"),
        ("Least slack", "us"),
        ("Wake-up latency p50", "us"),
        ("p99", "us"),
        ("Longest", "us"),
    ];
    let about = "Slack is the time from the end of the work to the start of the next period; it is negative if that \
                 was missed. Means over repeats, and the least slack and the longest wait of all.";
    (!rows.is_empty()).then(|| Section {
        id: "periods".to_owned(),
        title: "Threads with periods".to_owned(),
        paragraphs: vec![about.to_owned()],
        tables: vec![table("periods-table", "Slack, missed periods and wake-up latency", &columns, rows)],
    })
}
