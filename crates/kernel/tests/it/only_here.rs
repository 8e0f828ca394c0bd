//! What differs between kernel versions is in this crate and nowhere else: no other crate decides by a preset's name or
//! by a version number. Their sources are searched for both.

use std::path::{Path, PathBuf};
use wakelab_kernel::Preset;

/// The crates of the model, and those that read what it writes.
const CRATES: [&str; 11] =
    ["sched", "pm", "sim", "machine", "workload", "measure", "events", "import", "report", "statistics", "study"];

/// Published tables name the kernel that they were measured on, and an error the example of a kernel.
const NAMES_A_KERNEL: [&str; 2] = ["crates/study/src/reproduce/tables", "crates/study/src/experiment/file.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of code of a file before its tests, with their numbers; without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    (1..).zip(text[..tests].lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether a line compares a pair of numbers, `version >= (6, 8)`. The arm of a match (`=> (1, 0)`) is none.
fn compares_versions(line: &str) -> bool {
    let compact: String = line.replace("=>", "⇒").chars().filter(|c| !c.is_whitespace()).collect();
    let is_pair = |text: &str| {
        let Some((pair, _)) = text.split_once(')') else { return false };
        let Some((major, minor)) = pair.split_once(',') else { return false };
        let is_number = |text: &str| text.chars().any(|c| c.is_ascii_digit());
        let all_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".=_".contains(c));
        is_number(major) && all_digits(major) && all_digits(minor)
    };
    let after = |operator: &str| compact.split(operator).skip(1).any(is_pair);
    after("<(") || after("<=(") || after(">=(") || after(">(")
}

#[test]
fn a_comparison_of_versions_is_found() {
    assert!(compares_versions("if version >= (6, 8) { 1 } else { 0 }"));
    assert!(compares_versions("pipe: (major, minor) < (6,14),"));
    assert!(!compares_versions("(false, _) => (1, 0),"));
    assert!(!compares_versions("let pair = Vec::<(u32, u32)>::new();"));
    assert!(!compares_versions("times.sort_by(|a, b| (a.0, a.1) < (b.0, b.1));"));
}

#[test]
fn no_other_crate_decides_by_a_kernels_name_or_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names: Vec<_> = Preset::names().into_iter().map(|name| format!("{name:?}")).collect();
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&root.join("crates").join(name).join("src"), &mut files));
    assert!(files.len() > 100, "{} files", files.len());
    for path in files {
        let short = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
        if NAMES_A_KERNEL.iter().any(|allowed| short.starts_with(allowed)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        for (number, line) in code(&text) {
            let named = names.iter().find(|name| line.contains(name.as_str()));
            assert!(named.is_none(), "{short}:{number}: a rule of crates/kernel/src/rules decides, not a name: {line}");
            assert!(!compares_versions(line), "{short}:{number}: a rule of crates/kernel/src/rules decides: {line}");
        }
    }
}
