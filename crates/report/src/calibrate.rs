//! `wakelab calibrate`: what was measured, what its simulation takes, and the constants that follow.

use crate::numbers::{fixed, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_calibrate::{Measured, Noise, Place, Unmeasured};
use wakelab_machine::MachineFile;
use wakelab_study::calibrate::{Constant, Derived, Found};

/// The subject of a report.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'a> {
    /// The machine as it is written.
    pub file: &'a MachineFile,
    /// The constants that were derived.
    pub derived: &'a Derived,
    /// The microbenchmarks that could not be measured.
    pub unmeasured: &'a [Unmeasured],
    /// How noisy the machine was.
    pub noise: &'a Noise,
    /// Whether the preset that stood for the kernel is of its version.
    pub exact: bool,
}

/// A spread of more than this, %, is worth a word.
const WIDE_PCT: f64 = 20.0;

/// The report for a terminal.
pub fn text(of: &Calibrated<'_>) -> String {
    let machine = &of.file.machine;
    let mut text = format!("{}: {}\n", machine.name, machine.description);
    if let Some(calibration) = &of.file.calibration {
        let stands = if of.exact { "whose preset is" } else { "which has no preset of its own; simulated as" };
        let _ = writeln!(
            text,
            "measured {} UTC on Linux {}, {stands} {}, at {} Hz\nnoise: {}",
            calibration.date, calibration.kernel, calibration.preset, calibration.hz, calibration.noise
        );
    }
    text.push('\n');
    text += &measurements(of.derived);
    text += "\nsimulated: what the same calls take on the machine as it is written; * where a constant follows from \
             it.\n\n";
    text += &constants(of.derived);
    text += &work(of.derived);
    for note in notes(of) {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn measurements(derived: &Derived) -> String {
    let mut rows = table(&["what", "where", "unit", "median", "p10", "p90", "runs", "simulated"], 3);
    for check in &derived.checks {
        let Measured { bench, place, spread, .. } = &check.measured;
        let digits = if spread.median.abs() < 1000.0 { 1 } else { 0 };
        let number = |value: f64| if digits == 0 { whole(value) } else { fixed(value, digits) };
        let simulated = check
            .simulated
            .map_or("-".to_owned(), |value| format!("{}{}", number(value), if check.derived_from { "*" } else { "" }));
        let mut row = vec![bench.name(), place_text(*place), bench.unit().to_owned()];
        row.extend([number(spread.median), number(spread.p10), number(spread.p90), spread.runs.to_string(), simulated]);
        rows.add_row(row);
    }
    table_text(&rows)
}

fn constants(derived: &Derived) -> String {
    let mut rows = table(&["constant", "assumed", "derived", "p10..p90", "from"], 1);
    for constant in &derived.constants {
        let Constant { name, before, value, range, from, note, .. } = constant;
        let unit = if *name == "smt_slowdown" || *name == "enqueue_visible" { "%" } else { "ns" };
        let mut row = vec![(*name).to_owned(), format!("{} {unit}", thousands(*before))];
        let note = note.clone().unwrap_or_default();
        match from {
            Some((equation, place)) => {
                let less = equation.less.map_or(String::new(), |less| format!(" less {}", less.name()));
                let more = if note.is_empty() { String::new() } else { format!("; {note}") };
                row.extend([
                    format!("{} {unit}", thousands(*value)),
                    format!("{}..{}", thousands(range[0]), thousands(range[1])),
                ]);
                row.push(format!("{}{less}, {}{more}", equation.bench.name(), place_text(*place)));
            }
            None => row.extend(["-".to_owned(), "-".to_owned(), format!("stays assumed: {note}")]),
        }
        rows.add_row(row);
    }
    crate::table::with_text_at_end(rows)
}

fn work(derived: &Derived) -> String {
    if derived.work.is_empty() {
        return String::new();
    }
    let mut rows = table(&["load", "work of an operation", "from"], 1);
    for work in &derived.work {
        let from = match work.found {
            None => "one system call".to_owned(),
            Some(Found::Solved(_)) => "one instance on one CPU".to_owned(),
            Some(found) => format!("one instance on one CPU; {}", bound(found)),
        };
        rows.add_row([work.kind.name().to_owned(), format!("{} ns", thousands(work.ns)), from]);
    }
    format!("\n{}", crate::table::with_text_at_end(rows))
}

fn bound(found: Found) -> &'static str {
    match found {
        Found::Solved(_) => "solved",
        Found::Lowest(_) => "at its lower bound: the simulation is slower without any",
        Found::Highest(_) => "at its upper bound",
        Found::NoInfluence => "without influence",
    }
}

/// What a reader should know.
fn notes(of: &Calibrated<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let wide: Vec<&Measured> = of.derived.checks.iter().map(|check| &check.measured).collect();
    let wide: Vec<String> = wide
        .into_iter()
        .filter(|one| one.spread.half_width_pct() > WIDE_PCT && one.spread.runs > 1)
        .map(|one| format!("{} ({})", one.bench.name(), place_text(one.place)))
        .collect();
    if !wide.is_empty() {
        let all = of.derived.checks.len();
        notes.push(format!(
            "p10 and p90 are more than {WIDE_PCT:.0}% from each other's middle in {} of {all}: {}",
            wide.len(),
            wide.join(", ")
        ));
    }
    if !of.derived.settled {
        notes.push(format!("constants still changed after {} rounds of all equations", of.derived.rounds));
    }
    for check in &of.derived.checks {
        let one = &check.measured;
        if let Some(note) = &one.note {
            notes.push(format!("{}, {}: {note}", one.bench.name(), place_text(one.place)));
        }
        // Siblings that sysfs does not show.
        let shares = one.bench == wakelab_calibrate::Bench::Together
            && one.place.relation != wakelab_calibrate::Relation::Smt
            && one.spread.median > 110.0;
        if shares {
            notes.push(format!(
                "work takes {:.0}% while the other CPU computes ({}), though sysfs shows no SMT: the hypervisor may \
                 run them on one core, which the model does not have",
                one.spread.median,
                place_text(one.place)
            ));
        }
    }
    let not = of.unmeasured.iter();
    notes.extend(not.map(|one| format!("not measured: {}, {}: {}", one.bench.name(), place_text(one.place), one.why)));
    notes
}

/// `CPU 0`, `0 and 1, LLC`.
fn place_text(place: Place) -> String {
    let [a, b] = place.cpus;
    if a == b { format!("CPU {a}") } else { format!("{a}-{b}, {}", place.relation.name()) }
}

fn whole(value: f64) -> String {
    let digits = thousands(value.abs().round() as u64);
    if value <= -0.5 { format!("-{digits}") } else { digits }
}

/// The same for programs.
pub fn json(of: &Calibrated<'_>) -> Value {
    json!({
        "wakelab": crate::VERSION,
        "kind": "measured",
        "machine": of.file.machine.name,
        "calibration": of.file.calibration,
        "preset_of_the_version": of.exact,
        "noise": of.noise,
        "measured": of.derived.checks.iter().map(|check| json!({
            "what": check.measured.bench.name(),
            "bench": check.measured.bench,
            "place": check.measured.place,
            "unit": check.measured.bench.unit(),
            "spread": check.measured.spread,
            "note": check.measured.note,
            "method": check.measured.bench.method(),
            "simulated": check.simulated,
            "derived_from": check.derived_from,
        })).collect::<Vec<_>>(),
        "unmeasured": of.unmeasured,
        "constants": of.derived.constants,
        "work": of.derived.work,
        "rounds": of.derived.rounds,
        "settled": of.derived.settled,
    })
}
