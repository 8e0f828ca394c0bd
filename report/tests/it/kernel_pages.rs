//! The pages of `docs/kernels`: their tables are what the presets hold and what `wakelab kernel show --diff` prints,
//! and each preset has a page with prose.
//!
//! Prose is written by hand. What stands between the two marks of a page is generated here, and `WAKELAB_BLESS=1 cargo
//! test -p wakelab-report --test it kernel_pages` writes it; for a preset without a page it writes one whose prose is
//! still to be filled in.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use wakelab_kernel::{Feature, Preset, RuleChanged, Tunables};

const COMMAND: &str = "WAKELAB_BLESS=1 cargo test -p wakelab-report --test it kernel_pages";
const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

/// What each page's prose is divided into.
const PARTS: [&str; 4] = ["## What it stands for", "## What it assumes", "## What differs", "## What is not modelled"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels")
}

fn blesses() -> bool {
    std::env::var("WAKELAB_BLESS").is_ok_and(|value| value == "1")
}

fn read(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}; to begin the page: {COMMAND}", path.display()))
}

/// Compares the generated part of a page with what it has to be, or writes it.
fn check(file: &str, generated: &str) {
    if blesses() && !folder().join(file).exists() {
        let name = file.trim_end_matches(".md");
        let page = format!("# {name}\n\n{}\n\n## Tables\n\n{BEGIN}{END}", PARTS.join("\n\n"));
        std::fs::write(folder().join(file), page).expect("the page is begun");
    }
    let page = read(file);
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{file} has no line {BEGIN}"));
    let (committed, after) = rest.split_once(END).unwrap_or_else(|| panic!("{file} has no line {END}"));
    if blesses() {
        let path = folder().join(file);
        std::fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).expect("the page is written");
        return;
    }
    let differs = committed.lines().zip(generated.lines()).find(|(a, b)| a != b);
    if let Some((committed, generated)) = differs {
        panic!("docs/kernels/{file} is not what the presets hold; to bless it: {COMMAND}\n-{committed}\n+{generated}");
    }
    assert_eq!(committed, generated, "docs/kernels/{file}: to bless it: {COMMAND}");
}

#[test]
fn the_tables_of_the_pages_are_what_the_presets_have() {
    for preset in Preset::all() {
        check(&format!("{}.md", preset.name), &page(preset));
    }
}

#[test]
fn the_index_lists_every_preset() {
    check("README.md", &index());
}

#[test]
fn every_page_says_in_prose_what_its_tables_cannot() {
    for name in Preset::names() {
        let page = read(&format!("{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        let places: Vec<_> =
            PARTS.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{name}: {part}"))).collect();
        assert!(places.is_sorted(), "{name}: the parts are out of order");
        let ends = places.iter().copied().skip(1).chain([page.find("## Tables").expect("its tables")]);
        for (part, (begin, end)) in PARTS.iter().zip(places.iter().copied().zip(ends)) {
            let words = page[begin..end].split_whitespace().count();
            assert!(words > 8, "docs/kernels/{name}.md: write what belongs under {part:?}");
        }
    }
}

#[test]
fn no_page_is_of_no_preset() {
    for entry in std::fs::read_dir(folder()).expect("docs/kernels") {
        let name = entry.expect("a file").file_name().into_string().expect("a plain name");
        let stem = name.strip_suffix(".md").unwrap_or_else(|| panic!("docs/kernels/{name} is no page"));
        assert!(stem == "README" || Preset::get(stem).is_ok(), "docs/kernels/{name} is of no preset");
    }
}

fn row<const N: usize>(text: &mut String, cells: [&str; N]) {
    let _ = writeln!(text, "| {} |", cells.join(" | ").replace('\n', " "));
}

fn head<const N: usize>(text: &mut String, title: &str, cells: [&str; N]) {
    let _ = writeln!(text, "\n### {title}\n");
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

/// All presets, a row each.
fn index() -> String {
    let mut text = "\n".to_owned();
    row(&mut text, ["preset", "class", "compared to", "search limit", "how complete"]);
    row(&mut text, ["---"; 5]);
    for preset in Preset::all() {
        let limits = [Feature::SIS_PROP, Feature::SIS_UTIL].into_iter().filter(|&limit| preset.features.has(limit));
        let cells = [
            &format!("[`{0}`]({0}.md)", preset.name),
            preset.class().text(),
            preset.before.unwrap_or("-"),
            &limits.map(|limit| format!("`{limit}`")).collect::<Vec<_>>().join(" "),
            preset.complete,
        ];
        row(&mut text, cells);
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
