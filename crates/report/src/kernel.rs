//! Presets of kernels: the list, one of them, two against each other.

use crate::VERSION;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_kernel::{Feature, Preset, PresetDiff, RuleChanged};
use wakelab_sched::select::policy;

/// All presets, a line each.
pub fn list_text() -> String {
    let mut list = table(&["kernel", "class", "idle search", "limit", "HZ", "how complete"], 6);
    for preset in Preset::all() {
        list.add_row([
            preset.name.to_owned(),
            preset.class().text().to_owned(),
            preset.code.idle_search.text().to_owned(),
            limit(preset),
            preset.hz.value.to_string(),
            first_clause(preset.complete),
        ]);
    }
    table_text(&list) + "\n`wakelab kernel show NAME` shows one with its sources.\n"
}

/// Which search limits are on.
fn limit(preset: &Preset) -> String {
    let on: Vec<_> = policy::switches()
        .map(|switch| switch.feature)
        .filter(|&feature| preset.lists(feature) && preset.features.has(feature))
        .map(Feature::name)
        .collect();
    if on.is_empty() { "-".to_owned() } else { on.join(" ") }
}

/// A text up to its first full stop or semicolon.
fn first_clause(text: &str) -> String {
    let end = text.find(['.', ';']).filter(|&end| end + 1 == text.len() || text[end + 1..].starts_with(' '));
    text[..end.unwrap_or(text.len())].to_owned()
}

/// All presets as JSON.
pub fn list_json() -> Value {
    json!({"wakelab": VERSION, "kernels": Preset::all().iter().map(|preset| preset.info()).collect::<Vec<_>>()})
}

/// One preset with its sources.
pub fn show_text(preset: &Preset) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", preset.name);
    let _ = writeln!(text, "source        {}", preset.source);
    let _ = writeln!(text, "how complete  {}", preset.complete);
    let _ = writeln!(text, "HZ            {} ({})", preset.hz.value, preset.hz.source);
    let _ = writeln!(text, "package level {}", preset.package_level());

    let _ = writeln!(text, "\nFeatures (a * marks those that this program acts on)\n");
    let mut features = table(&["feature", "default", "what it does", "source"], 4);
    for &(feature, on) in preset.feature_file {
        features.add_row(feature_line(feature, if on { "on" } else { "off" }));
    }
    for feature in Feature::ALL.iter().copied().filter(|&feature| !preset.lists(feature) && feature.modelled()) {
        let on = if preset.features.has(feature) { "on, wakelab's own" } else { "off, not in this kernel" };
        features.add_row(feature_line(feature, on));
    }
    text += &table_text(&features);

    let _ = writeln!(text, "\nTunables ({})\n", preset.tunables_source);
    let mut tunables = table(&["tunable", "value", "unit", "what it is"], 4);
    for tunable in preset.tunables.list().into_iter().filter(|tunable| tunable.value.is_some()) {
        let scaled = if tunable.scaled { ", scaled by CPUs" } else { "" };
        let value = tunable.value.map_or_else(String::new, |value| value.to_string());
        let unit = format!("{}{scaled}", tunable.unit.suffix());
        tunables.add_row([tunable.kernel_name.to_owned(), value, unit, tunable.doc.to_owned()]);
    }
    text += &table_text(&tunables);
    let scaled = preset.tunables.list().into_iter().filter(|tunable| tunable.scaled && tunable.value.is_some());
    let files: Vec<&str> = scaled.filter_map(|tunable| preset.file_of_scaled(tunable.name)).collect();
    if !files.is_empty() {
        let _ = writeln!(
            text,
            "\nScaled by CPUs: the kernel multiplies these by 1 + log2 of its CPUs, 8 of them at most: by 2 on 2 \
             CPUs, 3 on 4, 4 on 8 or more. The product is what it acts on, and what it shows in {}.",
            files.join(", ")
        );
    }

    let _ = writeln!(text, "\nRules of the code, by unit of the kernel\n");
    let mut rules = table(&["unit", "rule", "form", "what it is about"], 4);
    for rule in preset.rules().into_iter().flat_map(|set| set.rules) {
        rules.add_row([rule.unit, &rule.name, &rule.text, rule.doc]);
    }
    text + &table_text(&rules)
}

fn feature_line(feature: Feature, default: &str) -> [String; 4] {
    let mark = if feature.modelled() { "*" } else { "" };
    [format!("{feature}{mark}"), default.to_owned(), feature.doc().to_owned(), feature.source().to_owned()]
}

/// One preset as JSON.
pub fn show_json(preset: &Preset) -> Value {
    json!({"wakelab": VERSION, "kernel": preset.info()})
}

/// The differences between two presets.
pub fn diff_text(diff: &PresetDiff) -> String {
    let mut text = format!("{} → {}\n", diff.from, diff.to);
    let switch = |value: Option<bool>| match value {
        None => "-",
        Some(true) => "on",
        Some(false) => "off",
    };
    if !diff.features.is_empty() {
        let mut features = table(&["feature", diff.from, diff.to], 3);
        for changed in &diff.features {
            features.add_row([changed.name, switch(changed.from), switch(changed.to)]);
        }
        let _ = write!(text, "\n{}", table_text(&features));
    }
    if !diff.tunables.is_empty() {
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let mut tunables = table(&["tunable", diff.from, diff.to], 1);
        for changed in &diff.tunables {
            tunables.add_row([changed.name.to_owned(), number(changed.from), number(changed.to)]);
        }
        let _ = write!(text, "\n{}", table_text(&tunables));
    }
    if !diff.code.is_empty() {
        let form = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
        let mut rules = table(&["unit", "rule", diff.from, diff.to, "what it is about"], 5);
        for changed in &diff.code {
            let RuleChanged { unit, name, from_text, to_text, doc, .. } = changed;
            rules.add_row([(*unit).to_owned(), name.clone(), form(from_text), form(to_text), (*doc).to_owned()]);
        }
        let _ = write!(text, "\n{}", table_text(&rules));
    }
    if diff.is_empty() {
        text += "\nThe two are the same, as far as this program knows them.\n";
    }
    text
}

/// The differences between two presets, as JSON.
pub fn diff_json(diff: &PresetDiff) -> Value {
    json!({"wakelab": VERSION, "diff": diff})
}
