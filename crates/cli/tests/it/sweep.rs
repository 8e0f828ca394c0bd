//! `wakelab sweep`: its folder, what it refuses, and that its rows are what `wakelab compare` finds.

use crate::support::{names, wakelab};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;

const SWEEP: &str = r#"
repeats = 2
time = "10ms"
settle = "5ms"
runs_per_part = 3

[[grid]]
machine = "test-8c"
kernel = "v6.12"
sides = ["", "NO_SIS_UTIL"]
workload = [{ name = "netperf:TCP_RR", load = "4,16" }]
tunables = { migration_cost = [0, 500_000] }
"#;

fn folder(toml: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), toml).expect("a file");
    folder
}

fn sweep(folder: &Path, more: &[&str]) -> Output {
    wakelab(folder, &[&["sweep", "s.toml", "--no-cache"], more].concat())
}

fn done(folder: &Path, more: &[&str]) -> String {
    let done = sweep(folder, more);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

fn rows(out: &Path) -> Vec<Row> {
    let parts = names(out).into_iter().filter(|name| name.starts_with("part-"));
    let files = parts.map(|name| SerializedFileReader::new(File::open(out.join(name)).unwrap()).unwrap());
    files.flat_map(|file| file.get_row_iter(None).unwrap().collect::<Result<Vec<_>, _>>().unwrap()).collect()
}

fn column(row: &Row, name: &str) -> String {
    let (_, field) = row.get_column_iter().find(|(column, _)| *column == name).expect("the column is there");
    let text = field.to_string();
    text.trim_matches('"').to_owned()
}

#[test]
fn rows_are_the_runs_of_compare() {
    let folder = folder(SWEEP);
    let said = done(folder.path(), &["--out", "runs"]);
    assert_eq!(said, "16 runs of 8 points in runs, 6 parts\n");
    let rows = rows(&folder.path().join("runs"));
    assert_eq!(rows.len(), 16);
    for (side, cost, load) in [("", 0, "4"), ("", 500_000, "16"), ("NO_SIS_UTIL", 0, "16")] {
        let base = format!("{side}{}migration_cost={cost}", if side.is_empty() { "" } else { "," });
        let flags = ["--machine", "test-8c", "--kernel", "v6.12", "--workload", "netperf:TCP_RR", "--load", load];
        let times = ["--time", "10ms", "--settle", "5ms", "--repeat", "2", "--format", "json", "--no-cache"];
        let sides = ["--base", &base, "--with", "SIS_PROP"];
        let compared = wakelab(folder.path(), &[&["compare"], &flags[..], &times, &sides].concat());
        let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
        let values: Vec<f64> = serde_json::from_value(compared["rows"][0]["base"]["values"].clone()).unwrap();
        let is_it = |row: &&Row| {
            column(row, "side") == side
                && column(row, "tunable_migration_cost") == cost.to_string()
                && column(row, "load") == format!("{load} threads")
        };
        let found: Vec<f64> = rows.iter().filter(is_it).map(|row| column(row, "value").parse().unwrap()).collect();
        assert_eq!(found, values, "{base} {load}");
    }
}

#[test]
fn what_is_missing_or_damaged_is_made_again_and_nothing_else() {
    let folder = folder(SWEEP);
    let out = folder.path().join("runs");
    done(folder.path(), &["--out", "runs"]);
    let state = || -> Vec<(String, u64, Vec<u8>)> {
        let parts = names(&out).into_iter().filter(|name| name.starts_with("part-"));
        parts
            .map(|name| (fs::metadata(out.join(&name)).unwrap().ino(), fs::read(out.join(&name)).unwrap(), name))
            .map(|(inode, bytes, name)| (name, inode, bytes))
            .collect()
    };
    let before = state();
    // Not removed, so that no file that is made has its inode.
    fs::rename(out.join("part-000001.parquet"), folder.path().join("missing")).unwrap();
    fs::write(out.join("part-000003.parquet"), &before[3].2[..900]).unwrap();
    // What a program that was killed leaves.
    fs::write(out.join(".wakelab-abc"), "half").unwrap();
    let again = sweep(folder.path(), &["--out", "runs", "--jobs", "1"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("part-000003.parquet is not a complete part"), "{said}");
    let after = state();
    assert_eq!(names(&out).iter().filter(|name| name.starts_with('.')).count(), 0);
    assert_eq!(after.len(), before.len());
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!((&before.0, &before.2), (&after.0, &after.2));
        assert_eq!(before.1 == after.1, at != 1 && at != 3, "{}", before.0);
    }
    assert!(done(folder.path(), &["--out", "runs"]).starts_with("16 runs"));
    assert_eq!(state(), after);
}

#[test]
fn a_run_that_fails_is_a_row_and_a_warning() {
    let folder = folder(&SWEEP.replace("\"10ms\"", "\"1ns\""));
    let made = sweep(folder.path(), &["--out", "runs"]);
    assert!(made.status.success());
    assert!(String::from_utf8_lossy(&made.stderr).contains("16 runs of 16 failed"), "{made:?}");
    let rows = rows(&folder.path().join("runs"));
    assert!(rows.iter().all(|row| column(row, "error").contains("no transaction was done")));
    assert!(rows.iter().all(|row| column(row, "value") == "null"));
}

#[test]
fn a_folder_has_one_sweep_and_one_writer() {
    let folder = folder(SWEEP);
    let refused = |args: &[&str], expected: &str| {
        let made = sweep(folder.path(), args);
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert_eq!(made.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.contains("hint: "), "{said}");
    };
    done(folder.path(), &["--out", "runs"]);
    let lock = File::open(folder.path().join("runs/sweep.lock")).unwrap();
    lock.lock().unwrap();
    refused(&["--out", "runs"], "another wakelab is writing to it");
    drop(lock);
    fs::write(folder.path().join("s.toml"), SWEEP.replace("4,16", "4,8")).unwrap();
    refused(&["--out", "runs"], "it belongs to another sweep");
    refused(&["--out", "."], "it contains other files");
    refused(&["--out", "no/where"], "--out: no/where");
    let manifest = folder.path().join("runs/sweep.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace(env!("CARGO_PKG_VERSION"), "0.0.1")).unwrap();
    refused(&["--out", "runs"], "its runs were made by wakelab 0.0.1");
    let none = wakelab(folder.path(), &["sweep", "s.toml"]);
    assert_eq!(none.status.code(), Some(2));
    let engine = sweep(folder.path(), &["--out", "new", "--engine", "slurm"]);
    assert!(String::from_utf8_lossy(&engine.stderr).contains("expected local, ray"));
}
