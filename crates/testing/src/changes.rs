//! Changed files made from a corpus, with fixed seeds: so that the ordinary tests look for panics on a stable compiler,
//! and every run sees the same bytes.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// Reads bytes as some kind of file and holds what has to hold; whether the file was sound.
pub type Check = fn(&[u8]) -> bool;

/// The files of a corpus, in the order of their names.
pub fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target))
}

/// The files of a folder, in the order of their names.
pub fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
}

/// Checks the corpus. What a file's name begins with says whether it is sound: `bad-` or not.
pub fn check_corpus(target: &str, check: Check) {
    let corpus = corpus(target);
    assert!(corpus.len() >= 12, "the corpus has files");
    for (path, bytes) in corpus {
        let bad = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bad-"));
        assert_eq!(run(check, &bytes, &|| path.display().to_string()), !bad, "{}", path.display());
    }
}

/// Checks `rounds` changed files made from each sound one of the corpus, and a quarter from each other; how many were
/// sound all the same. `WAKELAB_FUZZ_ROUNDS` sets another number, for a longer search.
pub fn check_changed(target: &str, check: Check, rounds: u64, words: &[&str]) -> usize {
    let corpus = corpus(target);
    let (rounds, mut sound) = (rounds_or(rounds), 0);
    for (number, (path, bytes)) in corpus.iter().enumerate() {
        let bad = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bad-"));
        for round in 0..if bad { rounds / 4 } else { rounds } {
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ ((round + 1) << 20 | number as u64));
            let other = &corpus[random.below(corpus.len())].1;
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) / 2 {
                change(&mut changed, other, words, &mut random);
            }
            sound += usize::from(run(check, &changed, &|| format!("{}, round {round}", path.display())));
        }
    }
    sound
}

/// So many rounds, or as many as `WAKELAB_FUZZ_ROUNDS` says.
fn rounds_or(rounds: u64) -> u64 {
    std::env::var("WAKELAB_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(rounds)
}

/// How a file becomes another: told the file, another one, and what chance gives.
pub type Change = dyn Fn(&mut Vec<u8>, &[u8], &mut Random);

/// Runs `check` on `rounds` files made from each of `files` by one to four changes; the sum of what it gives.
pub fn sum_of_changed(files: &[(PathBuf, Vec<u8>)], check: fn(&[u8]) -> usize, rounds: u64, change: &Change) -> usize {
    let mut sum = 0;
    for (number, (path, bytes)) in files.iter().enumerate() {
        for round in 0..rounds_or(rounds) {
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ ((round + 1) << 20 | number as u64));
            let other = &files[random.below(files.len())].1;
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) {
                change(&mut changed, other, &mut random);
            }
            sum += run(check, &changed, &|| format!("{}, round {round}", path.display()));
        }
    }
    sum
}

/// Runs a check, and says on which input it failed.
pub fn run<T>(check: fn(&[u8]) -> T, bytes: &[u8], name: &dyn Fn() -> String) -> T {
    panic::catch_unwind(AssertUnwindSafe(|| check(bytes))).unwrap_or_else(|cause| {
        eprintln!("on {}:\n{}", name(), String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]));
        panic::resume_unwind(cause)
    })
}

/// Marsaglia's xorshift64.
pub struct Random(u64);

impl Random {
    /// Begins with a seed, which is not 0.
    pub fn new(seed: u64) -> Self {
        Random(0x9e37_79b9_7f4a_7c15 ^ seed)
    }

    /// A number below `n`; 0 for `n` of 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Values at and beyond the ends of ranges, and what breaks words.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "63",
    "64",
    "100",
    "101",
    "1023",
    "1024",
    "8191",
    "8192",
    "8193",
    "65536",
    "1048576",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775808",
    "1.5",
    "nan",
    "inf",
    "1e400",
    "true",
    "\"\"",
    "\"a\"",
    "\"0-7\"",
    "\"7-0\"",
    "\"0ns\"",
    "\"1h\"",
    "\"3600s\"",
    "\"-1us\"",
    "[]",
    "[[]]",
    "{}",
    "{a = 1}",
    "0-8191",
    "0-3,2",
    "ä",
    "\u{0}",
    "1979-05-27",
];

/// One change of text: of a bit, a byte, a stretch, a line, a word or a value.
pub fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    if bytes.is_empty() {
        bytes.extend_from_slice(other);
        return;
    }
    let at = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
    match random.below(12) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.insert(at, b"0123456789,\"=[]{}#:\n\r \xff"[random.below(23)]),
        2 => {
            bytes.remove(at);
        }
        3 => bytes.truncate(at),
        4 => {
            let end = (at + random.below(120)).min(bytes.len());
            let stretch = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, stretch);
        }
        5 => {
            let (start, end) = line(bytes, at);
            bytes.drain(start..end);
        }
        6 => {
            let (start, _) = line(bytes, at);
            let (from, to) = line(other, random.below(other.len()));
            bytes.splice(start..start, other[from..to].iter().copied());
        }
        7 | 8 if !words.is_empty() => {
            let (start, end) = word(bytes, at);
            bytes.splice(start..end, words[random.below(words.len())].bytes());
        }
        _ => {
            let (start, end) = word(bytes, at);
            bytes.splice(start..end, VALUES[random.below(VALUES.len())].bytes());
        }
    }
}

/// One change of a file of numbers: of a bit, a byte, a number of some width, a stretch.
pub fn change_binary(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        bytes.extend_from_slice(other);
        return;
    }
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(64)).min(bytes.len());
    match random.below(12) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.below(256) as u8,
        3..=7 => {
            let edges = [0, 1, u64::MAX, i64::MAX as u64, u64::from(u32::MAX), i32::MAX as u64, bytes.len() as u64];
            let edge = match random.below(3) {
                0 => edges[random.below(edges.len())],
                1 => 1 << random.below(64),
                _ => edges[random.below(edges.len())].wrapping_sub(random.below(24) as u64),
            };
            let number = if random.below(4) == 0 { edge.to_be_bytes() } else { edge.to_le_bytes() };
            let width = 1 << random.below(4);
            // Most numbers lie where their width divides their place.
            let at = if random.below(2) == 0 { at } else { at - at % width };
            for (byte, new) in bytes[at..].iter_mut().zip(&number[..width]) {
                *byte = *new;
            }
        }
        8 => bytes.truncate(at),
        9 => {
            bytes.drain(at..end);
        }
        10 => {
            let stretch = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, stretch);
        }
        _ => {
            let from = random.below(other.len());
            for (byte, new) in bytes[at..end].iter_mut().zip(&other[from..]) {
                *byte = *new;
            }
        }
    }
}

/// The line around a place, with its end.
fn line(bytes: &[u8], at: usize) -> (usize, usize) {
    let at = at.min(bytes.len());
    let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |after| at + after + 1);
    (start, end.max(start))
}

/// What stands between separators around a place.
fn word(bytes: &[u8], at: usize) -> (usize, usize) {
    let separates = |b: &u8| b", \n=:[]{}/".contains(b);
    let start = bytes[..at].iter().rposition(separates).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(separates).map_or(bytes.len(), |after| at + after);
    (start, end.max(start))
}
