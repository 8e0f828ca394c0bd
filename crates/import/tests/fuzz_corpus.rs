//! Files that trace-cmd, perf and Perfetto could have written, and changed files made from them, on a compiler that has
//! no fuzzer: nothing panics, goes on for ever or takes memory that the file does not account for.
//!
//! This is a binary of its own because it replaces the global allocator with one that counts.

use std::io::{self, Read};
use std::path::PathBuf;
use wakelab_testing::changes::{change_binary, corpus, run, sum_of_changed};
use wakelab_testing::most_memory::Counting;
use wakelab_testing::recorder_files::{compressed_packet, page, perfetto, switch, trace_dat, waking};
use wakelab_testing::{check_import, most_memory, recorder_files};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Files are shorter than 100 KB; what is made of one at a time stays below this, bytes, however it is changed.
const MOST: usize = 64 << 20;

/// Holds what the files come to and what changed ones do, `least` events at least.
fn hold(files: Vec<(PathBuf, Vec<u8>)>, check: fn(&[u8]) -> usize, rounds: u64, least: usize) {
    let memory = most_memory::begin();
    for (path, bytes) in &files {
        let bad = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bad-"));
        assert_eq!(run(check, bytes, &|| path.display().to_string()) == 0, bad, "{}", path.display());
    }
    let events = sum_of_changed(&files, check, rounds, &|bytes, other, random| change_binary(bytes, other, random));
    // Changes that are refused at once would try little.
    assert!(events > least, "{events} events");
    let most = memory.most();
    assert!(most < MOST, "{most} bytes");
}

/// A short file has more of its bytes changed in what is read.
fn short() -> Vec<u8> {
    trace_dat(&[
        page(1000, &[(0, switch(0, 0, 7, "waker")), (500, waking(7, 9, "wakee", 1))]),
        page(1100, &[(1400, switch(0, 0, 9, "wakee")), (100, switch(9, 1, 0, "swapper/1"))]),
    ])
}

#[test]
fn changed_files_of_trace_cmd() {
    let mut files = corpus("trace_dat");
    files.push((PathBuf::from("short"), short()));
    hold(files, check_import::trace_dat, 1500, 20_000);
}

#[test]
fn changed_files_of_perf() {
    hold(corpus("perf_data"), check_import::perf_data, 1500, 20_000);
}

#[test]
fn changed_files_of_perfetto() {
    let events = recorder_files::events();
    let files = [false, true].map(|compressed| (PathBuf::from(format!("{compressed}")), perfetto(&events, compressed)));
    hold(files.into(), check_import::perfetto, 3000, 5_000);
}

#[test]
fn changed_text_traces() {
    let files = corpus("trace_text");
    assert!(files.len() >= 8, "the corpus has files");
    hold(files, check_import::text, 300, 20_000);
}

/// A line and a run of bytes that are never a line are not held as a whole.
#[test]
fn a_text_takes_no_more_memory_than_a_line() {
    let line = "  a-7 [000] d..2 1.5: sched_wakeup: comm=b pid=9 prio=120 target_cpu=001\n";
    let bytes = [line.as_bytes(), &b"x".repeat(1 << 24), b"\n", line.as_bytes()].concat();
    let memory = most_memory::begin();
    assert_eq!(check_import::text(&bytes), 2);
    let most = memory.most();
    assert!(most < 1 << 20, "{most} bytes");
}

/// A packet of about 100 KB inflates to 128 MiB of zeros.
#[test]
fn a_packet_that_inflates_without_end_is_refused() {
    let memory = most_memory::begin();
    assert_eq!(check_import::perfetto(&compressed_packet(io::repeat(0).take(1 << 27))), 0);
    let most = memory.most();
    assert!(most < 2 * MOST, "{most} bytes");
}
