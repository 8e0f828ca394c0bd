//! `wakelab fit` as a user runs it, on a machine of two CPUs, and a comparison on what it wrote.

use crate::support::{names, wakelab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

const TOML: &str = "machine = \"test-2c\"\nkernel = \"v6.1\"\nwith = \"NO_SIS_UTIL\"\n[workloads]\n\
                    \"netperf,TCP_RR\" = \"netperf:TCP_RR\"\n";
const ROWS: &str = "benchmark,case,load,base,compare_pct,unit,idle_pct\nnetperf,TCP_RR,1,100,0,trans/s,20\n\
                    netperf,TCP_RR,2,150,0,trans/s,2\nnetperf,TCP_RR,4,155,0,trans/s,0\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("base.toml"), TOML).expect("a file");
    fs::write(folder.path().join("base.csv"), ROWS).expect("a file");
    folder
}

fn fit(folder: &Path, more: &[&str]) -> Output {
    let args = ["fit", "test-2c", "--observed", "base.toml", "--out", "mine.toml", "--budget", "60", "--ensemble", "2"];
    wakelab(folder, &[&args[..], more].concat())
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_machine_is_fitted_and_predicts_with_every_set_that_fits() {
    let folder = folder();
    let here = folder.path();
    let (text, errors) = said(&fit(here, &["--format", "json"]));
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"));
    let [middle, fitted] = ["middle", "fitted"].map(|which| report[which]["mean"].as_f64().expect("a misfit"));
    assert!(fitted < middle, "{fitted} and {middle}");
    assert_eq!(report["fitted"]["numbers"].as_array().map(Vec::len), Some(6), "a level and the idle time of each row");
    assert!(errors.contains("mine.toml: wrote the fitted machine"), "{errors}");

    let (shown, _) = said(&wakelab(here, &["machine", "show", "mine.toml"]));
    assert!(shown.contains("fitted to the base side of base (3 rows), 20") && shown.contains("Ensemble: "), "{shown}");
    let compare = ["compare", "--machine", "mine.toml", "--kernel", "v6.1", "--workload", "netperf:TCP_RR"];
    let sides = ["--load", "2", "--base", "SIS_UTIL", "--with", "NO_SIS_UTIL", "--settle", "20ms", "--time", "10ms"];
    let compare = |more: &[&str]| said(&wakelab(here, &[&compare[..], &sides, more].concat()));
    let (table, errors) = compare(&[]);
    assert!(table.contains("machines that look like this one"), "{table}{errors}");
    let (table, _) = compare(&["--ensemble", "0"]);
    assert!(!table.contains("machines that look like this one"), "{table}");
    let (csv, errors) = compare(&["--format", "csv"]);
    assert!(csv.lines().count() == 2 && errors.is_empty(), "a format without room has the comparison alone: {errors}");
    let json: Value = serde_json::from_str(&compare(&["--format", "json"]).0).expect("JSON");
    assert_eq!(json["sensitivity"]["method"], "ensemble");
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let wrong: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_cannot_be_fitted_is_refused_before_anything_is_simulated() {
    let folder = folder();
    let here = folder.path();
    let wrong = |args: &[&str], expected: &[&str]| {
        let output = wakelab(here, args);
        let errors = said(&output).1;
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        for text in expected {
            assert!(errors.contains(text), "{args:?}: expected {text:?}\n{errors}");
        }
    };
    let observed = ["--observed", "base.toml", "--out", "mine.toml"];
    wrong(&[&["fit", "test-8c"][..], &observed].concat(), &["no row was measured on test-8c", "test-2c", "hint: "]);
    wrong(&[&["fit", "test-2d"][..], &observed].concat(), &["test-2d", "test-2c"]);
    wrong(&[&["fit", "test-2c", "--budget", "3"][..], &observed].concat(), &["--budget", "60"]);
    wrong(&[&["fit", "test-2c", "--workload", "tbench:loopback"][..], &observed].concat(), &["netperf:TCP_RR"]);
    wrong(&["fit", "test-2c", "--observed", "none.toml", "--out", "mine.toml"], &["--observed", "none.toml"]);
    wrong(&["fit", "test-2c", "--observed", "base.toml", "--out", "base.toml"], &["base.toml"]);
    wrong(&["fit", "test-2c", "--observed", "base.toml"], &["--out"]);
    let compare =
        ["compare", "--machine", "test-2c", "--kernel", "v6.1", "--workload", "netperf:TCP_RR", "--load", "2"];
    let sides = ["--base", "SIS_UTIL", "--with", "NO_SIS_UTIL", "--ensemble", "3"];
    wrong(&[&compare[..], &sides].concat(), &["--ensemble: machine test-2c was not fitted", "wakelab fit"]);
    assert_eq!(names(here), ["base.csv", "base.toml"]);
}
