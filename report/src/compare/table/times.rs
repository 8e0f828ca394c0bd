//! Times, and what balancing did.

use super::{place, sides};
use crate::compare::format::{amount, fixed, fixed_or_none};
use crate::table::{table as new_table, text as table_text};
use wakelab_study::compare::CompareRow;

/// A line for each side of each row.
pub(super) fn times(rows: &[CompareRow]) -> String {
    let columns =
        ["case", "load", "side", "CPU us/wake-up", "p50 us", "p99 us", "migrations by balance", "LLC util %", "idle %"];
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let mut line = place(row, name);
            // Without a search there is nothing to share the time among.
            let per_wakeup = (side.search.counts.sis_search > 0).then_some(side.cpu_ns_per_wakeup / 1e3);
            line.push(fixed_or_none(per_wakeup, 2));
            line.extend([side.latency_p50_ns, side.latency_p99_ns].map(|ns| fixed(ns / 1e3, 2)));
            line.push(amount(side.migrations));
            line.push(fixed_or_none(side.llc_util.map(|util| 100.0 * util), 1));
            line.push(fixed(side.idle_pct, 1));
            table.add_row(line);
        }
    }
    table_text(&table)
}
