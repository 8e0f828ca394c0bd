//! The fuzz corpus and rt-app's own examples, and changed files made from them, on a compiler that has no fuzzer.
//!
//! The changes are made with fixed seeds, so that every run sees the same bytes.

#[path = "../../fuzz/checks_rt_app.rs"]
mod checks;

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

fn files(dir: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)).expect("the folder is there");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// Runs the checks, and says on which input they failed.
fn run(bytes: &[u8], name: &dyn Fn() -> String) -> usize {
    panic::catch_unwind(AssertUnwindSafe(|| checks::rt_app(bytes))).unwrap_or_else(|cause| {
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

/// One change: of a byte, a stretch of bytes, or a word.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    if at >= bytes.len() {
        return;
    }
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => {
            bytes.remove(at);
        }
        2 => bytes.truncate(at),
        3 => {
            let end = (at + random.below(80)).min(bytes.len());
            let stretch = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, stretch);
        }
        _ => {
            let separates = |b: &u8| b", \n:[]{}".contains(b);
            let start = bytes[..at].iter().rposition(separates).map_or(0, |before| before + 1);
            let end = bytes[at..].iter().position(separates).map_or(bytes.len(), |after| at + after);
            bytes.splice(start..end.max(start), VALUES[random.below(VALUES.len())].bytes());
        }
    }
}

#[test]
fn the_corpus_is_read_or_refused_with_a_line() {
    let corpus = files("../fuzz/corpus/rt_app");
    assert!(corpus.len() > 30, "the corpus has files");
    let threads: usize = corpus.iter().map(|(path, bytes)| run(bytes, &|| path.display().to_string())).sum();
    assert!(threads > 20, "{threads} threads");
}

#[test]
fn changed_files_are_read_or_refused_with_a_line() {
    let mut threads = 0;
    let all = ["../fuzz/corpus/rt_app", "tests/rt-app", "tests/rt-app/tutorial"].into_iter().flat_map(files);
    for (path, bytes) in all {
        for round in 0..200_u64 {
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (round + 1).wrapping_mul(bytes.len() as u64 + 1));
            let mut changed = bytes.clone();
            for _ in 0..=random.below(3) {
                change(&mut changed, &mut random);
            }
            threads += run(&changed, &|| format!("{}, round {round}", path.display()));
        }
    }
    assert!(threads > 1000, "{threads} threads");
}
