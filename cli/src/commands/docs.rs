//! `wakelab docs`: the book, which the program brings along.

use crate::completion;
use crate::embedded::{Book, text, unpack};
use crate::output::{Exit, hint, print, say};
use std::path::PathBuf;
use wakelab_input::{in_any_case, nearest, suggest};

pub const EXAMPLE: &str = "\
Example:
  wakelab docs trust";

/// `wakelab docs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The page to print; a list of all if left out.
    ///
    /// A page is called as its file, with its folder or without: guides/ci, ci, ci.md.
    #[arg(value_name = "PAGE", add = completion::page())]
    page: Option<String>,
    /// Write all pages to this folder instead.
    ///
    /// With their pictures, as Markdown. Files that are there with other contents are not replaced.
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    pub write: Option<PathBuf>,
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

/// The page that is meant: its path, or the last part of one if only one page is called so.
fn find(typed: &str) -> anyhow::Result<String> {
    let bare = typed.strip_prefix("docs/").unwrap_or(typed);
    let bare = bare.split('#').next().unwrap_or_default();
    let bare = bare.strip_suffix(".md").unwrap_or(bare);
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
    let all = names.iter().chain(&shorts).map(String::as_str);
    let mut like = nearest(bare, all);
    like.dedup();
    anyhow::bail!(
        "{typed}: the book has no such page; expected a name such as trust or guides/ci{}\n  hint: `wakelab docs` \
         lists the pages",
        suggest(&like)
    )
}

/// Lists the pages, prints one, or writes all.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.write {
        unpack::<Book>(folder).map_err(|e| anyhow::anyhow!("--write: {e:#}"))?;
        say!("{}: {} pages, first SUMMARY.md", folder.display(), names().len());
        return Ok(Exit::Done);
    }
    let Some(typed) = &args.page else {
        print(&list())?;
        hint("`wakelab docs first-comparison` prints that page; `wakelab docs --write DIR` writes all");
        return Ok(Exit::Done);
    };
    let name = find(typed)?;
    print(&text::<Book>(&format!("{name}.md")).unwrap_or_default())?;
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
