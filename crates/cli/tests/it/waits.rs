//! `waits`: the numbers of `stats`, why tasks waited, and what it says where nothing is known.

use crate::support::page::Page;
use crate::support::wakelab;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sis-prop-6.1")
}

/// Events of both sides of a run in which groups of tasks wait for each other, and settle first.
fn events(folder: &Path) {
    let args = "compare --machine test-2llc --kernel v6.12 --workload hackbench:process-pipe --load 1 --base SIS_UTIL \
        --with NO_SIS_UTIL --settle 2ms --time 15ms --events ev --quiet";
    let output = wakelab(folder, &args.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[track_caller]
fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// Of all waits, whatever their length, the causes are parts, and their number and sum are those of `stats`.
#[track_caller]
fn adds_up(run: &Value, stats: &Value) {
    for key in ["kind", "kernel", "machine", "workload", "variant", "runs", "unseen"] {
        assert_eq!(run[key], stats[key], "{key}");
    }
    assert_eq!(run["wait_ns"], stats["wait_ns"], "{}", run["variant"]);
    let (long, spent) = (&run["long"], &run["spent"]);
    let waits = [&run["wait_ns"], &run["preempted_ns"]];
    assert_eq!(whole(&long["n"]), waits.iter().map(|of| whole(&of["n"])).sum::<u64>());
    let sum: f64 = waits.iter().map(|of| of["mean"].as_f64().unwrap_or(0.0) * whole(&of["n"]) as f64).sum();
    assert!((sum - whole(&long["ns"]) as f64).abs() < 1.0, "{sum} and {long}");
    let causes = long["causes"].as_object().expect("causes");
    let parts: u64 = causes.values().map(|of| whole(&of["ns"])).sum();
    assert_eq!(parts, whole(&long["ns"]));
    let spent_ns: u64 = ["before_ns", "behind_ns", "idle_ns", "unknown_ns"].iter().map(|key| whole(&spent[*key])).sum();
    assert_eq!(spent_ns, whole(&long["ns"]));
    let of_names: u64 = run["behind"].as_array().expect("names").iter().map(|of| whole(&of["ns"])).sum();
    assert_eq!(of_names, whole(&spent["behind_ns"]), "each ns behind a task is behind one of a name");
    let of_cpus: u64 = run["cpu"].as_array().expect("CPUs").iter().map(|of| whole(&of["ns"])).sum();
    assert_eq!(of_cpus, whole(&long["ns"]));
    for slow in run["slowest"].as_array().expect("waits") {
        let ran: u64 = slow["ran"].as_array().expect("a list").iter().map(|ran| whole(&ran["ns"])).sum();
        let spent = &slow["spent"];
        let expected = whole(&slow["wait_ns"]) - whole(&spent["before_ns"]);
        let found = ran + whole(&slow["others"]["ns"]);
        // What ran is not known where the queue is not.
        assert!(found == expected || (found < expected && slow["adrift"] == true), "{slow}");
        assert!(whole(&slow["idle_meanwhile"]["llc_ns"]) <= whole(&slow["idle_meanwhile"]["all_ns"]), "{slow}");
        assert!(whole(&slow["idle_meanwhile"]["all_ns"]) <= expected, "{slow}");
    }
}

#[test]
fn waits_are_those_of_stats_and_their_parts_add_up() {
    let here = tempfile::tempdir().expect("a folder");
    events(here.path());
    let args = ["waits", "ev", "--over", "0s", "--by", "cpu", "--slowest", "1000", "--format", "json"];
    let waits = json(&wakelab(here.path(), &args));
    let stats = json(&wakelab(here.path(), &["stats", "ev", "--format", "json"]));
    let (waits, stats) = (waits["runs"].as_array().expect("runs"), stats["runs"].as_array().expect("runs"));
    assert_eq!((waits.len(), stats.len()), (2, 2));
    for (run, stats) in waits.iter().zip(stats) {
        adds_up(run, stats);
        assert_eq!((&run["dropped"], &run["spent"]["unknown_ns"]), (&0.into(), &0.into()), "all is known");
        assert_eq!(run["unknown_affinity"], 0);
        let slowest = run["slowest"].as_array().expect("waits");
        let longest = whole(&run["wait_ns"]["max"]).max(whole(&run["preempted_ns"]["max"]));
        assert_eq!(whole(&slowest[0]["wait_ns"]), longest);
        assert!(slowest.iter().any(|slow| slow["began"]["reason"].is_string()));
    }
}

#[test]
fn waits_of_a_recording_are_those_of_stats_and_their_parts_add_up() {
    let args = ["waits", ".", "--over", "0s", "--by", "cpu", "--slowest", "2000", "--format", "json"];
    let waits = json(&wakelab(&recording(), &args));
    let stats = json(&wakelab(&recording(), &["stats", ".", "--format", "json"]));
    adds_up(&waits["runs"][0], &stats["runs"][0]);
}

#[test]
fn text_and_page_say_the_same() {
    let here = tempfile::tempdir().expect("a folder");
    let path = recording();
    let path = path.to_str().expect("UTF-8");
    let args = ["waits", path, "--over", "100us", "--slowest", "3", "--by", "comm", "--html", "page.html"];
    let output = wakelab(here.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for part in ["% of waiting in waits of 100 us and longer was ", "; ", "Behind whom", "  meanwhile: ", "By name of"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = json(&wakelab(here.path(), &["waits", path, "--over", "100us", "--format", "json"]));
    let long = &json["runs"][0]["long"];
    let page = Page::read(&here.path().join("page.html"));
    let rows = page.rows("causes-1");
    assert_eq!(rows.len(), long["causes"].as_object().expect("causes").len());
    for row in &rows {
        let of = &long["causes"][row.text("Cause").as_str()];
        assert_eq!((row.number("Waits") as u64, row.number("Sum")), (whole(&of["n"]), whole(&of["ns"]) as f64 / 1e6));
    }
    let drawn: f64 = page.rows("causes-chart").iter().map(|row| row.number("sum_ms")).sum();
    assert!((drawn - whole(&long["ns"]) as f64 / 1e6).abs() < 1e-6, "{drawn}");
}

#[test]
fn what_has_no_switches_and_what_is_not_there_is_refused() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    for (file, expected) in [
        ("6.12-C-hb.csv.gz", ["6.12-C-hb.csv.gz: expected context switches", "record with wakelab-record"]),
        ("none.csv", ["none.csv: No such file", "hint: "]),
    ] {
        let output = wakelab(&recordings, &["waits", file]);
        let errors = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{errors}");
        assert!(expected.iter().all(|part| errors.contains(part)), "{errors}");
    }
    let here = tempfile::tempdir().expect("a folder");
    let output = wakelab(here.path(), &["waits", recording().to_str().expect("UTF-8"), "--over", "1000s"]);
    assert!(text(&output.stdout).contains("No wait of 1,000 s or longer: --over selects"), "{}", text(&output.stdout));
}
