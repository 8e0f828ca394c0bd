//! The pages of `docs/kernels`: their tables are what the presets hold and what `wakelab kernel show --diff` prints,
//! and each preset has a section with prose on the page of its major version.
//!
//! Prose is written by hand. What stands between two marks is generated here, and `WAKELAB_BLESS=1 cargo test -p
//! wakelab-report --test it kernel_pages` writes it. For a preset without a section it begins one, whose prose is
//! still to be written.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use wakelab_kernel::{Feature, Preset, RuleChanged, Tunables};

const COMMAND: &str = "WAKELAB_BLESS=1 cargo test -p wakelab-report --test it kernel_pages";

/// What the prose of each preset is divided into.
const PARTS: [&str; 4] =
    ["### What it stands for", "### What it assumes", "### What differs", "### What is not modelled"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kernels")
}

fn blesses() -> bool {
    std::env::var("WAKELAB_BLESS").is_ok_and(|value| value == "1")
}

fn read(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The page that has a preset's section: that of its major version.
fn page_of(name: &str) -> String {
    let major = name.split('.').next().expect("a first part");
    format!("{major}.md")
}

/// What links to a preset's section say after the `#`.
fn anchor(name: &str) -> String {
    name.replace('.', "")
}

/// The marks around what is generated under this name.
fn marks(name: &str) -> [String; 2] {
    ["begin", "end"].map(|which| format!("<!-- generated: {name}: {which} -->\n"))
}

/// Compares a generated part with what it has to be, or writes it.
fn check(file: &str, name: &str, generated: &str) {
    let [begin, end] = marks(name);
    let mut page = read(file);
    if blesses() && !page.contains(&begin) {
        let _ = write!(page, "\n## {name}\n\n{}\n\n### Tables of {name}\n\n{begin}{end}", PARTS.join("\n\n"));
    }
    let (before, rest) =
        page.split_once(&begin).unwrap_or_else(|| panic!("{file} has no line {begin}to begin: {COMMAND}"));
    let (committed, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no line {end}"));
    if blesses() {
        std::fs::write(folder().join(file), format!("{before}{begin}{generated}{end}{after}")).expect("written");
        return;
    }
    let differs = committed.lines().zip(generated.lines()).find(|(a, b)| a != b);
    if let Some((committed, generated)) = differs {
        panic!("docs/kernels/{file} is not what the presets hold; to bless it: {COMMAND}\n-{committed}\n+{generated}");
    }
    assert_eq!(committed, generated, "docs/kernels/{file}: to bless it: {COMMAND}");
}

/// One test, because it writes several presets into one file.
#[test]
fn the_tables_of_the_pages_are_what_the_presets_have() {
    for preset in Preset::all() {
        check(&page_of(preset.name), preset.name, &page(preset));
    }
}

#[test]
fn the_index_lists_every_preset() {
    check("README.md", "index", &index());
}

#[test]
fn every_section_says_in_prose_what_its_tables_cannot() {
    for name in Preset::names() {
        let page = read(&page_of(name));
        let (_, section) = page.split_once(&format!("\n## {name}\n")).unwrap_or_else(|| panic!("{name}"));
        let tables = section.find(&format!("### Tables of {name}\n")).expect("its tables");
        let prose = &section[..tables];
        let places: Vec<_> =
            PARTS.iter().map(|part| prose.find(part).unwrap_or_else(|| panic!("{name}: {part}"))).collect();
        assert!(places.is_sorted(), "{name}: the parts are out of order");
        let ends = places.iter().copied().skip(1).chain([tables]);
        for (part, (begin, end)) in PARTS.iter().zip(places.iter().copied().zip(ends)) {
            let words = prose[begin..end].split_whitespace().count();
            assert!(words > 8, "docs/kernels, {name}: write what belongs under {part:?}");
        }
    }
}

#[test]
fn no_section_is_of_no_preset() {
    for entry in std::fs::read_dir(folder()).expect("docs/kernels") {
        let name = entry.expect("a file").file_name().into_string().expect("a plain name");
        let page = read(&name);
        let sections = page.lines().filter_map(|line| line.strip_prefix("## ")).filter(|_| name != "README.md");
        for section in sections {
            assert!(Preset::get(section).is_ok(), "docs/kernels/{name}: {section} is no preset");
            assert_eq!(page_of(section), name, "{section}");
        }
    }
}

fn row<const N: usize>(text: &mut String, cells: [&str; N]) {
    let _ = writeln!(text, "| {} |", cells.join(" | ").replace('\n', " "));
}

fn head<const N: usize>(text: &mut String, title: &str, cells: [&str; N]) {
    let _ = writeln!(text, "\n#### {title}\n");
    row(text, cells);
    row(text, cells.map(|_| "---"));
}

/// The generated part of a preset's page.
fn page(preset: &Preset) -> String {
    let mut text = String::new();
    sources(&mut text, preset);
    features(&mut text, preset);
    tunables(&mut text, preset);
    match preset.before {
        Some(before) => differences(&mut text, Preset::get(before).expect("a preset"), preset),
        None => rules(&mut text, preset),
    }
    text.push('\n');
    text
}

/// All presets, a row each, and what each changed against the one before it.
fn index() -> String {
    let mut text = "\n".to_owned();
    let link = |name: &str| format!("[`{name}`]({}#{})", page_of(name), anchor(name));
    row(&mut text, ["preset", "class", "compared to", "search limit", "how complete"]);
    row(&mut text, ["---"; 5]);
    for preset in Preset::all() {
        let limits = [Feature::SIS_PROP, Feature::SIS_UTIL].into_iter().filter(|&limit| preset.features.has(limit));
        let cells = [
            &link(preset.name),
            preset.class().text(),
            preset.before.unwrap_or("-"),
            &limits.map(|limit| format!("`{limit}`")).collect::<Vec<_>>().join(" "),
            preset.complete,
        ];
        row(&mut text, cells);
    }
    let _ = writeln!(text, "\n## What differs from the preset before it\n\nRules are counted by unit.\n");
    row(&mut text, ["preset", "features", "tunables", "rules"]);
    row(&mut text, ["---"; 4]);
    for preset in Preset::all() {
        let Some(before) = preset.before else { continue };
        let diff = Preset::get(before).expect("a preset").diff(preset);
        let switch = |value: Option<bool>| value.map_or("not listed", |on| if on { "on" } else { "off" });
        let features = diff
            .features
            .iter()
            .map(|changed| format!("`{}` {} → {}", changed.name, switch(changed.from), switch(changed.to)));
        let tunables = diff.tunables.iter().map(|changed| format!("`{}`", changed.name));
        let mut units: Vec<(String, usize)> = Vec::new();
        for RuleChanged { unit, .. } in &diff.code {
            match units.last_mut() {
                Some((last, count)) if last == unit => *count += 1,
                _ => units.push((unit.to_string(), 1)),
            }
        }
        let rules = units.iter().map(|(unit, count)| format!("{count} of `{unit}`"));
        let list = |mut all: Vec<String>| {
            if all.is_empty() {
                all.push("-".to_owned());
            }
            all.join(", ")
        };
        let [features, tunables, rules] = [list(features.collect()), list(tunables.collect()), list(rules.collect())];
        row(&mut text, [&link(preset.name), &features, &tunables, &rules]);
    }
    text.push('\n');
    text
}

fn sources(text: &mut String, preset: &Preset) {
    head(text, "Sources", ["what", "value", "read in"]);
    row(text, ["class and rules of the code", preset.class().text(), preset.source]);
    row(text, ["tunables", "below", preset.tunables_source]);
    let hz = format!("{}, a tick of {} ms", preset.hz.value, preset.hz.tick_ns() / 1_000_000);
    row(text, ["`CONFIG_HZ`", &hz, preset.hz.source]);
    row(text, ["domain flags", &format!("{} bits", preset.sd_flags.names.len()), preset.sd_flags.source]);
    row(text, ["the level that spans a package", &format!("`{}`", preset.package_level()), ""]);
    row(text, ["how complete", preset.complete, ""]);
}

fn features(text: &mut String, preset: &Preset) {
    let _ = writeln!(text, "\n#### Features\n\nAs `/sys/kernel/debug/sched/features` prints them:\n");
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

fn rules(text: &mut String, preset: &Preset) {
    for set in preset.rules() {
        head(text, &format!("{} (`{}`)", set.title, set.unit), ["rule", "form", "what it is about"]);
        for rule in set.rules {
            row(text, [&format!("`{}`", rule.name), &rule.text, rule.doc]);
        }
    }
}

fn differences(text: &mut String, from: &Preset, to: &Preset) {
    let diff = from.diff(to);
    let _ = writeln!(text, "\n#### Against {}", from.name);
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
        head(text, "Rules that differ", ["unit", "rule", from.name, to.name, "what it is about"]);
        for RuleChanged { unit, name, from_text, to_text, doc, .. } in &diff.code {
            let form = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            row(text, [unit, &format!("`{name}`"), &form(from_text), &form(to_text), doc]);
        }
    }
    if diff.is_empty() {
        let _ = writeln!(text, "\nThe two do not differ in features, tunables or rules.");
    }
}
