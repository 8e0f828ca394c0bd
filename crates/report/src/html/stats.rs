//! The page of statistics.

use super::over_time::{SideOverTime, add_charts, migrations};
use super::wakeups::{all_reasons, explained, latency, reasons, row_name, why_there};
use super::{Read, TEXT, n, names, opt, share, table, text};
use crate::numbers::{count, fixed, thousands};
use crate::stats::{by_title, notes, sorted};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_measure::SearchStats;
use wakelab_page::{Cell, Error, Page, Place, Section, Side, StatPoint, Statistic, Table, limits, render};
use wakelab_study::SourceKinds;
use wakelab_study::recordings::stats::{
    Breakdown, ExplainedWakeup, Key, Run, RunTally, SEARCHED_FOR_EXAMPLES, Stats, Tally,
};

/// Runs that are shown over time.
const OVER_TIME: usize = limits::HEATS;

/// The page; `chosen` are wake-ups to be explained, `top` as in the text.
///
/// # Errors
/// Where there is more than a page takes.
pub fn stats(stats: &Stats, chosen: &[ExplainedWakeup], top: usize, read: &Read<'_>) -> Result<String, Error> {
    let kinds = SourceKinds {
        recorded: stats.keys().any(|run| run.kind == "recorded"),
        simulated: stats.keys().any(|run| run.kind == "simulated"),
    };
    let workload = names(stats.keys().map(|run| run.workload.as_str()));
    let title = match stats.len() {
        0..=2 => format!("Statistics of {workload}"),
        _ => format!("Statistics of {} recordings or runs", stats.values().map(|tally| tally.runs).sum::<u64>()),
    };
    let mut page = read.page(title, String::new(), kinds);
    let named = named(stats);
    if stats.len() <= limits::SIDES {
        page.verdict =
            named.iter().zip(stats.values()).filter_map(|((side, _), tally)| sentence(side, tally)).collect();
    }
    page.run.workload = workload;
    page.run.kernel = names(stats.keys().map(|run| run.kernel.as_str()));
    page.run.machine = names(stats.keys().map(|run| run.machine.as_str()));
    sides(&mut page, stats, &named);
    let met = all_reasons(stats.values().map(|tally| &tally.all.reasons));
    for ((side, load), tally) in named.iter().zip(stats.values()) {
        let place = Place { case: String::new(), load: load.clone() };
        page.latencies.extend(latency(side, &place, "", &tally.all.waits.latency()));
        part_latencies(&mut page, (side, &place), tally, top);
        page.reasons.extend(reasons(side, &place, &tally.all.reasons, &met));
        let over_time = tally.charts.as_ref().map(|drawn| &drawn.over_time);
        page.migrations.extend(over_time.and_then(|over_time| migrations(side, &place, over_time)));
    }
    // Of many runs a line would join what has no order.
    if stats.len() <= limits::SIDES {
        page.search = search(stats, &named);
    }
    over_time(&mut page, stats, &named);
    let file = |one: &ExplainedWakeup| explained(&row_name(&one.explained), one);
    page.explained = chosen.iter().map(file).collect();
    if stats.values().map(|tally| tally.all.wakeups).sum::<u64>() > SEARCHED_FOR_EXAMPLES {
        let looked_at = thousands(SEARCHED_FOR_EXAMPLES);
        page.notes.push(format!("The explained wake-ups were chosen from the first {looked_at}."));
    }
    page.sections.push(Section {
        id: "wakeups".to_owned(),
        title: "Wake-ups".to_owned(),
        paragraphs: Vec::new(),
        tables: vec![wakeups(stats, &named), searches(stats, &named)],
    });
    page.sections.extend(part_sections(stats, &named, top));
    page.notes.extend(notes(stats).lines().filter(|line| !line.is_empty()).map(str::to_owned));
    render(&page)
}

/// How long the wakees of a run waited, and why they were put where they were; `None` if neither is known.
fn sentence(side: &str, tally: &RunTally) -> Option<String> {
    let waits = tally.all.waits.latency();
    let us = |ns: u64| fixed(ns as f64 / 1e3, 1);
    let waited = (tally.has_waits && waits.n > 0).then(|| {
        format!("half of {} ran within {} us, 99% within {} us", count(waits.n, "wakee"), us(waits.p50), us(waits.p99))
    });
    let why = why_there(&tally.all.reasons);
    let of = if side == "all" { String::new() } else { format!("{side}: ") };
    match (waited, why.is_empty()) {
        (None, true) => None,
        (None, false) => Some(format!("{of}{why}")),
        (Some(waited), true) => Some(format!("{of}{waited}.")),
        (Some(waited), false) => Some(format!("{of}{waited}. {why}")),
    }
}

/// Of each run the side and the load that it is shown as. A few runs are sides; of more, what has few values is.
fn named(stats: &Stats) -> Vec<(String, String)> {
    let fields = |run: &Run| [&run.kernel, &run.variant, &run.machine, &run.workload].map(String::clone);
    let kinds = |run: &Run| run.kind.to_owned();
    let all: Vec<[String; 5]> = stats
        .keys()
        .map(|run| {
            let [kernel, variant, machine, workload] = fields(run);
            [kinds(run), kernel, variant, machine, workload]
        })
        .collect();
    let values = |at: usize| all.iter().map(|run| &run[at]).collect::<BTreeSet<_>>().len();
    let differing: Vec<usize> = (0..5).filter(|&at| values(at) > 1).collect();
    let join = |run: &[String; 5], of: &[usize]| {
        let words: Vec<&str> = of.iter().map(|&at| run[at].as_str()).filter(|word| !word.is_empty()).collect();
        words.join(", ")
    };
    let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
    if all.len() <= limits::SIDES {
        return all.iter().map(|run| (or(join(run, &differing), "all"), String::new())).collect();
    }
    let side = differing.iter().copied().find(|&at| values(at) <= limits::SIDES);
    let rest: Vec<usize> = differing.iter().copied().filter(|&at| Some(at) != side).collect();
    let name = |run: &[String; 5]| side.map_or("all".to_owned(), |side| or(run[side].clone(), "default"));
    all.iter().map(|run| (name(run), or(join(run, &rest), "default"))).collect()
}

fn sides(page: &mut Page, stats: &Stats, named: &[(String, String)]) {
    for ((name, load), run) in named.iter().zip(stats.keys()) {
        if !page.sides.iter().any(|side| side.name == *name) {
            let switches = if load.is_empty() { run.variant.clone() } else { String::new() };
            page.sides.push(Side { name: name.clone(), switches, features: Vec::new() });
        }
    }
}

/// A rate of the searches.
type Rate = fn(&SearchStats) -> Option<f64>;

const RATES: [(&str, &str, &str, Rate); 5] = [
    ("se_eff", "searches that found a CPU, per look", "%", SearchStats::se_eff_pct),
    ("dom_eff", "domain searches that found a CPU, per look", "%", SearchStats::dom_eff_pct),
    ("fast_rate", "searches that a fast path ended", "%", SearchStats::fast_rate_pct),
    ("success_rate", "searches that found a CPU", "%", SearchStats::success_rate_pct),
    ("looks", "looks per domain search", "", SearchStats::looks_per_domain_search),
];

fn search(stats: &Stats, named: &[(String, String)]) -> Vec<Statistic> {
    let statistic = |(name, about, unit, rate): &(&str, &str, &str, Rate)| {
        let point = |((side, load), tally): (&(String, String), &RunTally)| {
            let load = if load.is_empty() { "all".to_owned() } else { load.clone() };
            let value = rate(&tally.all.search)?;
            Some(StatPoint { case: String::new(), load, side: side.clone(), value, interval: None, published: false })
        };
        Statistic {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
            unit: (*unit).to_owned(),
            points: named.iter().zip(stats.values()).filter_map(point).collect(),
        }
    };
    RATES.iter().map(statistic).filter(|statistic| !statistic.points.is_empty()).collect()
}

fn searches(stats: &Stats, named: &[(String, String)]) -> Table {
    let mut columns = vec![("Side", TEXT), ("Load", TEXT), ("sis_search", ""), ("sis_domain_search", "")];
    columns.extend([("sis_scanned", ""), ("sis_failed", "")]);
    columns.extend(RATES.map(|(name, _, unit, _)| (name, unit)));
    let row = |((side, load), tally): (&(String, String), &RunTally)| {
        let search = &tally.all.search;
        let counts = [search.sis_search, search.sis_domain_search, search.sis_scanned, search.sis_failed];
        let counts = counts.map(|count| if tally.knows_reasons { n(count) } else { Cell::Empty });
        let rates = RATES.map(|(.., rate)| opt(rate(search), 2));
        [text(side.clone()), text(load.clone())].into_iter().chain(counts).chain(rates).collect()
    };
    let rows = named.iter().zip(stats.values()).map(row).collect();
    table("searches-table", "Searches, of the choices whose reason is known", &columns, rows)
}

fn over_time(page: &mut Page, stats: &Stats, named: &[(String, String)]) {
    let drawn = named.iter().zip(stats.values()).filter_map(|(name, tally)| Some((name, tally.charts.as_ref()?)));
    let drawn: Vec<_> = drawn.filter(|(_, drawn)| drawn.over_time.shows()).collect();
    for ((side, load), drawn) in drawn.iter().take(OVER_TIME) {
        let side = if load.is_empty() { side.clone() } else { format!("{side}, {load}") };
        let over_time = &drawn.over_time;
        let (zero_ns, llc_names) = (over_time.start_ns, BTreeMap::new());
        add_charts(
            page,
            &SideOverTime { side: &side, over_time, zero_ns, changes: &[], llc_names: &llc_names, idle_states: &[] },
        );
    }
    if drawn.len() > OVER_TIME {
        page.notes.push(format!("Over time, the first {OVER_TIME} of {} are shown.", drawn.len()));
    }
}

fn wakeups(stats: &Stats, named: &[(String, String)]) -> Table {
    let columns = [
        ("Side", TEXT),
        ("Load", TEXT),
        ("Wake-ups", ""),
        ("Runs", ""),
        ("Moved", "%"),
        ("Other LLC", "%"),
        ("p50", "us"),
        ("p95", "us"),
        ("p99", "us"),
        ("max", "us"),
        ("Balanced", ""),
    ];
    let row = |((side, load), tally): (&(String, String), &RunTally)| {
        let (all, waits) = (&tally.all, tally.all.waits.latency());
        let mut row = vec![text(side.clone()), text(load.clone()), n(all.wakeups), n(tally.runs)];
        row.extend([share(all.moved, all.moved_of), share(all.crossed, all.crossed_of)]);
        let us = |ns: u64| if waits.n > 0 { Cell::Number(ns as f64 / 1e3, 1) } else { Cell::Empty };
        row.extend([waits.p50, waits.p95, waits.p99, waits.max].map(us));
        row.push(opt(tally.balanced.map(|n| n as f64), 0));
        row
    };
    let rows = named.iter().zip(stats.values()).map(row).collect();
    table("wakeups-table", "Wake-ups, and how long wakees waited until they ran", &columns, rows)
}

/// So many parts have a line in the chart of waits.
const WAITS: usize = 5;

/// Percentiles of the parts that were woken most.
fn part_latencies(page: &mut Page, (side, place): (&str, &Place), tally: &RunTally, top: usize) {
    for parts in &tally.breakdowns {
        for (key, tally) in sorted(parts).into_iter().take(top.min(WAITS)) {
            let tasks = format!("{} {key}", parts.by.name());
            page.latencies.extend(latency(side, place, &tasks, &tally.waits.latency()));
        }
    }
}

/// A section for all parts that were asked for, and one for what recorders counted.
fn part_sections(stats: &Stats, named: &[(String, String)], top: usize) -> Vec<Section> {
    let mut tables = Vec::new();
    for (number, ((side, load), tally)) in (1..).zip(named.iter().zip(stats.values())) {
        for parts in tally.breakdowns.iter().filter(|parts| !parts.tallies.is_empty()) {
            let of = [side.as_str(), load].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
            let id = format!("by-{}-{number}", parts.by.name());
            tables.push(part_table(&id, &format!("{of}: {}", by_title(parts.by)), parts, top, tally.knows_reasons));
        }
    }
    let section = |id: &str, title: &str, paragraph: &str, tables: Vec<Table>| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        paragraphs: vec![paragraph.to_owned()],
        tables,
    };
    let about = "Those that were woken most come first; `--top` sets how many.";
    let parts = (!tables.is_empty()).then(|| section("parts", "Parts", about, tables));
    let about = "Choices of the fair class, and the share of one CPU that recording took.";
    let recorder =
        recorder(stats, named).map(|table| section("recorder", "What the recorder counted", about, vec![table]));
    parts.into_iter().chain(recorder).collect()
}

fn part_table(id: &str, caption: &str, parts: &Breakdown, top: usize, knows_reasons: bool) -> Table {
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
        row.extend([share(tally.moved, tally.moved_of), share(tally.crossed, tally.crossed_of)]);
        row.extend([waits.p50, waits.p95, waits.p99, waits.max].map(us));
        let searches = [tally.search.sis_scanned, tally.search.sis_failed];
        row.extend(searches.map(|count| if knows_reasons { n(count) } else { Cell::Empty }));
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
