//! The fuzz corpora, and changed files made from them, on a compiler that has no fuzzer: nothing panics, goes on for
//! ever or takes memory beyond the limits.

use std::path::PathBuf;
use wakelab_testing::changes::{change_binary, corpus, run, sum_of_changed};
use wakelab_testing::{check_bpf, most_memory};

/// What one input may take at a time, bytes: 16 MiB of a program's, and what an object is.
const MOST: usize = 64 << 20;

fn hold(files: &[(PathBuf, Vec<u8>)], check: fn(&[u8]) -> usize, rounds: u64, least: usize) {
    let memory = most_memory::begin();
    for (path, bytes) in files {
        let bad = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bad-"));
        assert_eq!(run(check, bytes, &|| path.display().to_string()) == 0, bad, "{}", path.display());
    }
    let sum = sum_of_changed(files, check, rounds, &|bytes, other, random| change_binary(bytes, other, random));
    // Changes that are refused at once would try little.
    assert!(sum > least, "{sum}");
    let most = memory.most();
    assert!(most < MOST, "{most} bytes");
}

#[test]
fn objects_and_changed_ones() {
    hold(&corpus("bpf_object"), check_bpf::object, 1500, 1000);
}

#[test]
fn types_and_changed_ones() {
    hold(&corpus("bpf_types"), check_bpf::types, 500, 2000);
}

#[test]
fn programs_and_changed_ones() {
    hold(&corpus("bpf_program"), check_bpf::program, 300, 20_000);
}
