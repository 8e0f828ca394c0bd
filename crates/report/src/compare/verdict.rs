//! The verdict, as sentences and as JSON: the same words on the terminal, on the page and in the letter.

use crate::numbers::{count, fixed, signed};
use serde_json::{Value, json};
use textwrap::Options;
use wakelab_measure::NeverRan;
use wakelab_statistics::log_ratio;
use wakelab_study::compare::{DecidedNothing, half_width_pct};
use wakelab_study::sensitivity::{Method, SAMPLES_MIN, Sensitivity, SensitivityRow};
use wakelab_study::verdict::{HoldsIn, JudgedRow, RowVerdict, Verdict};

/// The columns of the text.
const WIDTH: usize = 100;
/// So many rows are named of those that are better or worse.
const NAMED: usize = 3;
/// At most so many lines say who starved, or what decided nothing; of more variants than [`MANY`] one. A survey has
/// dozens, and its result has to stay on the first screen.
const LINES: usize = 4;
/// So many variants have a line each.
const MANY: usize = 8;

/// What was concluded, what chance can do, what the assumed constants do, and how right such predictions were: a line
/// each, without a full stop.
pub(crate) fn lines(verdict: &Verdict<'_>) -> Vec<String> {
    let mut lines = vec![conclusion(verdict)];
    lines.extend(chance(verdict).map(|chance| format!("chance: {chance}")));
    lines.extend(wide(std::slice::from_ref(verdict)));
    lines.extend(constants(verdict).map(|constants| format!("constants: {constants}")));
    lines.extend(starved(std::slice::from_ref(verdict)));
    lines.extend(decided_nothing(std::slice::from_ref(verdict)));
    lines.extend(model(std::slice::from_ref(verdict)));
    lines
}

/// The lines for the end of a table.
pub fn verdict_text(verdict: &Verdict<'_>) -> String {
    let mut lines = lines(verdict);
    lines[0].insert_str(0, "verdict: ");
    let wrapped = Options::new(WIDTH).subsequent_indent("  ");
    lines.iter().fold("\n".to_owned(), |text, line| text + &textwrap::fill(line, &wrapped) + "\n")
}

/// A side, as sentences call it.
fn side<'a>(switches: &'a str, none: &'a str) -> &'a str {
    if switches.is_empty() { none } else { switches }
}

/// Which side is better, where and by how much.
pub(crate) fn conclusion(verdict: &Verdict<'_>) -> String {
    let with = side(&verdict.with, "the other side");
    let base = side(&verdict.base, "the kernel's own setting");
    let all = verdict.rows.len();
    let interrupted = if verdict.complete { "" } else { ", interrupted: rows are missing" };
    if all == 0 {
        return "none: no row is complete".to_owned();
    }
    let identical = verdict.count(RowVerdict::Identical);
    if identical == all && verdict.rows.iter().all(|row| row.compares_nothing) {
        return format!(
            "none, as nothing was compared: the settings in which {with} and {base} differ decided nothing, and they \
             are identical in {}{interrupted}",
            rows(all)
        );
    }
    if identical == all {
        return format!("{with} and {base} are identical in {}{interrupted}", rows(all));
    }
    if verdict.tested() == 0 {
        let differ: Vec<&JudgedRow> = verdict.rows_that_are(RowVerdict::Untested).collect();
        let named = named(verdict, &differ);
        let found = match all {
            1 => format!("differ{named}"),
            _ => format!("differ in {} of {}{named}, {} identical", differ.len(), rows(all), none_or(identical)),
        };
        return format!(
            "none, as one run per side cannot tell a difference from chance: {with} and {base} {found}{interrupted}; \
             --repeat 3 gives a verdict"
        );
    }
    let of = |which| -> Vec<&JudgedRow> { verdict.rows_that_are(which).collect() };
    let (better, worse, same) = (of(RowVerdict::Better), of(RowVerdict::Worse), verdict.count(RowVerdict::Same));
    let undecided = of(RowVerdict::Undecided);
    let small = verdict.rows.iter().filter(|row| row.is_small()).count();
    let mut text = if small > 0 && small + identical == all {
        format!(
            "{with} differs from {base} by less than 5% in {}, which is too little for the model to tell",
            rows(small)
        )
    } else if better.is_empty() && worse.is_empty() && !undecided.is_empty() {
        let found = if all == 1 { String::new() } else { format!(" in {} of {}", undecided.len(), rows(all)) };
        format!(
            "undecided: {with} differs from {base}{found}{}, but {}",
            named(verdict, &undecided),
            match undecided.iter().filter(|row| row.starves_ahead()).count() {
                0 => "not as surely with other constants",
                n if n == undecided.len() => "tasks never ran on the side that is ahead",
                _ => "not as surely with other constants, or with tasks that never ran on the side that is ahead",
            }
        )
    } else if better.is_empty() && worse.is_empty() {
        format!("no difference between {base} and {with} is shown in {}", rows(all))
    } else {
        // What is found comes first.
        let mut ways = [("better", &better), ("worse", &worse)];
        if better.is_empty() {
            ways.reverse();
        }
        let [(one, found), (other, less)] = ways;
        if all == 1 {
            format!("{with} is {one} than {base}{}", named(verdict, found))
        } else {
            format!(
                "{with} is {one} than {base} in {} of {}{}, {other} in {}{}",
                found.len(),
                rows(all),
                named(verdict, found),
                none_or(less.len()),
                named(verdict, less),
            )
        }
    };
    if !undecided.is_empty() && better.len() + worse.len() > 0 {
        text += &format!(", undecided in {}{}", undecided.len(), named(verdict, &undecided));
    }
    if identical > 0 {
        text += &format!(", {identical} identical");
    }
    if small > 0 && small + identical < all {
        text += &format!(", {small} {} by less than 5%", if small == 1 { "differs" } else { "differ" });
    }
    if same > small && same < all {
        text += &format!(", {} not shown to differ", same - small);
    }
    text + interrupted
}

fn none_or(n: usize) -> String {
    if n == 0 { "none".to_owned() } else { n.to_string() }
}

fn rows(n: usize) -> String {
    count(n as u64, "row")
}

/// The largest differences in brackets, with their intervals; nothing for no rows.
fn named(verdict: &Verdict<'_>, which: &[&JudgedRow]) -> String {
    let mut largest = which.to_vec();
    largest.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let one = |row: &&JudgedRow| {
        let interval = row.ci95.map_or_else(String::new, |[low, high]| format!(" [{}, {}]", whole(low), whole(high)));
        format!("{}%{interval} at {}", whole(row.compare_pct), place(verdict, row))
    };
    let told: Vec<String> = largest.iter().take(NAMED).map(one).collect();
    match which.len() {
        0 => String::new(),
        n if n > NAMED => format!(" ({} and {} more)", told.join(", "), n - NAMED),
        _ => format!(" ({})", told.join(", ")),
    }
}

/// The sides on which tasks of the workload never ran, a line each with the row with the most.
pub(super) fn starved(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let of_side = |verdict: &Verdict<'_>, at: usize| {
        let rows: Vec<&JudgedRow> = verdict.rows.iter().filter(|row| row.never_ran[at].count > 0).collect();
        // The first of those with the most.
        let worst =
            rows.iter().copied().reduce(|a, b| if b.never_ran[at].count > a.never_ran[at].count { b } else { a })?;
        let NeverRan { count: starved, of, names } = &worst.never_ran[at];
        let more = if (names.len() as u64) < *starved { ", ..." } else { "" };
        let name = match (at, verdicts.len()) {
            (0, _) => side(&verdict.base, "the base side").to_owned(),
            (_, 1) => side(&verdict.with, "the other side").to_owned(),
            _ => verdict.with.clone(),
        };
        let others =
            if rows.len() > 1 { format!(", and some in {} more", self::rows(rows.len() - 1)) } else { String::new() };
        let what = format!(
            "{starved} of {} ({}{more}) never ran in the measured time at {}{others}",
            count(*of, "task"),
            names.join(", "),
            place(verdict, worst),
        );
        Some((name, what))
    };
    // All variants have one base.
    let base = verdicts.first().and_then(|verdict| of_side(verdict, 0));
    let found = alike(base.into_iter().chain(verdicts.iter().filter_map(|verdict| of_side(verdict, 1))));
    let line = |(sides, what): &(Vec<String>, String)| format!("starved: {}: {what}", some(sides));
    bounded(&found, "starved", verdicts.len(), line)
}

/// Those that have the same said of them, together.
fn alike(all: impl Iterator<Item = (String, String)>) -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    for (name, what) in all {
        match found.iter_mut().find(|(_, known)| *known == what) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], what)),
        }
    }
    found
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() && names.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        _ if names.len() > NAMED => format!("{} and {} more", names[..NAMED].join(", "), names.len() - NAMED),
        _ => names.concat(),
    }
}

/// The first lines, and one that says how many more there are.
fn bounded<T>(found: &[T], kind: &str, variants: usize, line: impl Fn(&T) -> String) -> Vec<String> {
    let most = if variants > MANY { 1 } else { LINES };
    let mut lines: Vec<String> = found.iter().take(most).map(line).collect();
    if found.len() > most {
        lines.push(format!("{kind}: and {} more; --format json lists all", found.len() - most));
    }
    lines
}

/// The settings that decided nothing, and why, each with its rows: a line each. JSON has all of them.
pub(super) fn decided_nothing(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let mut found: Vec<(&DecidedNothing, Vec<(&Verdict<'_>, &JudgedRow)>)> = Vec::new();
    for (verdict, row) in verdicts.iter().flat_map(|verdict| verdict.rows.iter().map(move |row| (verdict, row))) {
        for one in &row.decided_nothing {
            match found.iter_mut().find(|(known, _)| *known == one) {
                Some((_, rows)) => rows.push((verdict, row)),
                None => found.push((one, vec![(verdict, row)])),
            }
        }
    }
    let has = |verdict: &&Verdict<'_>, setting: &str| {
        verdict.rows.iter().any(|row| row.decided_nothing.iter().any(|one| one.setting == setting))
    };
    let of_setting = |(one, which): &(&DecidedNothing, Vec<(&Verdict<'_>, &JudgedRow)>)| {
        let DecidedNothing { setting, why } = one;
        // The rows of the variants that have the setting.
        let all: usize =
            verdicts.iter().filter(|verdict| has(verdict, setting)).map(|verdict| verdict.rows.len()).sum();
        let places: Vec<String> = which.iter().map(|(verdict, row)| place(verdict, row)).collect();
        let place = match which.len() {
            n if n == all => String::new(),
            n => format!(" in {n} of {} ({})", rows(all), some(&places)),
        };
        (setting.clone(), format!("decided nothing{place}: {why}"))
    };
    let mut found = alike(found.iter().map(of_setting));
    // What decided nothing at all comes first.
    found.sort_by_key(|(_, what)| !what.starts_with("decided nothing:"));
    bounded(&found, "mechanism", verdicts.len(), |(settings, what)| format!("mechanism: {} {what}", some(settings)))
}

/// How right such predictions were: a line for each benchmark, and one for schedulers of sched_ext.
pub(super) fn model(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let Some(first) = verdicts.first() else { return Vec::new() };
    let mut lines: Vec<String> = first.known.iter().map(|known| format!("model: {known}")).collect();
    let mut schedulers: Vec<&str> = verdicts.iter().flat_map(|it| &it.schedulers).map(String::as_str).collect();
    schedulers.dedup();
    if !schedulers.is_empty() {
        lines.push(format!(
            "model: no record for sched_ext schedulers: no published result tells how right such predictions of {} \
             are; the record of the fair class does not",
            schedulers.join(", ")
        ));
    }
    lines
}

/// Whole per cents from 10 on, else one decimal.
fn whole(pct: f64) -> String {
    signed(pct, if pct.abs() < 10.0 { 1 } else { 0 })
}

/// The load, after what tells it from the other rows of the comparison.
fn place(verdict: &Verdict<'_>, row: &JudgedRow) -> String {
    let all = |same: fn(&JudgedRow, &JudgedRow) -> bool| verdict.rows.iter().all(|other| same(other, row));
    let load = match (all(|a, b| a.benchmark == b.benchmark), all(|a, b| a.case == b.case)) {
        (true, true) => row.load.clone(),
        (true, false) => format!("{} {}", row.case, row.load),
        (false, _) => format!("{} {} {}", row.benchmark, row.case, row.load),
    };
    match (all(|a, b| a.machine == b.machine), all(|a, b| a.kernel == b.kernel)) {
        (true, true) => load,
        (true, false) => format!("{load} on {}", row.kernel),
        (false, true) => format!("{load} on {}", row.machine),
        (false, false) => format!("{load} on {} {}", row.machine, row.kernel),
    }
}

/// By which test, and what the base side does by itself; `None` if nothing was tested and no control was run.
fn chance(verdict: &Verdict<'_>) -> Option<String> {
    let tested = verdict.tested();
    let test = (tested > 0).then(|| {
        format!(
            "{} runs per side, p below 0.05 after Holm's correction for {}",
            runs(verdict.repeats),
            count(tested as u64, "tested row")
        )
    });
    let control = verdict
        .control_pct
        .map(|pct| format!("the base side against itself with other seeds differs by up to {}%", fixed(pct, 1)));
    let parts: Vec<String> = test.into_iter().chain(control).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The fewest and the most runs of a row.
pub(crate) fn runs([least, most]: [u32; 2]) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

/// Which rows were repeated as often as was allowed and still have a wider interval than was asked for; `None` if
/// nothing was asked for.
pub(super) fn wide(verdicts: &[Verdict<'_>]) -> Option<String> {
    let until = verdicts.iter().find_map(|verdict| verdict.until)?;
    let all: usize = verdicts.iter().map(|verdict| verdict.rows.len()).sum();
    let mut wide: Vec<(&Verdict<'_>, &JudgedRow, Option<f64>)> = verdicts
        .iter()
        .flat_map(|verdict| verdict.wider().map(move |row| (verdict, row, half_width_pct(row.ci95))))
        .collect();
    if wide.is_empty() {
        return Some(format!("exactness: every interval is within ±{}%", until.half_width_pct));
    }
    wide.sort_by(|a, b| b.2.unwrap_or(f64::INFINITY).total_cmp(&a.2.unwrap_or(f64::INFINITY)));
    let one = |(verdict, row, half): &(&Verdict<'_>, &JudgedRow, Option<f64>)| {
        let half = half.map_or_else(|| "no interval".to_owned(), |half| format!("±{}%", fixed(half, 1)));
        let with = if verdicts.len() > 1 { format!(" with {}", verdict.with) } else { String::new() };
        format!("{half} at {}{with}", place(verdict, row))
    };
    let told: Vec<String> = wide.iter().take(NAMED).map(one).collect();
    let more = if wide.len() > NAMED { format!(" and {} more", wide.len() - NAMED) } else { String::new() };
    Some(format!(
        "exactness: {} of {} did not reach ±{}% within {} repeats ({}{more})",
        wide.len(),
        rows(all),
        until.half_width_pct,
        until.most,
        told.join(", ")
    ))
}

/// In how many samples the rows that are better or worse keep their class; `None` if that was not asked for.
fn constants(verdict: &Verdict<'_>) -> Option<String> {
    let Some(HoldsIn { effects, hold, fewest, samples, fitted }) = verdict.constants else {
        return verdict.certainty.sensitivity.and_then(spread);
    };
    let drawn = verdict.certainty.sensitivity.is_some_and(|found| found.method == Method::LatinHypercube);
    if drawn && samples < SAMPLES_MIN {
        let hold = if effects == 1 { "the difference holds" } else { "the differences hold" };
        return Some(format!(
            "{} are too few to tell whether {hold}, {SAMPLES_MIN} are needed",
            count(samples as u64, "sample")
        ));
    }
    let of = if fitted { "sets that fit the machine" } else { "samples" };
    let which = match (effects, hold) {
        (1, 1) => "the difference holds".to_owned(),
        (2, 2) => "both differences hold".to_owned(),
        _ if hold == effects => format!("all {effects} differences hold"),
        (1, _) => return Some(format!("the difference holds in {fewest} of {samples} {of}, less than 95%")),
        _ => format!("{} of {effects} differences hold", none_or(hold)),
    };
    Some(if hold == effects && fewest == samples {
        format!("{which} in {samples} of {samples} {of}")
    } else {
        format!("{which}; the least sure one has its class in {fewest} of {samples} {of}")
    })
}

/// How far compare% goes if the constants change, in the row where it goes farthest; `None` without samples.
fn spread(found: &Sensitivity) -> Option<String> {
    let ends = |row: &SensitivityRow| row.range.map(|[low, _, high]| (low, high));
    let widest = found.rows.iter().filter_map(|row| Some((row, ends(row)?)));
    let log = |pct, row: &SensitivityRow| log_ratio(pct, row.better).unwrap_or(f64::INFINITY);
    let width = |row: &SensitivityRow, (low, high)| log(high, row) - log(low, row);
    let (row, (low, high)) = widest.max_by(|(a, of_a), (b, of_b)| width(a, *of_a).total_cmp(&width(b, *of_b)))?;
    let place = if found.rows.len() > 1 { format!(" at {} {}", row.case, row.load) } else { String::new() };
    Some(format!(
        "compare% is between {} and {}{place} in {}",
        whole(low),
        whole(high),
        count(row.same.of as u64, "sample")
    ))
}

/// The verdict for programs, but for that of each row, which stands there.
pub(super) fn json(verdict: &Verdict<'_>) -> Value {
    json!({
        "text": conclusion(verdict),
        "lines": lines(verdict),
        "better": verdict.count(RowVerdict::Better),
        "worse": verdict.count(RowVerdict::Worse),
        "identical": verdict.count(RowVerdict::Identical),
        "undecided": verdict.count(RowVerdict::Undecided),
        "same": verdict.count(RowVerdict::Same),
        "untested": verdict.count(RowVerdict::Untested),
        "control_pct": verdict.control_pct,
        "constants": verdict.constants,
        "schedulers": verdict.schedulers,
    })
}
