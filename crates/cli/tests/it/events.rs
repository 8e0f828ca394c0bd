//! `--events`: whole files or none, and the same bytes each time.
#![cfg(unix)]

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SMALL: [&str; 17] = [
    "compare",
    "--machine",
    "test-8c",
    "--kernel",
    "v5.19-rc1",
    "--workload",
    "netperf:TCP_RR",
    "--load",
    "4,16",
    "--base",
    "SIS_PROP",
    "--with",
    "SIS_UTIL",
    "--settle",
    "110ms",
    "--time",
    "10ms",
];

fn small(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::cargo_bin("wakelab").expect("the program");
    // Runs that an earlier test run has kept would be taken again, and said to be.
    let cache = tempfile::tempdir().expect("a folder");
    command.env("XDG_CACHE_HOME", cache.path()).current_dir(folder).args(SMALL).args(more).output().expect("it runs")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Every file under a folder, by its path there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("under it").to_str().expect("UTF-8").to_owned();
                found.insert(name, fs::read(&path).expect("the file"));
            }
        }
    }
    found
}

#[track_caller]
fn went_well(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
fn refused(output: &Output, code: i32, parts: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(output.stdout.is_empty());
    assert!(errors.starts_with("error: ") && errors.contains("hint: "), "{errors}");
    for part in parts {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_jobs_and_the_same_result_as_without() {
    let here = folder();
    let plain = went_well(&small(here.path(), &["--repeat", "2"]));
    for (events, jobs) in [("one", "1"), ("again", "1"), ("two", "2")] {
        let text = went_well(&small(here.path(), &["--repeat", "2", "--events", events, "--jobs", jobs]));
        assert_eq!(text, plain);
    }
    let one = files(&here.path().join("one"));
    let wakeups = "workload=netperf%3ATCP_RR/load=16%20threads/side=with/variant=SIS_UTIL/repeat=2/wakeups.parquet";
    assert!(one.get(wakeups).is_some_and(|bytes| bytes.len() > 10_000), "{:?}", one.keys());
    // Without the two tables of control groups and that of sched_ext, which such a run has none of.
    assert_eq!(one.len(), 2 * 2 * 2 * (wakelab_events::simulated::tables().len() - 3));
    assert!(files(&here.path().join("again")) == one, "the same jobs");
    assert!(files(&here.path().join("two")) == one, "two jobs");
    went_well(&small(here.path(), &["--repeat", "2", "--events", "other", "--seed", "2"]));
    assert!(files(&here.path().join("other")) != one, "another seed");
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_before_anything_is_simulated() {
    let here = folder();
    fs::create_dir(here.path().join("full")).expect("a folder");
    fs::write(here.path().join("full/notes"), "x").expect("a file");
    fs::write(here.path().join("file"), "x").expect("a file");
    for (name, parts) in [
        ("full", ["--events: full: the folder is not empty: it contains notes", "new or empty folder"]),
        ("file", ["--events: file: Not a directory", "new or empty folder"]),
        ("no/such", ["--events: no/such: No such file or directory", "in a folder that exists"]),
        ("/proc/self/fdinfo", ["--events: /proc/self/fdinfo: ", "new or empty folder"]),
        ("/sys/kernel/wakelab", ["--events: /sys/kernel/wakelab: ", "can be written"]),
    ] {
        // Would take hours.
        refused(&small(here.path(), &["--repeat", "10000", "--events", name]), 2, &parts);
    }
    assert_eq!(files(here.path()).into_keys().collect::<Vec<_>>(), ["file", "full/notes"]);
}

#[test]
fn a_folder_without_room_ends_the_run_with_one_error_and_no_file() {
    let here = folder();
    // A limit on the size of files fails as a full disk does; it is in blocks of 512 bytes or 1 KiB.
    let script = format!("trap '' XFSZ; ulimit -f 64; exec \"$0\" {} --jobs 1 --events events", SMALL.join(" "));
    let program = env!("CARGO_BIN_EXE_wakelab");
    let output = std::process::Command::new("sh").args(["-c", &script, program]).current_dir(here.path()).output();
    let output = output.expect("it runs");
    refused(&output, 1, &["SIS_PROP, repeat 1, seed ", "--events: ", "File too large", "room"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("error: ").count(), 1);
    assert!(!here.path().join("events").exists());
}

#[test]
fn ablation_is_not_recorded() {
    let mut command = Command::cargo_bin("wakelab").expect("the program");
    let output = command.args(["run", "x.toml", "--ablate", "--events", "x"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--events"));
}
