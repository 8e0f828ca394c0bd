//! Results that are kept, the control and the sensitivity, as a user asks for them.

use crate::support::wakelab;
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SMALL: &str = "compare --machine test-2c --kernel v5.19-rc1 --workload netperf:TCP_RR --load 2,4 --base SIS_PROP \
                     --with SIS_UTIL --settle 5ms --time 5ms";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn words(more: &str) -> Vec<String> {
    SMALL.split_whitespace().chain(more.split_whitespace()).map(str::to_owned).collect()
}

/// The small comparison, with results kept in `cache` beside it.
fn small(here: &Path, more: &str) -> Output {
    let mut command = Command::cargo_bin("wakelab").expect("the program");
    let own = if more.contains("--repeat") { "--cache cache" } else { "--cache cache --repeat 1" };
    command.current_dir(here).args(words(own)).args(more.split_whitespace()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[track_caller]
fn went_well(output: &Output) -> (String, String) {
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{errors}");
    (out, errors)
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&went_well(output).0).expect("JSON")
}

#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    let errors = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{errors}");
    parts.iter().for_each(|part| assert!(errors.contains(part), "{part}: {errors}"));
}

#[test]
fn a_repeated_comparison_is_taken_from_the_cache_byte_for_byte() {
    let here = folder();
    for format in ["json", "table", "csv", "lkml"] {
        fs::remove_dir_all(here.path().join("cache")).ok();
        let (first, said) = went_well(&small(here.path(), &format!("--format {format}")));
        assert_eq!(said, "");
        let (second, said) = went_well(&small(here.path(), &format!("--format {format}")));
        assert_eq!(said, "4 of 4 runs from cache; --fresh runs them again\n");
        assert_eq!(first, second, "{format}");
    }
}

#[test]
fn of_an_experiment_that_grew_only_what_is_new_is_run() {
    let here = folder();
    went_well(&small(here.path(), ""));
    assert_eq!(went_well(&small(here.path(), "--repeat 2")).1, "4 of 8 runs from cache; --fresh runs them again\n");
    assert_eq!(went_well(&small(here.path(), "--seed 2")).1, "");
}

#[test]
fn fresh_and_no_cache_make_every_run() {
    let here = folder();
    let (first, _) = went_well(&small(here.path(), "--format json"));
    assert_eq!(went_well(&small(here.path(), "--format json --fresh")), (first.clone(), String::new()));
    let args = words("--format json --no-cache --repeat 1");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(went_well(&wakelab(here.path(), &args)), (first, String::new()));
    refused(&small(here.path(), "--no-cache"), &["--no-cache", "--cache"]);
}

#[test]
fn a_broken_entry_is_a_warning_and_no_other_result() {
    let here = folder();
    let (first, _) = went_well(&small(here.path(), "--format json"));
    for entry in
        fs::read_dir(here.path().join("cache")).expect("the cache").map(|entry| entry.expect("an entry").path())
    {
        if entry.is_dir() {
            // Two of the four may begin with the same digits, and have one folder.
            for file in fs::read_dir(entry).expect("a folder") {
                fs::write(file.expect("an entry").path(), "no result").expect("it is written");
            }
        }
    }
    let (second, said) = went_well(&small(here.path(), "--format json"));
    assert_eq!(first, second);
    assert_eq!(said.matches("is not a complete result; the run is simulated again\n").count(), 4, "{said}");
}

#[test]
fn the_usual_folder_is_below_the_cache_home() {
    let (here, home) = (folder(), folder());
    let run = |name: &str| {
        let mut command = Command::cargo_bin("wakelab").expect("the program");
        command.current_dir(here.path()).env_remove("XDG_CACHE_HOME").env("HOME", home.path());
        command.env(name, home.path()).args(words("")).output().expect("it runs")
    };
    went_well(&run("HOME"));
    assert!(home.path().join(".cache/wakelab/CACHEDIR.TAG").exists());
    went_well(&run("XDG_CACHE_HOME"));
    assert!(home.path().join("wakelab/CACHEDIR.TAG").exists());
    // A folder that was named must do; the usual one need not.
    fs::write(here.path().join("cache"), "a file").expect("it is written");
    refused(&small(here.path(), ""), &["error: --cache: cache cannot be used as a cache: ", "hint: "]);
    fs::remove_dir_all(home.path().join("wakelab")).expect("it was there");
    fs::write(home.path().join("wakelab"), "a file").expect("it is written");
    let (_, said) = went_well(&run("XDG_CACHE_HOME"));
    assert!(said.starts_with("warning: results are not kept: "), "{said}");
}

#[test]
fn recorded_runs_are_always_made_and_none_is_kept() {
    let here = folder();
    went_well(&small(here.path(), ""));
    assert_eq!(went_well(&small(here.path(), "--events events")).1, "");
    assert!(here.path().join("events").exists());
    refused(&small(here.path(), "--events more --sensitivity"), &["--sensitivity"]);
    refused(&small(here.path(), "--events more --control"), &["--control"]);
}

#[test]
fn the_control_has_other_seeds_and_makes_only_those_runs() {
    let here = folder();
    let plain = json(&small(here.path(), "--format json --repeat 2"));
    assert_eq!(plain.get("control"), None);
    let output = small(here.path(), "--format json --repeat 2 --control");
    assert!(text(&output.stderr).starts_with("8 of 12 runs from"), "{}", text(&output.stderr));
    let value = json(&output);
    assert_eq!(value["rows"], plain["rows"]);
    for (row, control) in
        value["rows"].as_array().expect("rows").iter().zip(value["control"]["rows"].as_array().expect("rows"))
    {
        assert_eq!((&row["load"], &row["base"]["values"]), (&control["load"], &control["values"]));
        let seeds: Vec<&Value> =
            row["base"]["states"].as_array().expect("runs").iter().map(|run| &run["seed"]).collect();
        let others = control["other_seeds"].as_array().expect("seeds");
        assert!(others.len() == 2 && others.iter().all(|seed| !seeds.contains(&seed)), "{others:?}");
    }
    let (table, _) = went_well(&small(here.path(), "--repeat 2 --control"));
    assert!(table.contains("\nControl: the base side against itself with other seeds"), "{table}");
}

#[test]
fn a_sensitivity_has_a_verdict_for_each_row_and_a_greater_budget_goes_on() {
    let here = folder();
    let value = json(&small(here.path(), "--format json --sensitivity --budget 4"));
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let found = &value["sensitivity"];
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(found["constants"].as_array().map(Vec::len), value["assumed"].as_array().map(Vec::len));
    let output = small(here.path(), "--format json --sensitivity latin-hypercube --budget 6");
    assert!(text(&output.stderr).starts_with("20 of 28 runs from"), "{}", text(&output.stderr));
    let more = json(&output);
    let samples = |value: &Value| value["sensitivity"]["samples"].as_array().expect("samples").clone();
    assert_eq!(samples(&more)[..4], samples(&value)[..]);
    let (table, _) = went_well(&small(here.path(), "--sensitivity --budget 6"));
    assert!(table.contains("\nSensitivity: 6 samples with "), "{table}");
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_its_flag() {
    let here = folder();
    refused(&small(here.path(), "--budget 4"), &["--sensitivity"]);
    refused(&small(here.path(), "--sensitivity one-at-a-time --budget 4"), &["--budget: 4 is too few; expected "]);
    refused(&small(here.path(), "--sensitivity often"), &["often", "latin-hypercube", "one-at-a-time"]);
    refused(&small(here.path(), "--sensitivity --format csv"), &["--format: --sensitivity prints no CSV"]);
    refused(&small(here.path(), "--control --format csv"), &["--format: --control prints no CSV"]);
    assert!(!here.path().join("cache").exists());
}
