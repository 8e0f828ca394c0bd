//! The pages of `docs/kernels`: their tables are what the code has, and each page is there with its parts.
//!
//! Prose is written by hand. What stands between the two marks of a page is made here, and
//! `WAKELAB_BLESS=1 cargo test -p wakelab-report --test it kernel_pages` writes it.

mod fields;
mod tables;

use std::path::{Path, PathBuf};
use wakelab_kernel::Preset;

const COMMAND: &str = "WAKELAB_BLESS=1 cargo test -p wakelab-report --test it kernel_pages";
const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

/// What each page's prose is divided into.
const PARTS: [&str; 4] = ["## What it stands for", "## What it assumes", "## What differs", "## What is not modelled"];

/// The presets, each with the one that its page compares it to.
const BEFORE: [(&str, Option<&str>); 11] = [
    ("v5.2", None),
    ("v5.3", Some("v5.2")),
    ("v5.10", Some("v5.3")),
    ("v5.18", Some("v5.10")),
    ("v5.18-eas", Some("v5.18")),
    ("v5.19-rc1", Some("v5.18")),
    ("v5.19-rc2-tip", Some("v5.19-rc1")),
    ("v6.1", Some("v5.19-rc2-tip")),
    ("v6.12", Some("v6.1")),
    ("v7.2", Some("v6.12")),
    ("v7.3", Some("v7.2")),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels")
}

fn read(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Holds the generated part of a page against what it has to be, or writes it.
fn check(file: &str, generated: &str) {
    let page = read(file);
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{file} has no line {BEGIN}"));
    let (committed, after) = rest.split_once(END).unwrap_or_else(|| panic!("{file} has no line {END}"));
    if std::env::var("WAKELAB_BLESS").is_ok_and(|value| value == "1") {
        let path = folder().join(file);
        std::fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).expect("the page is written");
        return;
    }
    let differs = committed.lines().zip(generated.lines()).find(|(a, b)| a != b);
    if let Some((committed, generated)) = differs {
        panic!("docs/kernels/{file} is not what the code has; to write it anew: {COMMAND}\n-{committed}\n+{generated}");
    }
    assert_eq!(committed, generated, "docs/kernels/{file}: to write it anew: {COMMAND}");
}

#[test]
fn every_preset_is_compared_to_one_before_it() {
    assert_eq!(BEFORE.map(|(name, _)| name), *Preset::names());
    for (place, (name, before)) in BEFORE.iter().enumerate() {
        let earlier: Vec<_> = BEFORE[..place].iter().map(|(name, _)| *name).collect();
        assert!(before.is_none_or(|before| earlier.contains(&before)), "{name}");
    }
}

#[test]
fn the_tables_of_the_pages_are_what_the_presets_have() {
    for (name, before) in BEFORE {
        let preset = Preset::get(name).unwrap();
        let before = before.map(|before| Preset::get(before).unwrap());
        check(&format!("{name}.md"), &tables::page(preset, before));
    }
}

#[test]
fn the_index_lists_every_preset() {
    check("README.md", &tables::index(&BEFORE));
}

#[test]
fn every_page_says_in_prose_what_its_tables_cannot() {
    for (name, _) in BEFORE {
        let page = read(&format!("{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        let places: Vec<_> =
            PARTS.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{name}: {part}"))).collect();
        assert!(places.is_sorted(), "{name}: the parts are out of order");
        for (part, words) in PARTS.iter().zip(places.windows(2).map(|pair| page[pair[0]..pair[1]].split(' ').count())) {
            assert!(words > 8, "{name}: {part} says nothing");
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
