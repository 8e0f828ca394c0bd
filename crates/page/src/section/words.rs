//! The words on the page, folded at its end: those of the glossary, and where to read on.

use crate::glossary;
use crate::view::{Block, View};
use std::collections::BTreeSet;

/// Where the book explains what is on a page. A page is sent alone, so that it names the command that prints one, and
/// does not link to a file that is not beside it.
const BOOK: [(&str, &str); 6] = [
    ("wakelab docs page", "what is on a page, and how it is made"),
    ("wakelab docs trust", "the verdict, and how sure it is"),
    ("wakelab docs why-there", "how an explanation is read, and each reason"),
    ("wakelab docs statistics", "how each statistic is defined"),
    ("wakelab docs evidence", "how far the model is from what was published"),
    ("wakelab docs glossary", "all words"),
];

/// The section, with the meaning of the labels that have one.
pub(crate) fn view<'a>(labels: impl Iterator<Item = &'a str>) -> View {
    let mut view = View::folded("words", "Words, and where to read on");
    let met: BTreeSet<&str> = labels.filter_map(glossary::entry).map(|entry| entry.words.as_str()).collect();
    let entry = |words: &str| glossary::entry(words).map(|entry| (entry.words.clone(), entry.meaning.clone()));
    let words: Vec<(String, String)> = met.into_iter().filter_map(entry).collect();
    if !words.is_empty() {
        view.blocks.push(Block::Words { words });
    }
    view.text("wakelab brings its book along:");
    let pages = BOOK.map(|(command, about)| (command.to_owned(), about.to_owned())).to_vec();
    view.blocks.push(Block::Words { words: pages });
    view
}
