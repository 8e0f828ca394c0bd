//! The tables themselves.

use super::fields::{changed, fields};
use std::fmt::{Debug, Write};
use wakelab_kernel::{Feature, Preset, Tunables};
use wakelab_sched::balance::BalanceRules;
use wakelab_sched::pelt::PeltRules;
use wakelab_sched::runqueue::FairRules;

fn row<const N: usize>(text: &mut String, cells: [&str; N]) {
    let _ = writeln!(text, "| {} |", cells.join(" | ").replace('\n', " "));
}

fn head<const N: usize>(text: &mut String, title: &str, cells: [&str; N]) {
    let _ = writeln!(text, "\n### {title}\n");
    row(text, cells);
    row(text, cells.map(|_| "---"));
}

/// The generated part of a page.
pub fn page(preset: &Preset, before: Option<&Preset>) -> String {
    let mut text = String::new();
    sources(&mut text, preset);
    features(&mut text, preset);
    tunables(&mut text, preset);
    match before {
        Some(before) => differences(&mut text, before, preset),
        None => code(&mut text, preset),
    }
    text.push('\n');
    text
}

/// All presets, a row each.
pub fn index(presets: &[(&str, Option<&str>)]) -> String {
    let mut text = "\n".to_owned();
    row(&mut text, ["preset", "class", "compared to", "search limit", "balancing", "how complete"]);
    row(&mut text, ["---"; 6]);
    for (name, before) in presets {
        let preset = Preset::get(name).unwrap();
        let limits = [Feature::SIS_PROP, Feature::SIS_UTIL].into_iter().filter(|&limit| preset.features.has(limit));
        let balanced = if BalanceRules::of_preset(name).is_some() { "yes" } else { "not modelled" };
        let cells = [
            &format!("[`{name}`]({name}.md)"),
            &format!("{:?}", preset.code.class).to_uppercase(),
            before.unwrap_or("-"),
            &limits.map(|limit| format!("`{limit}`")).collect::<Vec<_>>().join(" "),
            balanced,
            preset.complete,
        ];
        row(&mut text, cells);
    }
    text.push('\n');
    text
}

fn sources(text: &mut String, preset: &Preset) {
    head(text, "Sources", ["what", "value", "read in"]);
    let class = format!("{:?}", preset.code.class).to_uppercase();
    row(text, ["class and forms of the code", &class, preset.source]);
    row(text, ["tunables", "below", preset.tunables_source]);
    let hz = format!("{}, a tick of {} ms", preset.hz.value, preset.hz.tick_ns() / 1_000_000);
    row(text, ["`CONFIG_HZ`", &hz, preset.hz.source]);
    row(text, ["domain flags", &format!("{} bits", preset.sd_flags.names.len()), preset.sd_flags.source]);
    row(text, ["the level that spans a package", &format!("`{}`", preset.package_level), ""]);
    row(text, ["how complete", preset.complete, ""]);
}

fn features(text: &mut String, preset: &Preset) {
    let _ = writeln!(text, "\n### Features\n\nAs `/sys/kernel/debug/sched/features` prints them:\n");
    let _ = writeln!(text, "```\n{}\n```\n", wrapped(&preset.print_features()));
    let own: Vec<_> = preset.features.iter().filter(|&f| !preset.lists(f)).map(|f| format!("`{f}`")).collect();
    let _ = writeln!(text, "On beside them, wakelab's own: {}.", own.join(", "));
}

fn wrapped(words: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() >= 100) {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("there is a line");
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.join("\n")
}

fn tunables(text: &mut String, preset: &Preset) {
    head(text, "Tunables", ["tunable", "in the source", "1 CPU", "2 or 3", "4 to 7", "8 or more", "unit"]);
    let scaled = [1, 2, 4, 8].map(|nr_cpus| preset.tunables.scaled(nr_cpus).list());
    for (at, tunable) in preset.tunables.list().into_iter().enumerate() {
        let Some(value) = tunable.value else { continue };
        let by_cpus = scaled.each_ref().map(|list| list[at].value.map_or_else(String::new, |value| value.to_string()));
        let [one, two, four, eight] = by_cpus.each_ref().map(String::as_str);
        row(
            text,
            [&format!("`{}`", tunable.kernel_name), &value.to_string(), one, two, four, eight, tunable.unit.suffix()],
        );
    }
    let factors = [1, 2, 4, 8].map(|nr_cpus| Tunables::factor(nr_cpus).to_string()).join(", ");
    let _ = writeln!(text, "\nThe factors are {factors} (`SCHED_TUNABLESCALING_LOG`), by the number of online CPUs.");
}

fn code(text: &mut String, preset: &Preset) {
    head(text, "Forms of the code", ["mechanism", "form", "what it stands for"]);
    for field in preset.code.describe() {
        row(text, [&format!("`{}`", field.name), &field.value, field.doc]);
    }
}

fn differences(text: &mut String, from: &Preset, to: &Preset) {
    let diff = from.diff(to);
    let _ = writeln!(text, "\n### Against {}", from.name);
    let switch = |value: Option<bool>| value.map_or("not listed", |on| if on { "on" } else { "off" });
    if !diff.features.is_empty() {
        head(text, "Features that differ", ["feature", from.name, to.name]);
        for changed in &diff.features {
            row(text, [&format!("`{}`", changed.name), switch(changed.from), switch(changed.to)]);
        }
    }
    if !diff.tunables.is_empty() {
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        head(text, "Tunables that differ", ["tunable", from.name, to.name]);
        for changed in &diff.tunables {
            row(text, [&format!("`{}`", changed.name), &number(changed.from), &number(changed.to)]);
        }
    }
    if !diff.code.is_empty() {
        head(text, "Placement, wakelist and other forms of the code", ["mechanism", from.name, to.name, "what"]);
        for changed in &diff.code {
            row(text, [&format!("`{}`", changed.name), &changed.from, &changed.to, changed.doc]);
        }
    }
    let queue = |preset: &Preset| fields(&FairRules::of(preset, preset.features, 8).expect("it has its tunables"));
    rules(text, "Run queue, with 8 CPUs or more (`FairRules`)", [from, to], [queue(from), queue(to)]);
    let pelt = |preset: &Preset| fields_of(PeltRules::of_preset(preset.name));
    rules(text, "Averages (`PeltRules`)", [from, to], [pelt(from), pelt(to)]);
    let balance = |preset: &Preset| fields_of(BalanceRules::of_preset(preset.name));
    rules(text, "Balancing (`BalanceRules`)", [from, to], [balance(from), balance(to)]);
    let nothing = diff.features.is_empty() && diff.tunables.is_empty() && diff.code.is_empty();
    if nothing {
        let _ = writeln!(text, "\nFeatures, tunables and forms of the code do not differ.");
    }
}

/// Nothing where the version has no such rules.
fn fields_of(rules: Option<impl Debug>) -> Vec<(String, String)> {
    rules.map_or_else(Vec::new, |rules| fields(&rules))
}

fn rules(text: &mut String, title: &str, presets: [&Preset; 2], fields: [Vec<(String, String)>; 2]) {
    let [from, to] = presets.map(|preset| preset.name);
    if let Some(without) = presets.iter().zip(&fields).find(|(_, fields)| fields.is_empty()).map(|(preset, _)| preset) {
        let _ = writeln!(text, "\n### {title}\n\n{} has none: that version's is not modelled.", without.name);
        return;
    }
    let differing = changed(&fields[0], &fields[1]);
    if !differing.is_empty() {
        head(text, title, ["rule", from, to]);
    }
    for (name, a, b) in differing {
        row(text, [&format!("`{name}`"), &a, &b]);
    }
}
