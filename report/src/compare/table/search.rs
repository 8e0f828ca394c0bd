//! Search statistics of both sides.

use super::{place, sides};
use crate::compare::format::{fixed, fixed_or_none};
use crate::numbers::thousands;
use crate::table::{table as new_table, text as table_text};
use wakelab_study::compare::{CompareRow, SearchRates};

/// What was counted.
pub(super) fn counters(rows: &[CompareRow]) -> String {
    let columns = ["case", "load", "side", "search", "domain_search", "scanned", "failed", "scanned/domain_search"];
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let counts = &side.search.counts;
            let counts = [counts.sis_search, counts.sis_domain_search, counts.sis_scanned, counts.sis_failed];
            let mut line = place(row, name);
            line.extend(counts.map(thousands));
            line.push(fixed_or_none(side.search.scanned_per_domain_search, 2));
            table.add_row(line);
        }
    }
    table_text(&table)
}

/// The rates of it, with what was published of the base side beside.
pub(super) fn rates(rows: &[CompareRow]) -> String {
    let published = rows.iter().any(|row| row.published_search.is_some());
    let mut columns = vec!["case", "load", "side"];
    for rate in ["se_eff", "dom_eff", "fast_rate", "success_rate"] {
        columns.push(rate);
        if published {
            columns.push("publ.");
        }
    }
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let search = &side.search;
            let simulated = [search.se_eff_pct, search.dom_eff_pct, search.fast_rate_pct, search.success_rate_pct];
            // What was published is of the base side.
            let beside = row.published_search.filter(|_| name == "base").map(published_rates);
            let mut line = place(row, name);
            for (n, rate) in simulated.into_iter().enumerate() {
                line.push(fixed_or_none(rate, 3));
                if published {
                    line.push(beside.map_or_else(String::new, |rates| fixed(rates[n], 3)));
                }
            }
            table.add_row(line);
        }
    }
    table_text(&table)
}

fn published_rates(search: SearchRates) -> [f64; 4] {
    [search.se_eff_pct, search.dom_eff_pct, search.fast_rate_pct, search.success_rate_pct]
}
