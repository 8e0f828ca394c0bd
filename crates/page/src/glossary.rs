//! The words of the glossary, docs/glossary.md, as it is when the program is built: labels of a page that are
//! among them have their definition as a tooltip.

use std::sync::LazyLock;

const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

/// A row of the glossary.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The words, as the glossary has them: `waker, wakee`.
    pub(crate) words: String,
    /// What they mean.
    pub(crate) meaning: String,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let cells = |line: &str| {
        let (words, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        let plain = |text: &str| unlinked(&text.replace('`', ""));
        Some(Entry { words: plain(words), meaning: plain(meaning) })
    };
    GLOSSARY.lines().filter_map(cells).filter(|entry| entry.words != "word").collect()
});

/// The text with the words of links alone.
fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, after)) = link.split_once("](").and_then(|(words, to)| Some((words, to.split_once(')')?.1)))
        else {
            break;
        };
        plain.extend([before, words]);
        rest = after;
    }
    (plain + rest).trim().to_owned()
}

/// The entry of a label: of one of its words, whatever its case, in the singular or the plural.
pub(crate) fn entry(label: &str) -> Option<&'static Entry> {
    let label = label.trim().to_lowercase();
    let is = |word: &str| {
        let word = word.trim().to_lowercase();
        let plural = [format!("{word}s"), format!("{word}es")];
        word == label || plural.contains(&label)
    };
    ENTRIES.iter().find(|entry| is(&entry.words) || entry.words.split(", ").any(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_find_their_entry() {
        let words = |label: &str| entry(label).map(|entry| entry.words.as_str());
        assert_eq!(words("Wake-ups"), Some("wake-up"));
        assert_eq!(words("Searches"), Some("search"));
        assert_eq!(words("wakee"), Some("waker, wakee"));
        assert_eq!(words("nr_idle_scan"), Some("nr_idle_scan"));
        assert_eq!(words("LLC"), Some("LLC"));
        assert_eq!(["p50", "", "word", "what it means here"].map(words), [None; 4]);
    }

    #[test]
    fn every_row_of_the_glossary_is_an_entry() {
        let rows = GLOSSARY.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(ENTRIES.len(), rows - 1, "all but the heading");
        let plain = |entry: &Entry| !entry.meaning.is_empty() && !entry.meaning.contains(['`', '[', ']']);
        assert!(ENTRIES.iter().all(plain));
        assert_eq!(unlinked("a [b c](d.md#e), [f](g)"), "a b c, f");
    }
}
