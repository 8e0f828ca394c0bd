//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.
//!
//! The changes are made with fixed seeds, so that every run sees the same bytes.

use wakelab_testing::changes::{Random, change, change_binary, corpus, run, sum_of_changed};
use wakelab_testing::{check_events, check_recording};

/// Values of recordings, at and beyond the ends of ranges.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "-2",
    "2",
    "7",
    "8",
    "15",
    "16",
    "63",
    "64",
    "255",
    "1023",
    "1024",
    "1048576",
    "4194304",
    "2147483647",
    "2147483648",
    "4294967295",
    "1099511627776",
    "18446744073709551615",
    "18446744073709551616",
    "ff",
    "aa",
    "ffffffff",
    "4",
    "18",
    "48",
    "",
    "x",
    "\"",
    "6.1",
    "NUMA",
    "\"a\"\"b\"",
];

/// Checks changed files; how many rows were sound all the same. A header that lacks a column ends all: most changes are
/// better made behind `from`.
fn mutate(target: &str, check: fn(&[u8]) -> usize, rounds: u64, from: fn(&[u8]) -> usize) -> usize {
    sum_of_changed(&corpus(target), check, rounds, &move |bytes: &mut Vec<u8>, other: &[u8], random: &mut Random| {
        let from = if random.below(16) == 0 { 0 } else { from(bytes) };
        let mut behind = bytes.split_off(from);
        change(&mut behind, other, VALUES, random);
        bytes.append(&mut behind);
    })
}

/// Checks the corpus; how many rows of the file of that name were decided, and of all.
fn corpus_rows(target: &str, check: fn(&[u8]) -> usize, name: &str) -> (usize, usize) {
    let (mut of_file, mut of_all) = (0, 0);
    let corpus = corpus(target);
    assert!(corpus.len() > 20, "the corpus has files");
    for (path, bytes) in corpus {
        let rows = run(check, &bytes, &|| path.display().to_string());
        of_all += rows;
        if path.file_name().is_some_and(|file| file == name) {
            of_file = rows;
        }
    }
    (of_file, of_all)
}

#[test]
fn recordings() {
    let (whole, all) = corpus_rows("recording", check_recording::recording, "all.csv.gz");
    assert_eq!(whole, 8);
    assert!(all > 30, "{all} rows");
}

#[test]
fn descriptions_of_machines() {
    let (sound, all) = corpus_rows("topo", check_recording::topo, "16-cpus-numa.json");
    assert_eq!(sound, 24);
    assert!(all > 6 * 24, "{all} rows");
}

/// Changes that are refused at once would try little: many are to be read.
#[test]
fn changed_recordings() {
    let newline = |bytes: &[u8]| bytes.iter().position(|&b| b == b'\n').unwrap_or(0);
    let rows = mutate("recording", check_recording::recording, 400, newline);
    assert!(rows > 3000, "{rows} rows");
}

#[test]
fn changed_descriptions_of_machines() {
    let rows = mutate("topo", check_recording::topo, 400, |_| 0);
    assert!(rows > 3000, "{rows} rows");
}

/// Tables of events and recordings in Parquet, bytes of which are changed.
#[test]
fn changed_tables() {
    let files = corpus("events");
    let whole: usize =
        files.iter().map(|(path, bytes)| run(check_events::events, bytes, &|| path.display().to_string())).sum();
    assert!(whole > 500, "{whole} rows");
    let rows =
        sum_of_changed(&files, check_events::events, 150, &|bytes, other, random| change_binary(bytes, other, random));
    assert!(rows > 5 * whole, "{rows} rows");
}
