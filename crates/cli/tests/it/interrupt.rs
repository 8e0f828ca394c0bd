//! Ctrl-C while a simulation runs.
#![cfg(target_os = "linux")]

use crate::support::{SHORT_WORKLOAD, names};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const HEAD: &str = "machine = \"test-2c\"\nkernel = \"v5.19-rc1\"\nsettle = \"0s\"\ntime = \"3600s\"\n\
                    [variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL\"\n";

/// Would take days to simulate.
const ENDLESS: &str = "[[workload]]\nname = \"netperf:TCP_RR\"\nload = \"2\"\n";

/// Runs `workloads` and sends SIGINT in the midst of the endless one.
fn interrupted(workloads: &[&str], args: &[&str]) -> (TempDir, Output) {
    ended_by("INT", workloads, args)
}

/// [`interrupted`] with another signal.
fn ended_by(signal: &str, workloads: &[&str], args: &[&str]) -> (TempDir, Output) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("short.toml"), SHORT_WORKLOAD).expect("a file");
    fs::write(folder.path().join("x.toml"), [&[HEAD], workloads].concat().concat()).expect("a file");
    // The tests may run under nohup or in the background of a script, where signals are ignored.
    let child = Command::new("env")
        .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_wakelab")])
        .current_dir(folder.path())
        .args(["run", "x.toml", "--jobs", "1", "--no-cache"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    until_it_simulates(&child);
    let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    (folder, child.wait_with_output().expect("it ends"))
}

/// Half a second of CPU time: reading input and the short workload take a few ms.
pub fn until_it_simulates(child: &Child) {
    const TICKS: u64 = 50;
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it lives");
        // What follows the name in brackets begins with field 3; utime is field 14.
        let (_, fields) = stat.rsplit_once(") ").unwrap_or_else(|| panic!("{stat}"));
        let mut fields = fields.split(' ');
        assert_ne!(fields.next(), Some("Z"), "it ended early");
        if fields.nth(10).and_then(|utime| utime.parse::<u64>().ok()) >= Some(TICKS) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn without_a_complete_row_nothing_is_printed_and_no_file_is_left() {
    let (folder, output) = interrupted(&[ENDLESS], &["--format", "json", "--out", "out.json"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted: 0 of 1 rows are complete\n");
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    assert_eq!(names(folder.path()), ["short.toml", "x.toml"]);
}

#[test]
fn complete_rows_are_printed_and_say_that_others_are_missing() {
    let short = "[[workload]]\nname = \"./short.toml\"\nload = \"1\"\n";
    let (_folder, output) = interrupted(&[short, ENDLESS], &["--format", "json"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "interrupted: 1 of 2 rows are complete\n");
    assert_eq!(output.status.code(), Some(130));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["complete"], false);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["rows"][0]["benchmark"], "short");
}

#[test]
fn events_of_whole_runs_stay_and_the_interrupted_run_leaves_none() {
    let short = "[[workload]]\nname = \"./short.toml\"\nload = \"1\"\n";
    let (folder, output) = interrupted(&[short, ENDLESS], &["--events", "events"]);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(names(&folder.path().join("events")), ["workload=.%2Fshort.toml"]);
    let (folder, output) = interrupted(&[ENDLESS], &["--events", "events"]);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(names(folder.path()), ["short.toml", "x.toml"]);
}

#[test]
fn other_signals_end_a_run_in_good_order_too() {
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let (folder, output) =
            ended_by(signal, &[ENDLESS], &["--out", "out", "--events", "ev", "--perfetto", "traces"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("interrupted: "), "{said}");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(names(folder.path()), ["short.toml", "x.toml"], "SIG{signal}");
    }
}

/// `ulimit -f`: SIGXFSZ does not end the program.
#[test]
fn a_file_over_the_limit_of_its_size_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/6.12-C-hb.csv.gz");
    let command =
        format!("ulimit -f 1; exec {} stats {} --html page.html", env!("CARGO_BIN_EXE_wakelab"), recording.display());
    let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("page.html was not written: File too large"), "{said}");
    assert!(names(folder.path()).is_empty());
}
