//! The page of why tasks waited.

use super::wakeups::latency;
use super::{Read, TEXT, key, n, names, share, table, text};
use crate::numbers::{count, duration};
use crate::stats::title;
use crate::waits::{
    BEHIND_TITLES, By, PARTS, Shown, behind_times, by_title, headline, met, notes, part_name, sorted, story, wait_title,
};
use wakelab_page::{CauseSum, Causes, Cell, Error, Explained, Page, Place, Section, Side, Table, limits, render};
use wakelab_study::SourceKinds;
use wakelab_study::recordings::waits::{ByCause, Cause, Parts, RunWaits, RunsWaits, Sum};

/// So many long waits are told.
const TOLD: usize = 200;

/// The page.
///
/// # Errors
/// Where there is more than a page takes.
pub fn waits(runs: &RunsWaits, shown: Shown, read: &Read<'_>) -> Result<String, Error> {
    let kinds = SourceKinds {
        recorded: runs.keys().any(|run| run.kind == "recorded"),
        simulated: runs.keys().any(|run| run.kind == "simulated"),
    };
    let workload = names(runs.keys().map(|run| run.workload.as_str()));
    let lead = match runs.len() {
        1 => runs.values().next().and_then(|waits| headline(waits, shown)).unwrap_or_default(),
        _ => String::new(),
    };
    let mut page = read.page(format!("Why tasks waited: {workload}"), lead, kinds);
    page.run.workload = workload;
    page.run.kernel = names(runs.keys().map(|run| run.kernel.as_str()));
    page.run.machine = names(runs.keys().map(|run| run.machine.as_str()));
    page.run.facts.push(("long waits".to_owned(), format!("of {} and longer", duration(shown.over_ns))));
    for (number, (run, waits)) in (1..).zip(runs) {
        let side = if runs.len() == 1 { "all".to_owned() } else { title(run) };
        add(&mut page, number, &side, waits, shown);
    }
    let left = runs.len().saturating_sub(limits::SIDES);
    if left > 0 {
        page.notes.push(format!("{} more are in the tables, not in the charts.", count(left as u64, "run")));
    }
    render(&page)
}

fn add(page: &mut Page, number: usize, side: &str, waits: &RunWaits, shown: Shown) {
    if page.sides.len() < limits::SIDES {
        page.sides.push(Side { name: side.to_owned(), ..Side::default() });
        page.latencies.extend(latency(side, &Place::default(), "after a wake-up", &waits.sums.wakeups.latency()));
        page.latencies.extend(latency(
            side,
            &Place::default(),
            "after a preemption",
            &waits.sums.preemptions.latency(),
        ));
        let long = &waits.sums.causes;
        let sum = |cause: Cause| {
            let Sum { n, ns, .. } = long.of(cause);
            let (cause, meaning) = (cause.name().to_owned(), cause.meaning().to_owned());
            CauseSum { cause, meaning, waits: n, ms: ns as f64 / 1e6 }
        };
        if long.total().n > 0 {
            let sums = Cause::ALL.into_iter().map(sum).collect();
            page.causes.push(Causes { side: side.to_owned(), sums });
        }
    }
    let mut tables = vec![causes(&format!("causes-{number}"), side, &waits.sums.causes)];
    tables.push(behind(&format!("behind-{number}"), side, &waits.sums.behind, waits.sums.causes.total().ns));
    tables.extend(match shown.by {
        By::Cause => None,
        By::Comm => Some(parts(&format!("by-comm-{number}"), side, shown.by, &waits.sums.by_comm)),
        By::Cpu => Some(parts(&format!("by-cpu-{number}"), side, shown.by, &waits.sums.by_cpu)),
        By::Dsq => Some(parts(&format!("by-dsq-{number}"), side, shown.by, &waits.sums.by_dsq)),
    });
    let headline = headline(waits, shown);
    page.sections.push(Section {
        id: format!("waits-{number}"),
        title: if side == "all" { "Long waits".to_owned() } else { format!("Long waits: {side}") },
        paragraphs: headline.into_iter().collect(),
        tables,
    });
    let room = TOLD.saturating_sub(page.explained.len());
    for slow in waits.slowest.iter().take(room) {
        let lines = story(slow, false, waits.knows_llcs);
        let told = lines.lines().skip(1).collect::<Vec<_>>().join("\n");
        page.explained.push(Explained {
            title: wait_title(&slow.wait),
            why: format!("{}: {}.", slow.wait.cause.name(), slow.wait.cause.meaning()),
            key: slow.wait.cause.name().to_owned(),
            text: told,
            looked: None,
        });
    }
    page.notes.extend(notes(waits, shown).lines().filter(|line| !line.is_empty()).map(str::to_owned));
}

fn ms(ns: u64) -> Cell {
    Cell::Number(ns as f64 / 1e6, 2)
}

fn causes(id: &str, side: &str, causes: &ByCause) -> Table {
    let columns =
        [("Cause", TEXT), ("Waits", ""), ("Sum", "ms"), ("Of the waiting", "%"), ("Longest", "ms"), ("Meaning", TEXT)];
    let total = causes.total();
    let row = |cause: Cause| {
        let sum = causes.of(cause);
        let numbers = [n(sum.n), ms(sum.ns), share(sum.ns, total.ns), ms(sum.max_ns)];
        [key(cause.name())].into_iter().chain(numbers).chain([text(cause.meaning())]).collect()
    };
    table(id, &format!("{side}: long waits by cause"), &columns, met(causes).map(row).collect())
}

fn behind(id: &str, side: &str, parts: &Parts, total: u64) -> Table {
    let mut columns = vec![("Behind", TEXT)];
    columns.extend(BEHIND_TITLES.map(|title| (title, "ms")));
    columns.extend([("Rest", "ms"), ("Sum", "ms"), ("Of the waiting", "%")]);
    let row = |(part, causes): (&wakelab_study::recordings::waits::Part, &ByCause)| {
        let sum = causes.total().ns;
        let mut row = vec![text(part_name(part))];
        row.extend(behind_times(causes).map(ms));
        row.extend([ms(sum), share(sum, total)]);
        row
    };
    let rows = sorted(parts).into_iter().take(PARTS).map(row).collect();
    table(id, &format!("{side}: the tasks that ran meanwhile"), &columns, rows)
}

fn parts(id: &str, side: &str, by: By, parts: &Parts) -> Table {
    let mut columns = vec![(by.name(), TEXT), ("Waits", ""), ("Sum", "ms"), ("Longest", "ms")];
    columns.extend(Cause::ALL.map(|cause| (cause.name(), "ms")));
    let row = |(part, causes): (&wakelab_study::recordings::waits::Part, &ByCause)| {
        let total = causes.total();
        let mut row = vec![text(part_name(part)), n(total.n), ms(total.ns), ms(total.max_ns)];
        row.extend(Cause::ALL.map(|cause| ms(causes.of(cause).ns)));
        row
    };
    let rows = sorted(parts).into_iter().take(PARTS).map(row).collect();
    table(id, &format!("{side}: {}", by_title(by).to_lowercase()), &columns, rows)
}
