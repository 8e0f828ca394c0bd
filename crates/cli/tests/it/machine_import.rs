//! `wakelab machine import` as a user runs it.

use std::fs;
use std::process::Output;

use crate::support::wakelab;
use tempfile::TempDir;
use wakelab_testing::sysfs::Sysfs;

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A tree of a test's own.
pub fn tree(name: &str) -> TempDir {
    Sysfs::of(name).unpacked()
}

/// A folder whose `machines/mine.toml` was imported from a tree.
fn imported(tree: &str) -> (TempDir, Output) {
    let sys = Sysfs::of(tree).unpacked();
    let output = wakelab(sys.path(), &["machine", "import", "--sysfs", ".", "--name", "mine"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("machines")).expect("a folder");
    fs::write(folder.path().join("machines/mine.toml"), &output.stdout).expect("a file");
    (folder, output)
}

const SHORT: [&str; 16] = [
    "compare",
    "--machine",
    "mine",
    "--kernel",
    "v5.19-rc1",
    "--workload",
    "netperf:TCP_RR",
    "--load",
    "4",
    "--base",
    "SIS_PROP",
    "--with",
    "SIS_UTIL",
    "--settle",
    "110ms",
    "--time=20ms",
];

#[test]
fn an_imported_machine_is_found_by_its_name_shown_and_run() {
    let (folder, output) = imported("zen-ccx");
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).starts_with("# Written by `wakelab machine import`.\n\nname = \"mine\"\n"));
    let shown = wakelab(folder.path(), &["machine", "show", "mine"]);
    assert!(stdout(&shown).contains("16 CPUs, 8 cores, 4 LLCs"), "{}{}", stdout(&shown), stderr(&shown));
    let by_path = wakelab(folder.path(), &["machine", "show", "machines/mine.toml"]);
    assert_eq!(stdout(&by_path), stdout(&shown));
    let compared = wakelab(folder.path(), &SHORT);
    assert_eq!(compared.status.code(), Some(0), "{}", stderr(&compared));
}

#[test]
fn what_a_reader_should_know_is_on_stderr_and_in_the_file() {
    let (_, output) = imported("holes");
    let note = "CPUs 2,9 are offline and left out";
    assert!(stderr(&output).contains(&format!("note: {note}\n")), "{}", stderr(&output));
    assert!(stdout(&output).contains(&format!("# {note}\n")), "{}", stdout(&output));
}

#[test]
fn a_machine_of_unequal_cpus_is_imported_and_simulated() {
    for tree in ["hybrid", "phone"] {
        let (folder, _) = imported(tree);
        let compared = wakelab(folder.path(), &SHORT);
        assert_eq!(compared.status.code(), Some(0), "{tree}: {}", stderr(&compared));
    }
}

#[test]
fn a_tree_that_contradicts_itself_is_one_error_and_no_output() {
    let sys = Sysfs::of("zen-ccx").with("node/node1/distance", "12").unpacked();
    let output = wakelab(sys.path(), &["machine", "import", "--sysfs", "."]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    let message = stderr(&output);
    let start = "error: ./devices/system/node/node1/distance: has 1 distances; expected 2, one for each of nodes 0-1\n";
    assert!(message.starts_with(start) && message.lines().count() == 2, "{message}");
    assert!(message.contains("\n  hint: "), "{message}");
}

#[test]
fn a_folder_that_is_not_there_or_a_wrong_name_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = wakelab(folder.path(), &["machine", "import", "--sysfs", "nowhere"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("nowhere/devices/system/cpu: the folder is missing"), "{}", stderr(&output));
    let output = wakelab(folder.path(), &["machine", "import", "--name", "a/b"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).starts_with("error: --name: expected a name of letters"), "{}", stderr(&output));
}

#[test]
fn the_machine_that_this_runs_on_is_imported_or_the_error_names_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = wakelab(folder.path(), &["machine", "import"]);
    match output.status.code() {
        Some(0) => {
            fs::write(folder.path().join("here.toml"), &output.stdout).expect("a file");
            let shown = wakelab(folder.path(), &["machine", "show", "here.toml"]);
            assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
        }
        code => {
            assert_eq!((code, stdout(&output).as_str()), (Some(2), ""));
            assert!(stderr(&output).starts_with("error: /sys/devices/"), "{}", stderr(&output));
        }
    }
}
