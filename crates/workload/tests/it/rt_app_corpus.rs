//! The fuzz corpus and rt-app's own examples, and changed files made from them, on a compiler that has no fuzzer.
//!
//! The changes are made with fixed seeds, so that every run sees the same bytes.

use std::path::Path;
use wakelab_testing::changes::{change, corpus, files, run, sum_of_changed};
use wakelab_testing::check_rt_app;

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
    let corpus = corpus("rt_app");
    assert!(corpus.len() > 30, "the corpus has files");
    let threads: usize =
        corpus.iter().map(|(path, bytes)| run(check_rt_app::rt_app, bytes, &|| path.display().to_string())).sum();
    assert!(threads > 20, "{threads} threads");
}

#[test]
fn changed_files_are_read_or_refused_with_a_line() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rt-app");
    let all = [corpus("rt_app"), files(&own), files(&own.join("tutorial"))].concat();
    let threads =
        sum_of_changed(&all, check_rt_app::rt_app, 200, &|bytes, other, random| change(bytes, other, VALUES, random));
    assert!(threads > 1000, "{threads} threads");
}
