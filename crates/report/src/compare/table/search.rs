//! Search statistics of both sides.

use super::{place, sides, state_name};
use crate::numbers::{fixed, fixed_or_none, thousands};
use crate::table::{table as new_table, text as table_text};
use std::fmt::Write;
use wakelab_study::compare::{CompareRow, RegretSummary, SearchRates, other_state_ns};

/// What was counted.
pub(super) fn counters(rows: &[CompareRow]) -> String {
    let columns = ["case", "load", "side", "search", "domain_search", "scanned", "failed", "looks/domain_search"];
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let counts = &side.search.counts;
            let counts = [counts.sis_search, counts.sis_domain_search, counts.sis_scanned, counts.sis_failed];
            let mut line = place(row, name);
            line.extend(counts.map(thousands));
            line.push(fixed_or_none(side.search.looks_per_domain_search, 2));
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

/// All tables of regret; empty where it was not wanted.
pub(super) fn regret(rows: &[CompareRow]) -> String {
    if rows.iter().all(|row| row.base.regret.is_none() && row.with.regret.is_none()) {
        return String::new();
    }
    let mut text = String::new();
    let _ = write!(text, "\nRegret: searches against perfect knowledge, all repeats together\n\n{}", searches(rows));
    let _ = write!(text, "\nHow many looks would have been enough, % of domain searches\n\n{}", enough(rows));
    text += "\nWas an idle CPU worth having: CPU us per wake-up, by where it was put\n\n";
    text += &cpu(rows);
    text + "\nCPU us per wake-up in the state that was kept, against the other state\n\n" + &states(rows)
}

/// A line for each side that has regret.
fn lines(rows: &[CompareRow], columns: &[&str], cells: impl Fn(&CompareRow, &RegretSummary) -> Vec<String>) -> String {
    let columns: Vec<&str> = ["case", "load", "side"].iter().chain(columns).copied().collect();
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            if let Some(regret) = &side.regret {
                let mut line = place(row, name);
                line.extend(cells(row, regret));
                table.add_row(line);
            }
        }
    }
    table_text(&table)
}

fn searches(rows: &[CompareRow]) -> String {
    let columns = ["searches", "failed", "missed", "missed %", "gone", "none idle", "looks/search", "futile %"];
    lines(rows, &columns, |_, regret| {
        let (searches, looks) = (&regret.searches, &regret.looks);
        let counts = &searches.counts;
        let per_search = (counts.n != 0).then(|| looks.counts.n as f64 / counts.n as f64);
        let mut line = vec![thousands(counts.n), thousands(counts.failed), thousands(counts.missed)];
        line.push(fixed_or_none(searches.missed_pct, 2));
        line.extend([thousands(counts.gone), thousands(counts.nothing)]);
        line.extend([fixed_or_none(per_search, 2), fixed_or_none(looks.futile_pct, 1)]);
        line
    })
}

fn enough(rows: &[CompareRow]) -> String {
    // Buckets from which on all are empty, in every line, say nothing.
    let used = |regret: &RegretSummary| regret.enough.iter().rposition(|bucket| bucket.count != 0).map_or(1, |n| n + 1);
    let all = || rows.iter().flat_map(|row| sides(row).map(|(_, side)| side)).filter_map(|side| side.regret.as_ref());
    let buckets = all().map(used).max().unwrap_or(1);
    let headings: Vec<String> = all().next().map_or_else(Vec::new, |regret| {
        let heading = |bucket: &wakelab_study::compare::Positions| match bucket.to {
            Some(to) if to == bucket.from => to.to_string(),
            Some(to) => format!("{}-{to}", bucket.from),
            None => format!("{}-", bucket.from),
        };
        regret.enough[..buckets].iter().map(heading).collect()
    });
    let columns: Vec<&str> = headings.iter().map(String::as_str).chain(["none"]).collect();
    lines(rows, &columns, |_, regret| {
        let n = regret.searches.counts.n;
        let share = |count: u64| fixed_or_none((n != 0).then(|| 100.0 * count as f64 / n as f64), 1);
        let mut line: Vec<String> = regret.enough[..buckets].iter().map(|bucket| share(bucket.count)).collect();
        line.push(share(regret.enough_never));
        line
    })
}

fn cpu(rows: &[CompareRow]) -> String {
    let columns = ["idle", "us", "claimed", "us", "busy", "us", "idle existed %", "missed %", "all us"];
    lines(rows, &columns, |_, regret| {
        let (wakeups, cpu) = (&regret.wakeups, &regret.cpu);
        let mut line = Vec::new();
        for kind in [&cpu.on_idle, &cpu.on_claimed, &cpu.on_busy] {
            line.push(thousands(kind.counts.wakeups));
            line.push(fixed_or_none(kind.ns_per_wakeup.map(|ns| ns / 1e3), 2));
        }
        let counts = &wakeups.counts;
        let existed = (counts.n != 0).then(|| 100.0 * counts.idle_existed as f64 / counts.n as f64);
        line.extend([fixed_or_none(existed, 1), fixed_or_none(wakeups.missed_pct, 1)]);
        line.push(fixed_or_none(cpu.all.ns_per_wakeup.map(|ns| ns / 1e3), 2));
        line
    })
}

fn states(rows: &[CompareRow]) -> String {
    let columns = ["state kept", "% of the time", "us in it", "us in the other"];
    lines(rows, &columns, |row, regret| {
        let kept = regret.kept();
        let time = regret.states.migrating.counts.time_ns + regret.states.stacked.counts.time_ns;
        let share = (time != 0).then(|| 100.0 * kept.counts.time_ns as f64 / time as f64);
        let mut beside = sides(row).into_iter().filter_map(|(_, side)| side.regret.as_ref());
        let beside = beside.find(|beside| !std::ptr::eq(*beside, regret)).unwrap_or(regret);
        vec![
            state_name(regret.states.kept).to_owned(),
            fixed_or_none(share, 1),
            fixed_or_none(kept.busy_ns_per_wakeup.map(|ns| ns / 1e3), 2),
            fixed_or_none(other_state_ns(regret, beside).map(|ns| ns / 1e3), 2),
        ]
    })
}
