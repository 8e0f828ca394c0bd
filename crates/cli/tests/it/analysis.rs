//! `stats`, `replay` and `explain` on recordings and on simulated events.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

fn wakelab(folder: &Path, args: &[&str]) -> Output {
    assert_cmd::Command::new(env!("CARGO_BIN_EXE_wakelab")).current_dir(folder).args(args).output().expect("it runs")
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn statistics_of_a_recording_are_those_of_its_decisions() {
    let stats = json(&wakelab(&recordings(), &["stats", "6.12-C-hb.csv.gz", "--by", "cpu", "--format", "json"]));
    let conform = json(&wakelab(&recordings(), &["conform", "6.12-C-hb.csv.gz", "--format", "json"]));
    let run = &stats["runs"][0];
    for key in ["sis_search", "sis_domain_search", "sis_scanned", "sis_failed"] {
        assert_eq!(run["search"][key], conform["search"]["recorded"][key], "{key}");
    }
    let rows = conform["total"]["rows"].as_u64().unwrap() + conform["unstable"].as_u64().unwrap();
    assert_eq!(run["wakeups"], rows);
    assert_eq!(run["wait_ns"], Value::Null, "a CSV recording has no switches");
    let by_cpu: u64 = run["cpu"].as_array().unwrap().iter().map(|cpu| cpu["wakeups"].as_u64().unwrap()).sum();
    assert_eq!(by_cpu, rows);
}

/// The lines of CSV, each with its cells by column.
fn csv(output: &Output) -> Vec<BTreeMap<String, String>> {
    assert_eq!(text(&output.stderr), "");
    csv::Reader::from_reader(&output.stdout[..]).deserialize().map(|line| line.expect("CSV")).collect()
}

#[test]
fn csv_has_the_numbers_of_json() {
    let of = |args: &[&str], format: &str| wakelab(&recordings(), &[args, &["--format", format]].concat());
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);

    let stats = ["stats", "6.12-C-hb.csv.gz", "--by", "cpu,comm"];
    let (lines, run) = (csv(&of(&stats, "csv")), json(&of(&stats, "json"))["runs"][0].clone());
    let parts = |by: &str| run[by].as_array().unwrap().clone();
    assert_eq!(lines.len(), 1 + parts("cpu").len() + parts("comm").len());
    for (line, counted) in lines.iter().zip([run.clone()].into_iter().chain(parts("cpu")).chain(parts("comm"))) {
        assert_eq!(line["name"], counted["name"].as_str().unwrap_or(""));
        for column in ["wakeups", "moved", "moved_of", "other_llc"] {
            assert_eq!(line[column], cell(&counted[column]), "{column}: {line:?}");
        }
        for column in ["sis_search", "sis_scanned", "sis_failed"] {
            assert_eq!(line[column], cell(&counted["search"][column]), "{column}: {line:?}");
        }
        assert_eq!(line["wait_p99_ns"], "", "a CSV recording has no switches");
        for (reason, n) in counted["reasons"].as_object().unwrap() {
            assert_eq!(line[&format!("reason_{reason}")], n.to_string(), "{reason}: {line:?}");
        }
    }

    let explain = ["explain", "6.12-C-hb.csv.gz", "--limit", "20"];
    let (lines, objects) = (csv(&of(&explain, "csv")), text(&of(&explain, "json").stdout));
    let objects: Vec<Value> = objects.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines.len(), objects.len()), (20, 20));
    for (line, object) in lines.iter().zip(&objects) {
        for column in ["row", "line", "t_ns", "kernel", "flags", "reason", "cpu", "kernel_cpu", "target", "text"] {
            assert_eq!(line[column], cell(&object[column]), "{column}: {line:?}");
        }
        let looks: Vec<String> =
            object["looks"].as_array().unwrap().iter().map(|look| look["cpu"].to_string()).collect();
        assert_eq!(line["looks"], looks.join(" "));
    }
    assert_eq!(csv(&of(&["explain", "6.12-C-hb.csv.gz", "--at", "0"], "csv")).len(), 1, "a header and a line");

    let summary = ["explain", "6.12-C-hb.csv.gz", "--summary"];
    let (lines, groups) = (csv(&of(&summary, "csv")), json(&of(&summary, "json"))["groups"].clone());
    for (line, group) in lines.iter().zip(groups.as_array().unwrap()) {
        assert_eq!((&line["flags"], &line["rows"]), (&cell(&group["flags"]), &cell(&group["rows"])));
        for (reason, n) in group["reasons"].as_object().unwrap() {
            assert_eq!(line[&format!("reason_{reason}")], n.to_string(), "{reason}: {line:?}");
        }
    }
    assert!(!lines.is_empty());
}

#[test]
fn replay_of_what_was_on_changes_nothing() {
    let args = ["replay", "6.12-C-hb.csv.gz", "--with", "SIS_UTIL", "--format", "json"];
    let replay = json(&wakelab(&recordings(), &args));
    assert_eq!((&replay["other_cpu"], &replay["recorded"]), (&0.into(), &replay["then"]));
    let args = ["replay", "6.12-C-hb.csv.gz", "--with", "SIS_ORACLE", "--format", "json"];
    let oracle = json(&wakelab(&recordings(), &args));
    assert_eq!(oracle["then"]["missed"], 0, "the oracle misses nothing");
    assert!(oracle["recorded"]["missed"].as_u64() > Some(0));
}

#[test]
fn inputs_that_are_not_there_are_named_or_stated() {
    let refused = wakelab(&recordings(), &["replay", "6.12-C-hb.csv.gz", "--with", "SIS_PROP"]);
    assert_eq!(refused.status.code(), Some(2));
    let errors = text(&refused.stderr);
    assert!(errors.contains("wake_avg_idle and avg_scan_cost") && errors.contains("--assume"), "{errors}");
    let scanned = |cost: &str| {
        let assume = format!("wake_avg_idle=500us,avg_scan_cost={cost}");
        let with = ["--with", "NO_SIS_UTIL,SIS_PROP", "--assume", &assume, "--format", "json"];
        let output = wakelab(&recordings(), &[&["replay", "6.12-C-hb.csv.gz"], &with[..]].concat());
        json(&output)["then"]["sis_scanned"].as_u64().unwrap()
    };
    assert!(scanned("10ms") < scanned("1us"), "a dearer search looks at less");
}

#[test]
fn what_the_simulator_writes_is_counted_as_it_was_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = "compare --machine test-8c --kernel v6.1 --workload hackbench:process-pipe --load 1 --base SIS_UTIL \
                   --with NO_SIS_UTIL --time 20ms --settle 10ms --no-cache --events ev --format json";
    let output = wakelab(folder.path(), &compare.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let compared: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let stats = json(&wakelab(folder.path(), &["stats", "ev", "--by", "llc", "--format", "json"]));
    let runs = stats["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "a side each");
    let searches: Vec<_> = runs.iter().map(|run| run["search"]["sis_search"].as_u64().unwrap()).collect();
    let told = compared.to_string();
    for search in searches {
        assert!(search > 0 && told.contains(&format!("\"sis_search\":{search}")), "{search} is not in {told}");
    }
    assert!(runs[0]["wait_ns"]["p50"].as_u64() > Some(0));
    let slow = wakelab(folder.path(), &["explain", "ev", "--slowest", "3"]);
    assert_eq!(text(&slow.stdout).matches("us after the wake-up").count(), 3, "{}", text(&slow.stderr));
    let conform = json(&wakelab(folder.path(), &["conform", "ev", "--format", "json"]));
    assert!(conform["total"]["rows"].as_u64() > Some(100), "{conform}");
    assert_eq!(conform["total"]["equal"], conform["total"]["rows"], "what held still is decided as it was");
    assert_eq!((&conform["kind"], &conform["kernels"][0]["kind"]), (&"simulated".into(), &"simulated".into()));
    for command in ["stats ev --by comm,cpu", "explain ev --summary", "conform ev", "replay ev --with NO_SIS_UTIL"] {
        let output = wakelab(folder.path(), &command.split_whitespace().collect::<Vec<_>>());
        let said = text(&output.stdout).to_lowercase();
        assert!(said.contains("simulat") && !said.contains("the kernel"), "{command}: {said}");
    }
}

#[test]
fn a_folder_without_recordings_and_a_foreign_file_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("decisions-00001.parquet"), "PAR1 no more").expect("written");
    let output = wakelab(folder.path(), &["stats", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("decisions-00001.parquet: the Parquet file cannot be read"));
    std::fs::remove_file(folder.path().join("decisions-00001.parquet")).expect("removed");
    let output = wakelab(folder.path(), &["stats", "."]);
    assert!(text(&output.stderr).contains("no recordings"), "{}", text(&output.stderr));
}
