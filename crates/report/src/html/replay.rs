//! The page of a replay with other features.

use super::Read;
use super::wakeups::{all_reasons, reasons};
use super::{TEXT, key, n, opt, side_names, table, text};
use crate::numbers::{count, percent, thousands};
use wakelab_page::{Error, Place, Section, Side as PageSide, Table, render};
use wakelab_sched::select::Reason;
use wakelab_study::Decider;
use wakelab_study::recordings::replay::{Change, Replay, Side};

const RECORDED: &str = "as recorded";

/// The page.
///
/// # Errors
/// Where there is more than a page takes.
pub fn replay(found: &Replay, decider: &Decider, read: &Read<'_>) -> Result<String, Error> {
    let title = format!("Recorded choices again with {}", decider.switches());
    let lead = format!(
        "{} of {} get another CPU ({} %): {} an idle one where it was busy, {} a busy one where it was idle. It is \
         only the first effect of a change: each choice is made again on the state that was recorded.",
        thousands(found.other_cpu),
        count(found.rows, "wake-up"),
        percent(found.other_cpu, found.rows),
        thousands(found.gained),
        thousands(found.lost)
    );
    let mut page = read.page(title, lead, found.kinds);
    let met = all_reasons([&found.base.reasons, &found.with.reasons].into_iter());
    let switches = decider.switches().to_string();
    let [_, then] = side_names("", &switches);
    for (name, side, switches) in [(RECORDED, &found.base, String::new()), (&then, &found.with, switches)] {
        page.sides.push(PageSide { name: name.to_owned(), switches, features: Vec::new() });
        page.reasons.extend(reasons(name, &Place::default(), &side.reasons, &met));
    }
    page.sections.push(Section {
        id: "replay".to_owned(),
        title: "What changes".to_owned(),
        paragraphs: Vec::new(),
        tables: vec![
            counts(&then, &found.base, &found.with),
            rates(&then, &found.base, &found.with),
            changes(found, &then),
        ],
    });
    page.notes.push(format!(
        "{} left out: {} not stable, {} without an input that the choice reads.",
        count(found.unscored, "wake-up"),
        thousands(found.unscored - found.lacking),
        thousands(found.lacking)
    ));
    if found.assumed > 0 {
        page.notes.push(format!("{} read a value that is assumed, not recorded.", count(found.assumed, "wake-up")));
    }
    render(&page)
}

fn counts(then: &str, base: &Side, with: &Side) -> Table {
    let count = |name: &str, of: fn(&Side) -> u64| vec![text(name), n(of(base)), n(of(with))];
    let rows = vec![
        count("sis_search", |s| s.search.sis_search),
        count("sis_domain_search", |s| s.search.sis_domain_search),
        count("sis_scanned", |s| s.search.sis_scanned),
        count("sis_failed", |s| s.search.sis_failed),
        count("searches that found an idle CPU", |s| s.found),
        count("searches where one existed", |s| s.idle_existed),
        count("missed: SIS_ORACLE finds one", |s| s.missed),
        count("probes where none existed", |s| s.futile),
    ];
    table("replay-table", "Searches", &[("Number", TEXT), (RECORDED, ""), (then, "")], rows)
}

fn rates(then: &str, base: &Side, with: &Side) -> Table {
    let rate = |name: &str, of: fn(&Side) -> Option<f64>| vec![text(name), opt(of(base), 2), opt(of(with), 2)];
    let missed = |s: &Side| (s.idle_existed > 0).then(|| 100.0 * s.missed as f64 / s.idle_existed as f64);
    let rows = vec![
        rate("success_rate, %", |s| s.search.success_rate_pct()),
        rate("looks per domain search", |s| s.search.looks_per_domain_search()),
        rate("regret: missed of existing, %", missed),
    ];
    table("replay-rates", "Rates of the searches", &[("Rate", TEXT), (RECORDED, ""), (then, "")], rows)
}

fn changes(found: &Replay, then: &str) -> Table {
    let columns = [("As recorded", TEXT), (then, TEXT), ("Wake-ups", ""), ("Other CPU", "")];
    let changed = found.changes.iter().filter(|((from, to), change)| from != to || change.other_cpu > 0);
    let row = |((from, to), change): (&(Reason, Reason), &Change)| {
        vec![key(from.name()), key(to.name()), n(change.rows), n(change.other_cpu)]
    };
    table("changes-table", "Choices that change their reason or their CPU", &columns, changed.map(row).collect())
}
