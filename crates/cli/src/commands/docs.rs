//! `wakelab docs`: the book, which the program brings along.

use crate::completion;
use crate::embedded::{Book, text, unpack};
use crate::output::{Exit, hint, print, say};
use anyhow::Context;
use std::path::PathBuf;
use wakelab_input::{in_any_case, nearest, printable, suggest};

pub const EXAMPLE: &str = "\
Example:
  wakelab docs trust";

/// `wakelab docs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Page or section to print; all are listed without one.
    ///
    /// A page has the name of its file: why-there, kernels/v6, v6.md. A section has the name of its heading, alone or
    /// after its page: two-states, worked-cases#two-states.
    #[arg(value_name = "PAGE", add = completion::page())]
    page: Option<String>,
    /// Write all pages to this folder instead.
    ///
    /// With their pictures, as Markdown. Files that are there with other contents are not replaced.
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    pub write: Option<PathBuf>,
    /// List the sections that have this text, in any case.
    ///
    /// Each with the line that has it first, under the name that prints the section.
    #[arg(long, value_name = "WORD", conflicts_with_all = ["page", "write"])]
    search: Option<String>,
}

/// A page of the summary.
struct Page {
    /// The path below docs/, without `.md`.
    name: String,
    title: String,
}

/// A line of the summary.
enum Entry {
    Part(String),
    Page(Page),
}

/// The book in the order of its summary.
fn summary() -> Vec<Entry> {
    let summary = text::<Book>("SUMMARY.md").unwrap_or_default();
    let entry = |line: &str| {
        if let Some(part) = line.strip_prefix("# ") {
            return (part != "Summary").then(|| Entry::Part(part.to_owned()));
        }
        let (title, target) = line.trim_start_matches(['-', ' ']).strip_prefix('[')?.split_once("](")?;
        let name = target.strip_suffix(".md)")?.to_owned();
        Some(Entry::Page(Page { name, title: title.to_owned() }))
    };
    summary.lines().filter_map(entry).collect()
}

/// The names of all pages, as paths below docs/ without `.md`.
pub fn names() -> Vec<String> {
    let name = |entry| match entry {
        Entry::Page(page) => Some(page.name),
        Entry::Part(_) => None,
    };
    summary().into_iter().filter_map(name).collect()
}

/// What links call a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The lines of a page, each with the level of its heading; 0 if it is none.
fn lines(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    page.lines().map(move |line| {
        in_code ^= line.starts_with("```");
        (if in_code { 0 } else { line.bytes().take_while(|&byte| byte == b'#').count() }, line)
    })
}

/// The section of a page under the heading that links call this, down to the next heading of its level. Headings below
/// the third level are parts of a section.
fn section(page: &str, called: &str) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    for (level, line) in lines(page) {
        match &mut found {
            None if (1..=3).contains(&level) && anchor(line) == called => found = Some((level, format!("{line}\n"))),
            Some((begun, _)) if level > 0 && level <= *begun => break,
            Some((_, text)) => text.extend([line, "\n"]),
            None => {}
        }
    }
    found.map(|(_, text)| text.trim_end().to_owned() + "\n")
}

/// A section that has what is searched for.
struct Found {
    /// What `wakelab docs` calls it.
    name: String,
    /// The first line that has it, without Markdown around it.
    line: String,
}

/// The sections of a page that have a text in any case: down to the third level, and what stands before the first
/// heading under the page's own name.
fn sections_with(name: &str, text: &str) -> Vec<Found> {
    let wanted = text.to_lowercase();
    let (mut section, mut found) = (name.to_owned(), Vec::<Found>::new());
    for (level, line) in lines(&page_text(name)) {
        match level {
            1 => name.clone_into(&mut section),
            2 | 3 => section = format!("{name}#{}", anchor(line)),
            _ => {}
        }
        if line.to_lowercase().contains(&wanted) && found.last().is_none_or(|last| last.name != section) {
            found.push(Found { name: section.clone(), line: line.trim_start_matches(['#', ' ', '-', '|']).to_owned() });
        }
    }
    found
}

/// Lists the sections that have a text.
fn search(text: &str) -> anyhow::Result<Exit> {
    let found: Vec<Found> = names().iter().flat_map(|name| sections_with(name, text)).collect();
    if found.is_empty() {
        say!("no page has \"{}\"", printable(text));
        return Ok(Exit::NoMatch);
    }
    let lines: Vec<String> =
        found.iter().map(|Found { name, line }| format!("{name}\n  {}\n", shortened(line))).collect();
    print(&lines.concat())?;
    hint(format_args!("`wakelab docs {}` prints that section", found[0].name));
    Ok(Exit::Done)
}

/// As much of a line as fits on one of a terminal.
fn shortened(line: &str) -> String {
    const MOST: usize = 116;
    if line.chars().count() <= MOST { line.to_owned() } else { line.chars().take(MOST).chain(['…']).collect() }
}

fn page_text(name: &str) -> String {
    text::<Book>(&format!("{name}.md")).unwrap_or_default()
}

/// The text that is meant: a page, a section of it after `#`, or the first section of the book that is called so.
fn find(typed: &str) -> anyhow::Result<String> {
    let (page, heading) = typed.split_once('#').unwrap_or((typed, ""));
    match find_page(page) {
        Ok(name) if heading.is_empty() => Ok(page_text(&name)),
        Ok(name) => section(&page_text(&name), &anchor(heading)).with_context(|| {
            format!("{typed}: {name} has no such section\n  hint: `wakelab docs {name}` prints the page")
        }),
        Err(unknown) => {
            let called = anchor(typed);
            names().iter().find_map(|name| section(&page_text(name), &called)).ok_or(unknown)
        }
    }
}

/// The page that is meant: its path, or the last part of one if only one page is called so.
fn find_page(typed: &str) -> anyhow::Result<String> {
    let bare = typed.strip_prefix("docs/").unwrap_or(typed);
    let bare = bare.strip_suffix(".md").unwrap_or(bare);
    // What machines wrote is linked to by the book, and not in its summary.
    let linked = ["evidence/", ""].map(|folder| format!("{folder}{bare}"));
    let names = names();
    let short = |name: &str| {
        let name = name.strip_suffix("/README").unwrap_or(name);
        name.rsplit('/').next().unwrap_or(name).to_owned()
    };
    let shorts: Vec<String> = names.iter().map(|name| short(name)).collect();
    if let Some(found) = in_any_case(bare, names.iter().map(String::as_str)) {
        return Ok(found.to_owned());
    }
    let called: Vec<&String> =
        names.iter().zip(&shorts).filter(|(_, short)| short.eq_ignore_ascii_case(bare)).map(|(name, _)| name).collect();
    if let [one] = called[..] {
        return Ok(one.clone());
    }
    if let Some(file) = linked.into_iter().find(|name| text::<Book>(&format!("{name}.md")).is_some()) {
        return Ok(file);
    }
    let all = names.iter().chain(&shorts).map(String::as_str);
    let mut like = nearest(bare, all);
    like.dedup();
    anyhow::bail!(
        "{typed}: the book has no such page; expected a name such as trust or why-there{}\n  hint: `wakelab docs` \
         lists the pages",
        suggest(&like)
    )
}

/// Lists the pages, prints one, or writes all.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.write {
        unpack::<Book>(folder).map_err(|e| anyhow::anyhow!("--write: {e:#}"))?;
        say!("{}: {} pages; start with SUMMARY.md", folder.display(), names().len());
        return Ok(Exit::Done);
    }
    if let Some(text) = &args.search {
        return search(text);
    }
    let Some(typed) = &args.page else {
        print(&list())?;
        hint("`wakelab docs first-comparison` prints that page; --search WORD searches all, --write DIR writes them");
        return Ok(Exit::Done);
    };
    print(&find(typed)?)?;
    Ok(Exit::Done)
}

fn list() -> String {
    let entries = summary();
    let width = names().iter().map(String::len).max().unwrap_or(0);
    let line = |entry: &Entry| match entry {
        Entry::Part(part) => format!("\n{part}\n"),
        Entry::Page(page) => format!("  {:width$}  {}\n", page.name, page.title),
    };
    entries.iter().map(line).collect()
}
