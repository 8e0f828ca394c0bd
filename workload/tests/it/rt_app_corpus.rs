//! The fuzz corpus and rt-app's own examples, and changed files made from them, on a compiler that has no fuzzer.
//!
//! The changes are made with fixed seeds, so that every run sees the same bytes.

#[path = "../../../fuzz/checks_rt_app.rs"]
mod checks;

use crate::changes::{change, files, run, sum_of_changed};
use std::path::Path;

/// Words and numbers of the grammar, and at the ends of ranges.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "20",
    "-21",
    "8191",
    "8192",
    "2147483647",
    "2147483648",
    "1e3",
    "\"run\"",
    "\"sleep\"",
    "\"loop\"",
    "\"cpus\"",
    "\"lock\"",
    "\"unlock\"",
    "\"suspend\"",
    "\"resume\"",
    "\"barrier\"",
    "\"timer\"",
    "\"fork\"",
    "\"phases\"",
    "\"instance\"",
    "\"policy\"",
    "\"t\"",
    "\"m\"",
    "null",
    "true",
    "[0]",
    "[]",
    "{}",
    "\"\"",
    "'a'",
    ",",
    ":",
    "{",
    "}",
    "/*",
];

#[test]
fn the_corpus_is_read_or_refused_with_a_line() {
    let corpus = files(Path::new("../fuzz/corpus/rt_app"));
    assert!(corpus.len() > 30, "the corpus has files");
    let threads: usize =
        corpus.iter().map(|(path, bytes)| run(checks::rt_app, bytes, &|| path.display().to_string())).sum();
    assert!(threads > 20, "{threads} threads");
}

#[test]
fn changed_files_are_read_or_refused_with_a_line() {
    let all = ["../fuzz/corpus/rt_app", "tests/rt-app", "tests/rt-app/tutorial"];
    let all: Vec<_> = all.into_iter().flat_map(|folder| files(Path::new(folder))).collect();
    let threads =
        sum_of_changed(&all, checks::rt_app, 200, &|bytes, other, random| change(bytes, other, VALUES, random));
    assert!(threads > 1000, "{threads} threads");
}
