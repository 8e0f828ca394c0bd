//! `wakelab capture` and `wakelab whatif`: what they write, what they refuse, and what they say of it.

use crate::support::wakelab;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sis-prop-6.1");
const CSV: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/recordings/6.12-C-hb.csv.gz");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A run of pairs that is written to `run`; returns the folder of its base side.
fn run(folder: &Path) -> PathBuf {
    let compare = "compare --machine test-8c --kernel v6.1 --workload netperf:TCP_RR --load 3 --base SIS_UTIL \
                   --with NO_SIS_UTIL --time 30ms --settle 70ms --repeat 1 --no-cache --events run";
    let output = wakelab(folder, &compare.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder.join("run/workload=netperf%3ATCP_RR/load=3%20threads/side=base")
}

fn whatif(folder: &Path, recording: &Path, more: &[&str]) -> Output {
    let args = ["whatif", recording.to_str().expect("UTF-8"), "--no-cache", "--repeat", "1"];
    wakelab(folder, &[&args[..], more].concat())
}

#[test]
fn a_captured_run_is_compared_under_its_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = run(folder.path());
    let more =
        ["--with", "NO_SIS_UTIL", "--time", "30ms", "--settle", "70ms", "--format", "json", "--workload", "c.toml"];
    let output = whatif(folder.path(), &recording, &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["fidelity"]["verdict"], "faithful", "{:#}", json["fidelity"]);
    assert_eq!(json["capture"]["load"], 3);
    assert_eq!(json["capture"]["groups"][0]["cycles"], true);
    let row = &json["comparisons"][0]["rows"][0];
    assert_eq!(row["load"], "3 groups");
    assert!(row["base"]["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{row:#}");

    // The other side of the run is what came out.
    let with = recording.with_file_name("side=with");
    let more =
        ["--with", "NO_SIS_UTIL", "--time", "30ms", "--settle", "70ms", "--came-out", with.to_str().expect("UTF-8")];
    let output = whatif(folder.path(), &recording, &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The answer first, on one screen.
    let short = text(&output.stdout);
    assert!(short.starts_with("verdict: ") && short.lines().count() <= 40, "{short}");
    assert!(short.contains("likeness to the recording: faithful") && short.contains("came out"), "{short}");
    let output = whatif(folder.path(), &recording, &[&more[..], &["--details"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = folder.path().join("page.html");
    let html = whatif(folder.path(), &recording, &[&more[..], &["--html", "page.html"]].concat());
    assert!(html.status.success(), "{}", text(&html.stderr));
    let page = fs::read_to_string(page).expect("a page");
    for expected in ["How like the recording it is", "Predicted for NO_SIS_UTIL", "Came out", "Verdict: faithful"] {
        assert!(page.contains(expected), "{expected}");
    }
    let shown = text(&output.stdout);
    let (_, prediction) = shown.split_once("NO_SIS_UTIL  ").expect("a table of the prediction");
    let (prediction, _) = prediction.split_once("\n\n").expect("its end");
    assert!(prediction.lines().next().is_some_and(|head| head.contains("came out")), "{prediction}");
    let alike = |word: &str| prediction.lines().filter(|line| line.ends_with(word)).count();
    assert!(alike("faithful") >= 10 && alike(" not") == 0, "{prediction}");
    let twice = [&more[..], &["--came-out", "elsewhere"]].concat();
    let output = whatif(folder.path(), &recording, &twice);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("for each of the 1 sides"), "{}", text(&output.stderr));

    // The same load on half of the CPUs: each is busier.
    let more = ["--to-machine", "intel-kaby-lake-4c8t", "--time", "30ms", "--settle", "70ms", "--format", "json"];
    let output = whatif(folder.path(), &recording, &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let elsewhere: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(elsewhere["predictions"][0]["side"], "intel-kaby-lake-4c8t");
    let row = &elsewhere["comparisons"][0]["rows"][0];
    assert!(row["with"]["mean"].as_f64().is_some_and(|mean| mean > 0.0), "{row:#}");
    let none = whatif(folder.path(), &recording, &["--to-machine", "kaby-lake"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("--to-machine"), "{}", text(&none.stderr));

    let args = ["capture", recording.to_str().expect("UTF-8"), "-o", "d.toml", "--rt-app", "d.json"];
    assert!(wakelab(folder.path(), &args).status.success());
    let shown = wakelab(folder.path(), &["workload", "show", "./d.json"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("netserver"), "{}", text(&shown.stdout));

    // What it wrote is a workload like any other.
    let shown = wakelab(folder.path(), &["workload", "show", "./c.toml"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("on average, as recorded"), "{}", text(&shown.stdout));
}

#[test]
fn a_recording_of_a_kernel_is_captured() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["capture", DATA, "-o", "c.toml", "--rt-app", "c.json", "--machine", "test-8c"];
    let output = wakelab(folder.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("hackbench"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("tasks fork in every round"), "{}", text(&output.stderr));
    let shown = wakelab(folder.path(), &["workload", "show", "./c.toml"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
}

#[test]
fn what_cannot_be_captured_is_refused_with_the_next_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |args: &[&str]| {
        let output = wakelab(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    let csv = refused(&["capture", CSV, "-o", "c.toml"]);
    assert!(csv.contains("no switches") && csv.contains("hint: "), "{csv}");
    let decisions = format!("{DATA}/decisions-00001.parquet");
    let alone = refused(&["capture", &decisions, "-o", "c.toml"]);
    assert!(alone.contains("no switches") && alone.contains("whole folder"), "{alone}");
    let no_machine = refused(&["whatif", DATA, "--with", "NO_SIS_UTIL"]);
    assert!(no_machine.contains("--machine") && no_machine.contains("hint: "), "{no_machine}");
    let no_feature = refused(&["whatif", DATA, "--machine", "test-8c", "--with", "SIS_UTYL"]);
    assert!(no_feature.contains("SIS_UTIL"), "{no_feature}");
    let scale = refused(&["whatif", DATA, "--machine", "test-8c", "--scale", "0"]);
    assert!(scale.contains("--scale"), "{scale}");
    let window = refused(&["capture", DATA, "-o", "c.toml", "--from", "1h"]);
    assert!(window.contains("--from") || window.contains("window"), "{window}");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is written");
}

/// A trace of the fuzz corpus, imported to `o`.
fn imported(folder: &Path, name: &str) -> Output {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let output = wakelab(folder, &["import", trace.to_str().expect("UTF-8"), "-o", "o"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

#[test]
fn a_burst_after_each_expiry_of_a_timer_is_simulated_as_often_as_it_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    imported(folder.path(), "capture/burst.txt");
    let more = ["--machine", "test-2c", "--kernel", "v6.12", "--with", "NO_SIS_UTIL", "--anyway", "--format", "json"];
    let output = whatif(folder.path(), Path::new("o"), &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for quantity in ["wake-ups", "busy, mean of CPUs"] {
        let rows = json["fidelity"]["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["quantity"] == quantity).expect("a row");
        let [recorded, simulated] = ["recorded", "simulated"].map(|side| row[side].as_f64().expect("a number"));
        assert!((recorded - simulated).abs() <= 0.3 * recorded.max(1.0), "{row}");
    }
    let output = wakelab(folder.path(), &["capture", "o", "-o", "c.toml"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("\ncheck: recorded "), "{shown}");
    assert!(!text(&output.stderr).contains("more or less than was recorded"), "{}", text(&output.stderr));
}

#[test]
fn a_machine_that_is_smaller_than_the_recording_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    imported(folder.path(), "capture/burst.txt");
    let capture = wakelab(folder.path(), &["capture", "o", "-o", "c.toml", "--machine", "test-1c"]);
    let whatif = whatif(folder.path(), Path::new("o"), &["--machine", "test-1c", "--kernel", "v6.12"]);
    for output in [capture, whatif] {
        assert_eq!(output.status.code(), Some(2));
        let error = text(&output.stderr);
        assert!(error.contains("the recording has CPU 1, test-1c has one CPU"), "{error}");
    }
    assert!(!folder.path().join("c.toml").exists());
}

#[test]
fn an_import_says_what_is_wrong_with_lines_by_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = text(&imported(folder.path(), "trace_text/cut.txt").stderr);
    for expected in [
        "1 sched_switch line ends in \">\": cut by a pager; write the text to a file: perf script > file (line 2 of ",
        "1 sched_switch line ends before its last field: cut",
        "no sched_switch could be read, so no wait is known",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
