//! `wakelab verify`: loads as they ran beside loads as they were simulated.

use crate::numbers::{fixed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_calibrate::Noise;
use wakelab_calibrate::load::Kind;
use wakelab_study::verify::{Row, THROUGHPUT_PCT, Verdict, verdict};

/// The subject of a report.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    /// The name of the machine.
    pub machine: &'a str,
    /// How many CPUs the loads could use.
    pub cpus: usize,
    /// The release of the kernel that ran.
    pub release: &'a str,
    /// The preset that was simulated, with its tick.
    pub preset: &'a str,
    /// Ticks per second that were simulated.
    pub hz: u32,
    /// How noisy the machine was.
    pub noise: &'a Noise,
    /// The loads, in order.
    pub rows: &'a [Row],
    /// The work of an operation by load, ns.
    pub work: &'a [(Kind, u64)],
    /// Kinds that were left out, and why.
    pub left_out: &'a [(Kind, String)],
}

/// Others that use more of the CPUs than this, %, are worth a word.
const DISTURBED_PCT: f64 = 5.0;

/// The report for a terminal.
pub fn text(of: &Verified<'_>) -> String {
    let Verified { machine, cpus, release, preset, hz, noise, rows, work, left_out } = of;
    let mut text = format!(
        "{machine}, {cpus} CPUs, measured on Linux {release}, simulated with {preset} at {hz} Hz\nnoise: {}\n\n",
        noise.text()
    );
    let header = ["load", "", "measured", "p10..p90", "simulated", "error %", "others %"];
    let mut throughput = table(&header, 1);
    for row in *rows {
        let point = row.point;
        let spread = row.measured.throughput;
        throughput.add_row([
            format!("{} {}", point.kind.name(), point.instances),
            point.kind.unit().to_owned(),
            number(spread.median),
            format!("{}..{}", number(spread.p10), number(spread.p90)),
            number(row.simulated.throughput.median),
            format!("{}{}", signed(row.error_pct()), if row.within() { "" } else { " !" }),
            fixed(row.others_pct, 0),
        ]);
    }
    text += &table_text(&throughput);
    text += "\nA second, measured/simulated; latencies in us:\n\n";
    let mut more = table(&["load", "voluntary", "involuntary", "migrations", "p50", "p99"], 1);
    for row in *rows {
        let (m, s) = (&row.measured, &row.simulated);
        let both = |a: Option<f64>, b: Option<f64>| format!("{}/{}", known(a), known(b));
        let us = |which: usize| {
            let of = |latency: Option<[u64; 2]>| latency.map(|both| fixed(both[which] as f64 / 1e3, 1));
            format!("{}/{}", of(m.latency).unwrap_or("-".into()), of(s.latency).unwrap_or("-".into()))
        };
        more.add_row([
            format!("{} {}", row.point.kind.name(), row.point.instances),
            both(Some(m.voluntary), Some(s.voluntary)),
            both(Some(m.involuntary), Some(s.involuntary)),
            both(m.migrations, s.migrations),
            us(0),
            us(1),
        ]);
    }
    text += &table_text(&more);
    text.push('\n');
    let mut kinds: Vec<Kind> = rows.iter().map(|row| row.point.kind).collect();
    kinds.dedup();
    for kind in kinds {
        let own = work.iter().find(|own| own.0 == kind).map_or(0, |own| own.1);
        let _ = writeln!(
            text,
            "{}: the number is that of {}s; the latency is {}; {} ns of work per operation, from the machine file",
            kind.name(),
            kind.instance(),
            kind.latency(),
            thousands(own)
        );
    }
    for (kind, why) in *left_out {
        let _ = writeln!(text, "left out: {}: {why}", kind.name());
    }
    let disturbed = rows.iter().filter(|row| row.others_pct > DISTURBED_PCT).count();
    if disturbed > 0 {
        let _ = writeln!(
            text,
            "\nothers used more than {DISTURBED_PCT:.0}% of the CPUs in {disturbed} of {} loads, which the simulation \
             leaves out: repeat it while nothing else runs",
            rows.len()
        );
    }
    if let Some(verdict) = verdict(rows) {
        let _ = writeln!(text, "\n{}", verdict_line(&verdict));
    }
    text
}

/// The verdict in a line.
pub fn verdict_line(verdict: &Verdict) -> String {
    let Verdict { rows, within, worst_pct, median_pct, order, holds } = verdict;
    let pairs = order.concordant + order.discordant;
    format!(
        "verdict: {}: throughput is within {THROUGHPUT_PCT:.0}% in {within} of {rows} loads (median {median_pct:.0}%, \
         worst {}%); {} of {pairs} pairs of loads are in the measured order, {} are too close to tell",
        if *holds { "holds" } else { "misses" },
        signed(*worst_pct),
        order.concordant,
        order.untold
    )
}

fn signed(pct: f64) -> String {
    format!("{}{}", if pct > 0.0 { "+" } else { "" }, fixed(pct, 1))
}

fn number(value: f64) -> String {
    if value < 100.0 { fixed(value, 1) } else { thousands(value.round() as u64) }
}

fn known(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}

/// The same for programs.
pub fn json(of: &Verified<'_>) -> Value {
    json!({
        "wakelab": crate::VERSION,
        "kind": "measured and simulated",
        "machine": of.machine,
        "cpus": of.cpus,
        "kernel": of.release,
        "preset": of.preset,
        "hz": of.hz,
        "noise": of.noise,
        "rows": of.rows.iter().map(|row| json!({
            "load": row.point.kind,
            "instances": row.point.instances,
            "unit": row.point.kind.unit(),
            "latency_is": row.point.kind.latency(),
            "measured": row.measured,
            "simulated": row.simulated,
            "error_pct": row.error_pct(),
            "within": row.within(),
            "others_pct": row.others_pct,
        })).collect::<Vec<_>>(),
        "work_ns": of.work.iter().map(|(kind, ns)| (kind.name(), ns)).collect::<std::collections::BTreeMap<_, _>>(),
        "left_out": of.left_out,
        "limits": {"throughput_pct": THROUGHPUT_PCT, "discordant": 0},
        "verdict": verdict(of.rows),
    })
}
