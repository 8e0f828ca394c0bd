//! The page of a replay with other features.

use super::Read;
use super::wakeups::{all_reasons, reasons};
use super::{TEXT, n, opt, share, table, text};
use crate::numbers::{count, percent, thousands};
use wakelab_page::{Cell, Error, Section, Side as PageSide, Table, render};
use wakelab_sched::select::Reason;
use wakelab_study::Decider;
use wakelab_study::replay::{Change, Replay, Side};

const RECORDED: &str = "as recorded";
const THEN: &str = "then";

/// The page.
///
/// # Errors
/// Where there is more than a page takes.
pub fn replay(found: &Replay, decider: &Decider, read: &Read<'_>) -> Result<String, Error> {
    let title = format!("Recorded choices again with {}", decider.switches());
    let lead = format!(
        "{} of {} get another CPU ({} %): {} an idle one where it was busy, {} a busy one where it was idle. It is the \
         first step of what a change would do: each choice is made on the state that was recorded.",
        thousands(found.other_cpu),
        count(found.rows, "wake-up"),
        percent(found.other_cpu, found.rows),
        thousands(found.gained),
        thousands(found.lost)
    );
    let mut page = read.page(title, lead, found.kinds);
    let met = all_reasons([&found.base.reasons, &found.with.reasons].into_iter());
    for (name, side) in [(RECORDED, &found.base), (THEN, &found.with)] {
        let switches = if name == THEN { decider.switches().to_string() } else { String::new() };
        page.sides.push(PageSide { name: name.to_owned(), switches, features: Vec::new() });
        page.reasons.extend(reasons(name, "", &side.reasons, &met));
    }
    page.sections.push(Section {
        id: "replay".to_owned(),
        title: "What changes".to_owned(),
        paragraphs: Vec::new(),
        tables: vec![numbers(&found.base, &found.with), changes(found)],
    });
    page.notes.push(format!(
        "{} left out: {} not stable, {} without an input that the choice reads.",
        count(found.unscored, "wake-up"),
        thousands(found.unscored - found.lacking),
        thousands(found.lacking)
    ));
    if found.assumed > 0 {
        page.notes
            .push(format!("At {} a value was read that is assumed, not recorded.", count(found.assumed, "wake-up")));
    }
    render(&page)
}

fn numbers(base: &Side, with: &Side) -> Table {
    let counts = |name: &str, of: fn(&Side) -> u64| vec![text(name), n(of(base)), n(of(with))];
    let rates = |name: &str, of: fn(&Side) -> Cell| vec![text(name), of(base), of(with)];
    let rows = vec![
        counts("sis_search", |s| s.search.sis_search),
        counts("sis_domain_search", |s| s.search.sis_domain_search),
        counts("sis_scanned", |s| s.search.sis_scanned),
        counts("sis_failed", |s| s.search.sis_failed),
        rates("success_rate, %", |s| opt(s.search.success_rate_pct(), 1)),
        rates("looks per domain search", |s| opt(s.search.looks_per_domain_search(), 2)),
        counts("searches that found an idle CPU", |s| s.found),
        counts("searches where one existed", |s| s.idle_existed),
        counts("missed: SIS_ORACLE finds one", |s| s.missed),
        rates("regret: missed of existing, %", |s| share(s.missed, s.idle_existed)),
        counts("probes where none existed", |s| s.futile),
    ];
    table("replay-table", "Searches", &[("Number", TEXT), (RECORDED, ""), (THEN, "")], rows)
}

fn changes(found: &Replay) -> Table {
    let columns = [("As recorded", TEXT), ("Then", TEXT), ("Wake-ups", ""), ("Other CPU", "")];
    let changed = found.changes.iter().filter(|((from, to), change)| from != to || change.other_cpu > 0);
    let row = |((from, to), change): (&(Reason, Reason), &Change)| {
        vec![text(from.name()), text(to.name()), n(change.rows), n(change.other_cpu)]
    };
    table("changes-table", "Choices that change their reason or their CPU", &columns, changed.map(row).collect())
}
