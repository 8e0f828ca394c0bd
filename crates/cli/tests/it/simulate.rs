//! `run` and `compare` as a user runs them, on small machines for short times.

use crate::support::{names, wakelab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SMALL: [&str; 16] = [
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
    "20ms",
];

fn small(folder: &Path, more: &[&str]) -> Output {
    wakelab(folder, &[&["compare"], &SMALL[..], more].concat())
}

/// What was printed by a command that went well and said nothing else.
#[track_caller]
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn every_format_says_simulated_and_has_every_row() {
    let here = folder();
    for format in ["table", "lkml", "json", "csv"] {
        let text = printed(&small(here.path(), &["--format", format]));
        assert!(text.contains("simulated"), "{format}: {text}");
        assert!(text.contains("4 threads") && text.contains("16 threads"), "{format}: {text}");
        assert!(!text.contains('\u{1b}'), "{format}: {text}");
    }
    assert!(printed(&small(here.path(), &[])).starts_with("compare: simulated by wakelab"));
}

#[test]
fn json_of_a_run_fits_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    for (repeat, regret) in [("1", &[][..]), ("2", &[]), ("1", &["--regret"])] {
        let args = [&["--format", "json", "--repeat", repeat], regret].concat();
        let text = printed(&small(folder().path(), &args));
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let row = &value["rows"][1];
        assert_eq!(row["load"], "16 threads");
        assert!(row["base"]["search"]["sis_domain_search"].as_u64() > Some(100), "{row:#}");
        assert_eq!(row["ci95"].is_null(), repeat == "1", "{row:#}");
        let enough = row["with"]["regret"]["enough"].as_array().map(Vec::len);
        assert_eq!(enough, (!regret.is_empty()).then_some(12), "{row:#}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_any_number_of_jobs() {
    let here = folder();
    let json = |more: &[&str]| printed(&small(here.path(), &[&["--format", "json", "--repeat", "3"], more].concat()));
    let one = json(&["--jobs", "1"]);
    assert_eq!(json(&["--jobs", "1"]), one);
    assert_eq!(json(&["--jobs", "4"]), one);
    assert_eq!(json(&["--seed", "1"]), one);
    assert_ne!(json(&["--seed", "2"]), one);
}

#[test]
fn an_output_file_has_what_stdout_would_have_and_nothing_lies_beside_it() {
    let here = folder();
    fs::write(here.path().join("out.csv"), "old").expect("a file");
    let text = printed(&small(here.path(), &["--format", "csv"]));
    assert_eq!(printed(&small(here.path(), &["--format", "csv", "--out", "out.csv"])), "");
    assert_eq!(fs::read_to_string(here.path().join("out.csv")).expect("the file"), text);
    assert_eq!(names(here.path()), ["out.csv"]);
}

/// The reader of a pipe must not take the check beforehand for the end.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let here = folder();
    let pipe = here.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).expect("UTF-8")
    });
    assert_eq!(printed(&small(here.path(), &["--format", "csv", "--out", "pipe"])), "");
    assert_eq!(reader.join().expect("text"), printed(&small(here.path(), &["--format", "csv"])));
    assert!(fs::metadata(&pipe).expect("the pipe").file_type().is_fifo());
}

/// A link names where the file is to be, and stays.
#[cfg(unix)]
#[test]
fn a_link_stays_and_the_file_it_names_is_replaced() {
    let here = folder();
    fs::create_dir(here.path().join("results")).expect("a folder");
    fs::write(here.path().join("results/1.csv"), "old").expect("a file");
    std::os::unix::fs::symlink("results/1.csv", here.path().join("last.csv")).expect("a link");
    assert_eq!(printed(&small(here.path(), &["--format", "csv", "--out", "last.csv"])), "");
    assert!(fs::symlink_metadata(here.path().join("last.csv")).expect("the link").is_symlink());
    assert!(fs::read_to_string(here.path().join("results/1.csv")).expect("the file").starts_with("benchmark,"));
    assert_eq!(names(&here.path().join("results")), ["1.csv"]);
}

#[test]
fn a_file_runs_as_its_flags_would_and_flags_come_before_it() {
    let here = folder();
    let file = "name = \"compare\"\nmachine = \"test-8c\"\nkernel = \"v5.19-rc1\"\nsettle = \"110ms\"\ntime = \
        \"20ms\"\n\
                repeats = 2\nseed = 7\n[[workload]]\nname = \"netperf:TCP_RR\"\nload = \"4,16\"\n\
                [variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL\"\n";
    fs::write(here.path().join("x.toml"), file).expect("a file");
    let run = |more: &[&str]| printed(&wakelab(here.path(), &[&["run", "x.toml", "--format", "json"], more].concat()));
    let compare = |more: &[&str]| printed(&small(here.path(), &[&["--format", "json"], more].concat()));
    assert_eq!(run(&[]), compare(&["--repeat", "2", "--seed", "7"]));
    assert_eq!(run(&["--repeat", "3", "--seed", "3"]), compare(&["--seed", "3"]), "three repeats if none is given");
}

#[test]
fn published_numbers_of_a_row_stand_beside_it() {
    let here = folder();
    let published = "benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct\n\
                     netperf,TCP_RR,16 threads,throughput,0.5,-12.34,5.67\n";
    fs::write(here.path().join("published.csv"), published).expect("a file");
    let file = "machine = \"test-8c\"\nkernel = \"v5.19-rc1\"\nsettle = \"110ms\"\ntime = \"20ms\"\n\
                [[workload]]\nname = \"netperf:TCP_RR\"\nload = \"4,16\"\n\
                [variants]\nbase = \"\"\nwith = \"SIS_UTIL\"\n[published]\nresults = \"published.csv\"\n";
    fs::write(here.path().join("x.toml"), file).expect("a file");
    let text = printed(&wakelab(here.path(), &["run", "x.toml"]));
    let line = |load| text.lines().find(|line| line.contains(load)).unwrap_or_default();
    assert!(line("16 threads").ends_with("  -12.34 (5.67)"), "{text}");
    assert!(line(" 4 threads").ends_with("  n/a"), "{text}");
}

/// Each task waits for a message that the other sends only after it has one itself.
#[test]
fn a_deadlock_ends_with_1_and_who_waits_for_what() {
    let here = folder();
    let file = r#"
[workload]
benchmark = "stuck"
case = "pair"
metric = "throughput"
unit = "trans/s"
better = "higher"
[[channel]]
name = "there"
capacity = 1
[[channel]]
name = "back"
capacity = 1
[[program]]
name = "left"
ops = [{run = "1us"}, {recv = "there"}, "begin", {send = "back"}, "done", {repeat = {to = 0}}]
[[program]]
name = "right"
ops = [{run = "1us"}, {recv = "back"}, {send = "there"}, {repeat = {to = 0}}]
[[task]]
name = "left"
program = "left"
[[task]]
name = "right"
program = "right"
"#;
    fs::write(here.path().join("stuck.toml"), file).expect("a file");
    let args = ["compare", "--machine", "test-2c", "--kernel", "v5.19-rc1", "--workload", "stuck.toml", "--load", "1"];
    let sides = ["--base", "SIS_PROP", "--with", "SIS_UTIL", "--out", "out"];
    let output = wakelab(here.path(), &[&args[..], &sides].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for part in ["error: ", "test-2c v5.19-rc1 SIS_PROP, repeat 1, seed ", "deadlock at ", "there", "back"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert!(output.stdout.is_empty());
    assert_eq!(names(here.path()), ["stuck.toml"]);
}

#[test]
fn regret_stands_under_the_comparison_and_only_where_it_has_a_place() {
    let here = folder();
    let without = printed(&small(here.path(), &["--repeat", "1"]));
    let with = printed(&small(here.path(), &["--regret", "--repeat", "1"]));
    let (before, after) = with.split_once("\nRegret: ").expect("a table of regret");
    assert!(without.starts_with(before), "all else is as it was");
    assert!(with.contains("\nverdict: none, as one run per side cannot tell"), "{with}");
    for title in ["How many looks would have been enough", "Was an idle CPU worth having", "state that was kept"] {
        assert!(after.contains(title), "{title}: {after}");
    }
    assert!(with.lines().all(|line| line.chars().count() <= 110), "{with}");
    for format in ["lkml", "csv"] {
        let refused = small(here.path(), &["--regret", "--format", format]);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2));
        assert!(errors.contains("--regret prints a table or JSON"), "{errors}");
    }
}

#[test]
fn a_page_has_what_the_table_has_and_needs_nothing_else() {
    let here = folder();
    let table = printed(&small(here.path(), &[]));
    assert_eq!(printed(&small(here.path(), &["--html", "page.html"])), table);
    let page = fs::read_to_string(here.path().join("page.html")).expect("the page");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "it is whole");
    for part in ["<span>compare</span>", "<span>page.html</span>", "simulated", "dom_eff", "test-"] {
        assert!(page.contains(part), "{part}");
    }
    let refused = small(here.path(), &["--html", "nowhere/page.html"]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && errors.contains("--html: nowhere/page.html cannot be written"),
        "{errors}"
    );
    assert!(
        names(here.path()).contains(&"page.html".to_owned()) && !names(here.path()).contains(&"nowhere".to_owned())
    );
}
