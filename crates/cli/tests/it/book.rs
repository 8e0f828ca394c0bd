//! The book in docs/: all pages are in its summary, links lead somewhere, and its commands do what it says.
//!
//! With `WAKELAB_BLESS=1` what the program prints is written to the pages, to be read through before it is committed.

use crate::support::wakelab;
use rayon::prelude::*;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wakelab_kernel::Feature;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn blesses() -> bool {
    std::env::var_os("WAKELAB_BLESS").is_some()
}

/// The folder of what machines wrote: pages of the book link there, and the summary does not list it.
fn is_evidence(page: &Path) -> bool {
    page.parent().is_some_and(|folder| folder.ends_with("evidence"))
}

/// All Markdown below docs/.
fn pages() -> Vec<PathBuf> {
    fn look(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.extension().and_then(|ending| ending.to_str()) {
                _ if path.is_dir() => look(&path, found),
                Some("md") => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    look(&docs(), &mut found);
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The targets of a page's links, but for those to other places of the web, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|after| after.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

/// What a heading is called in links.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> HashSet<String> {
    text.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[test]
fn the_summary_has_every_page_once() {
    let summary = read(&docs().join("SUMMARY.md"));
    let mut listed: Vec<PathBuf> = links(&summary).iter().map(|link| docs().join(link)).collect();
    listed.sort();
    let pages: Vec<PathBuf> =
        pages().into_iter().filter(|page| !page.ends_with("SUMMARY.md") && !is_evidence(page)).collect();
    assert_eq!(listed, pages);
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text) {
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name("").join(path) };
            let found = target.exists() && (heading.is_empty() || anchors(&read(&target)).contains(heading));
            if !found {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_features_has_each() {
    let row = |feature: &Feature| {
        let modelled = if feature.modelled() { "yes" } else { "" };
        format!("| `{}` | {modelled} | {} |\n", feature.name(), feature.doc())
    };
    let own = |feature: &&Feature| **feature != Feature::OWN;
    let table: String = Feature::ALL.iter().filter(own).map(row).collect();
    let path = docs().join("policies.md");
    let page = read(&path);
    let (before, rest) = page.split_once("| feature | modelled | what it does |\n|---|---|---|\n").expect("a table");
    let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
    let expected = format!("{before}| feature | modelled | what it does |\n|---|---|---|\n{table}{after}");
    if blesses() {
        fs::write(&path, &expected).expect("written");
    } else {
        assert_eq!(page, expected);
    }
}

/// A block of code: what its fence says, and what is in it.
struct Block<'a> {
    says: &'a str,
    text: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).map(|(says, text)| Block { says, text }).collect()
}

/// The commands of a block, each with what it prints there.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push((command.to_owned(), String::new()));
        } else if let (true, Some((command, _))) = (goes_on, found.last_mut()) {
            command.truncate(command.len() - 1);
            command.push_str(line.trim_start());
        } else if let Some((_, output)) = found.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
        goes_on = found.last().is_some_and(|(command, _)| command.ends_with('\\')) && !line.is_empty();
    }
    found
}

/// Where the commands of a page run: what a clone has, and files of the page's own.
fn clone_like() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["crates", "data"] {
        let original = docs().join("..").join(name).canonicalize().expect("a folder of the clone");
        std::os::unix::fs::symlink(original, folder.path().join(name)).expect("a link");
    }
    folder
}

/// The words of a command as the shell makes them: quoted, and with the names of files for patterns.
fn words_of(command: &str, folder: &Path) -> Vec<String> {
    let output = Command::new("sh").args(["-c", &format!(r"printf '%s\0' {command}")]).current_dir(folder).output();
    let words = String::from_utf8(output.expect("a shell").stdout).expect("UTF-8");
    words.strip_suffix('\0').unwrap_or_else(|| panic!("{command}")).split('\0').map(str::to_owned).collect()
}

/// Runs the commands of a page in order; gives the page as it should be.
fn rerun(path: &Path) -> (String, usize) {
    let mut page = read(path);
    let text = page.clone();
    let folder = clone_like();
    let mut ran = 0;
    for block in blocks(&text) {
        if let Some(name) = block.says.split_once(",file=").map(|(_, name)| name) {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, block.text).expect("written");
        }
        let (runs, same) = (block.says == "console,run", block.says == "console,same");
        if !runs && !same {
            continue;
        }
        for (command, printed) in commands(block.text) {
            let words = words_of(&command, folder.path());
            assert_eq!(words[0], "wakelab", "{}: {command}", path.display());
            let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let output = wakelab(folder.path(), &args);
            let out = String::from_utf8(output.stdout).expect("UTF-8");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {command}: {said}", path.display());
            assert!(same || printed.is_empty(), "{}: {command}: console,run shows no output", path.display());
            ran += 1;
            if same && printed != out {
                let shown = block.text.replacen(&printed, "", usize::from(!printed.is_empty()));
                page = page.replacen(block.text, &format!("{shown}{out}"), 1);
            }
        }
    }
    (page, ran)
}

/// Where it differs, what the page should have is printed. A block that shows output has one command.
#[test]
fn the_commands_of_the_book_print_what_it_says() {
    let check = |path: &PathBuf| {
        let (expected, ran) = rerun(path);
        if blesses() {
            fs::write(path, &expected).expect("written");
        } else {
            assert_eq!(read(path), expected, "{}", path.display());
        }
        ran
    };
    let all: usize = pages().par_iter().map(check).sum();
    assert!(all >= 20, "{all} commands");
}

#[test]
fn blocks_of_the_shell_say_whether_they_run() {
    for path in pages() {
        for block in blocks(&read(&path)).iter().filter(|block| block.says.starts_with("console")) {
            let known = ["console", "console,run", "console,same", "console,skip"].contains(&block.says);
            assert!(known, "{}: ```{}", path.display(), block.says);
            let wakelab = block.text.contains("$ wakelab ");
            assert!(!wakelab || block.says != "console", "{}: say run, same or skip: {}", path.display(), block.text);
        }
    }
}
