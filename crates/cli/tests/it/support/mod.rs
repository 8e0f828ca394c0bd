//! What several tests of the program look at.

pub mod page;

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::Output;

/// A workload that is over at once.
pub const SHORT_WORKLOAD: &str = r#"
[workload]
benchmark = "short"
case = "loop"
metric = "throughput"
unit = "loops/s"
better = "higher"
[[program]]
name = "loop"
ops = ["begin", {run = "1us"}, "done", {repeat = {to = 0, times = 100}}, "exit"]
[[task]]
name = "loop"
program = "loop"
"#;

/// Runs the program in a folder, with no result kept from before.
pub fn wakelab(folder: &Path, args: &[&str]) -> Output {
    let cache = tempfile::tempdir().expect("a folder");
    let mut command = Command::cargo_bin("wakelab").expect("the program");
    command.current_dir(folder).env("XDG_CACHE_HOME", cache.path()).args(args).output().expect("it runs")
}

/// What is in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}
