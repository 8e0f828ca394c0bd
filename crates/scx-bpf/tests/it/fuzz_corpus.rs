//! Schedulers of the fuzz corpus, and changed ones made from them, on a compiler that has no fuzzer.

use wakelab_testing::changes::{change_binary, corpus, run, sum_of_changed};
use wakelab_testing::check_scheduler;

#[test]
fn schedulers_and_changed_ones_are_refused_or_their_runs_end() {
    let files = corpus("bpf_scheduler");
    for (path, bytes) in &files {
        assert!(run(check_scheduler::scheduler, bytes, &|| path.display().to_string()) > 1, "{}", path.display());
    }
    let sum = sum_of_changed(&files, check_scheduler::scheduler, 400, &|bytes, other, random| {
        change_binary(bytes, other, random)
    });
    // Changes that are refused at once would try little.
    assert!(sum > 2000, "{sum}");
}
