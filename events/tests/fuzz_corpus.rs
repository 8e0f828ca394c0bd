//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.
//!
//! The changes are made with fixed seeds, so that every run sees the same bytes.

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = fs::read_dir(&dir).expect("the corpus is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() > 20, "the corpus has files");
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// Runs a check, and says on which input it failed.
fn run(check: fn(&[u8]) -> usize, bytes: &[u8], name: &dyn Fn() -> String) -> usize {
    panic::catch_unwind(AssertUnwindSafe(|| check(bytes))).unwrap_or_else(|cause| {
        eprintln!("on {}: {}", name(), String::from_utf8_lossy(bytes));
        panic::resume_unwind(cause)
    })
}

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Values at and beyond the ends of ranges.
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

/// One change: of a byte, a stretch of bytes, or a value between separators.
fn change(bytes: &mut Vec<u8>, random: &mut Random, from: usize) {
    let at = from + random.below(bytes.len().saturating_sub(from));
    if at >= bytes.len() {
        return;
    }
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.insert(at, b"0123456789,\"\n\r -\xff"[random.below(17)]),
        2 => {
            bytes.remove(at);
        }
        3 => bytes.truncate(at),
        4 => {
            let end = (at + random.below(200)).min(bytes.len());
            let stretch = bytes[at..end].to_vec();
            let to = from + random.below(bytes.len() - from);
            bytes.splice(to..to, stretch);
        }
        _ => {
            let separates = |b: &u8| b", \n\":[]{}".contains(b);
            let start = bytes[from..at].iter().rposition(separates).map_or(from, |before| from + before + 1);
            let end = bytes[at..].iter().position(separates).map_or(bytes.len(), |after| at + after);
            bytes.splice(start..end.max(start), VALUES[random.below(VALUES.len())].bytes());
        }
    }
}

/// Checks changed files; how many rows were sound all the same.
fn mutate(target: &str, check: fn(&[u8]) -> usize, rounds: u64, from: fn(&[u8]) -> usize) -> usize {
    let mut rows = 0;
    for (path, bytes) in corpus(target) {
        let from = from(&bytes);
        for round in 0..rounds {
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (round + 1).wrapping_mul(bytes.len() as u64 + 1));
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) {
                // A header that lacks a column ends all; most changes are better made behind it.
                let from = if random.below(16) == 0 { 0 } else { from.min(changed.len()) };
                change(&mut changed, &mut random, from);
            }
            rows += run(check, &changed, &|| format!("{}, round {round}", path.display()));
        }
    }
    rows
}

/// Checks the corpus; how many rows of the file of that name were decided, and of all.
fn corpus_rows(target: &str, check: fn(&[u8]) -> usize, name: &str) -> (usize, usize) {
    let (mut of_file, mut of_all) = (0, 0);
    for (path, bytes) in corpus(target) {
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
    let (whole, all) = corpus_rows("recording", checks::recording, "all.csv.gz");
    assert_eq!(whole, 8);
    assert!(all > 30, "{all} rows");
}

#[test]
fn descriptions_of_machines() {
    let (sound, all) = corpus_rows("topo", checks::topo, "16-cpus-numa.json");
    assert_eq!(sound, 24);
    assert!(all > 6 * 24, "{all} rows");
}

/// Changes that are refused at once would try little: many are to be read.
#[test]
fn changed_recordings() {
    let newline = |bytes: &[u8]| bytes.iter().position(|&b| b == b'\n').unwrap_or(0);
    let rows = mutate("recording", checks::recording, 400, newline);
    assert!(rows > 3000, "{rows} rows");
}

#[test]
fn changed_descriptions_of_machines() {
    let rows = mutate("topo", checks::topo, 400, |_| 0);
    assert!(rows > 3000, "{rows} rows");
}
