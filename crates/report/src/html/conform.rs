//! The page of a comparison of the model with kernels.

use super::Read;
use super::wakeups::{all_reasons, reasons, row_name, told};
use super::{TEXT, key, n, share, table, text};
use crate::numbers::{count, thousands};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_page::{Cell, Error, Page, Place, Section, Side, Table, limits, render};
use wakelab_sched::select::Reason;
use wakelab_study::Decider;
use wakelab_study::recordings::conform::{Agreement, Conformance, Search};

/// The page.
///
/// # Errors
/// Where there is more than a page takes.
pub fn conform(found: &Conformance, decider: &Decider, read: &Read<'_>) -> Result<String, Error> {
    let (total, kinds) = (found.total(), found.kinds());
    let who = kinds.who();
    let switched = !decider.is_as_recorded();
    let title = match switched {
        false => format!("The model\u{2019}s choices against those of {who}"),
        true => format!("Choices with {} against those of {who}", decider.switches()),
    };
    let lead = format!(
        "{} of {} equal; {} whose state changed meanwhile are not compared.",
        thousands(total.agree),
        count(total.rows, "decision"),
        thousands(found.unstable)
    );
    let mut page = read.page(title, lead, kinds);
    by_reason(&mut page, found);
    page.sections.push(agreement(found, &total));
    if switched {
        page.sections.push(moved(found));
    }
    for one in &found.disagreements {
        page.explained.push(told(&row_name(one), "The model chooses differently.".to_owned(), one));
    }
    let not_scored = |(why, &rows): (&wakelab_study::recordings::conform::NotScored, &u64)| {
        format!("{} not compared: {}.", count(rows, "decision"), why.meaning())
    };
    page.notes.extend(found.not_scored.iter().map(not_scored));
    render(&page)
}

/// A side for each kernel.
fn by_reason(page: &mut Page, found: &Conformance) {
    let mut by_kernel: BTreeMap<&str, BTreeMap<Reason, u64>> = BTreeMap::new();
    for (&(kernel, reason), agreement) in &found.reasons {
        by_kernel.entry(kernel).or_default().insert(reason, agreement.rows);
    }
    let met = all_reasons(by_kernel.values());
    for (kernel, counts) in by_kernel.iter().take(limits::SIDES) {
        page.sides.push(Side { name: (*kernel).to_owned(), ..Side::default() });
        page.reasons.extend(reasons(kernel, &Place::default(), counts, &met));
    }
}

fn agreement(found: &Conformance, total: &Agreement) -> Section {
    let columns = [
        ("Kernel", TEXT),
        ("Reason", TEXT),
        ("Decisions", ""),
        ("Equal", ""),
        ("Other CPU", ""),
        ("Other recent_used_cpu", ""),
        ("Other wakee_flips", ""),
        ("Chose prev", "%"),
    ];
    let row = |kernel: &str, reason: &str, of: &Agreement| {
        let counts = [of.rows, of.agree, of.cpu, of.recent_used_cpu, of.wakee_flips].map(n);
        let mut row = vec![text(kernel), key(reason)];
        row.extend(counts);
        row.push(share(of.prev, of.rows));
        row
    };
    let mut rows: Vec<Vec<Cell>> =
        found.reasons.iter().map(|((kernel, reason), of)| row(kernel, reason.name(), of)).collect();
    rows.push(row("all", "", total));
    let by_release: BTreeSet<_> = found.kernels.keys().map(|kernel| kernel.release.as_str()).collect();
    Section {
        id: "agreement".to_owned(),
        title: "Agreement".to_owned(),
        paragraphs: vec![format!("Releases: {}.", by_release.into_iter().collect::<Vec<_>>().join(", "))],
        tables: vec![table("agreement-table", "By kernel and the model\u{2019}s reason", &columns, rows)],
    }
}

/// Where decisions go when features are switched, and what the searches cost.
fn moved(found: &Conformance) -> Section {
    let columns = [("As recorded", TEXT), ("Then", TEXT), ("Decisions", ""), ("Other CPU", "")];
    let changed = found.moved.iter().filter(|((from, to), moved)| from != to || moved.other_cpu > 0);
    let row = |((from, to), moved): (&(Reason, Reason), &wakelab_study::recordings::conform::Moved)| {
        vec![key(from.name()), key(to.name()), n(moved.rows), n(moved.other_cpu)]
    };
    let rows = changed.map(row).collect();
    Section {
        id: "moved".to_owned(),
        title: "What the features change".to_owned(),
        paragraphs: Vec::new(),
        tables: vec![
            table("moved-table", "Decisions that change their reason or their CPU", &columns, rows),
            search(&found.recorded, &found.switched),
        ],
    }
}

fn search(recorded: &Search, then: &Search) -> Table {
    let columns = [("Statistic", TEXT), ("As recorded", ""), ("Then", "")];
    let counts = |name: &str, of: fn(&Search) -> u64| vec![text(name), n(of(recorded)), n(of(then))];
    let rows = vec![
        counts("sis_search", |s| s.search),
        counts("sis_domain_search", |s| s.domain_search),
        counts("sis_scanned", |s| s.scanned),
        counts("sis_failed", |s| s.failed),
    ];
    table("search-table", "Search statistics", &columns, rows)
}
