//! Files of rt-app on the command line and in experiments.

use crate::support::wakelab;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// Only steps that every run knows.
const PLAIN: &str = r#"{"tasks": {"a": {"instance": 3, "run": 200, "sleep": 300}, "b": {"run": 1000, "sleep": 100}}}"#;
const BATCH: &str = "{\"tasks\": {\"a\": {\"run\": 200, \"sleep\": 300,\n\"policy\": \"SCHED_BATCH\"}}}";

fn folder(name: &str, text: &str) -> TempDir {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join(name), text).expect("it is written");
    here
}

fn compare(folder: &Path, workload: &str, more: &[&str]) -> Output {
    let args = ["compare", "--machine", "test-8c", "--kernel", "v5.19-rc1", "--base", "SIS_PROP", "--with", "SIS_UTIL"];
    let time = ["--settle", "10ms", "--time", "20ms", "--workload", workload, "--format", "csv"];
    wakelab(folder, &[&args, &time[..], more].concat())
}

fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_file_of_rt_app_needs_no_load_and_runs_as_often_as_one_says() {
    let here = folder("w.json", PLAIN);
    let (code, one, errors) = texts(&compare(here.path(), "w.json", &[]));
    assert_eq!((code, &*errors), (Some(0), ""));
    assert!(one.contains("rt-app") && one.contains("4 threads"), "{one}");
    let (code, three, _) = texts(&compare(here.path(), "w.json", &["--load", "3"]));
    assert_eq!(code, Some(0));
    assert!(three.contains("3 x 4 threads"), "{three}");
}

/// 2 ms of work in each 10 ms, and 12 ms in each 10 ms, which is late from the first period on. A timer that is
/// relative starts anew when it was missed, so that the thread is late by 2 ms each time.
#[test]
fn threads_with_timers_are_measured_by_their_slack() {
    let text = r#"{"tasks": {
        "early": {"run": 2000, "timer": {"ref": "a", "period": 10000}},
        "late": {"run": 12000, "timer": {"ref": "b", "period": 10000}}}}"#;
    let here = folder("w.json", text);
    let args = ["compare", "--machine", "test-8c", "--kernel", "v6.1", "--base", "", "--with", "NO_SIS_UTIL"];
    let more = ["--settle", "100ms", "--time", "1s", "--repeat", "1", "--workload", "w.json"];
    let (_, json, errors) = texts(&wakelab(here.path(), &[&args[..], &more, &["--format", "json"]].concat()));
    assert_eq!(errors, "");
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let row = &found["rows"][0];
    assert_eq!((row["metric"].as_str(), row["better"].as_str()), (Some("slack_mean"), Some("higher")));
    let of = |thread: usize, key: &str| row["base"]["threads"][thread][key].as_f64().expect("a number");
    assert_eq!(row["base"]["threads"][0]["name"], "early");
    assert!((7.9e6..8.1e6).contains(&of(0, "slack_mean_ns")) && of(0, "missed_pct") == 0.0, "{row:#}");
    assert!((-2.2e6..-1.9e6).contains(&of(1, "slack_mean_ns")) && of(1, "missed_pct") == 100.0, "{row:#}");
    let (_, table, _) = texts(&wakelab(here.path(), &[&args[..], &more, &["--html", "w.html"]].concat()));
    let page = fs::read_to_string(here.path().join("w.html")).expect("a page");
    assert!(page.contains("periods-table") && page.contains("<td>late</td>"), "the page has the threads");
    assert!(table.contains("Threads with periods") && table.contains("late") && table.contains("100.00"), "{table}");
}

#[test]
fn only_a_file_of_rt_app_needs_no_load() {
    let (code, _, errors) = texts(&compare(Path::new("."), "netperf:TCP_RR", &[]));
    assert_eq!(code, Some(2));
    assert!(
        errors.starts_with(
            "error: --load: is required for this workload; expected a number of instances\n  hint: such as 28"
        ),
        "{errors}"
    );
}

#[test]
fn what_has_no_meaning_is_an_error_and_leniently_a_warning() {
    let here = folder("w.json", BATCH);
    let says = "w.json:2: `tasks.a.policy`: SCHED_BATCH is not modelled; expected SCHED_OTHER, SCHED_IDLE, SCHED_FIFO, \
                SCHED_RR or SCHED_DEADLINE";
    let (code, out, errors) = texts(&compare(here.path(), "w.json", &[]));
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(errors.starts_with(&format!("error: --workload: {says}\n  hint: --lenient ")), "{errors}");
    let (code, out, errors) = texts(&compare(here.path(), "w.json", &["--lenient", "--load", "1,2"]));
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("1 thread"), "{out}");
    // Once, though there are two loads.
    assert_eq!(errors, format!("warning: {says}; read leniently, it becomes SCHED_OTHER with nice 0\n"));
    let (code, _, errors) = texts(&wakelab(here.path(), &["workload", "show", "w.json"]));
    assert!(code == Some(2) && errors.contains(says), "{errors}");
    let (code, out, errors) = texts(&wakelab(here.path(), &["workload", "show", "w.json", "--lenient"]));
    assert!(code == Some(0) && out.contains("compute 200 us") && errors.starts_with("warning: "), "{out}{errors}");
}

#[test]
fn an_experiment_names_a_file_of_rt_app_beside_it_and_may_be_lenient() {
    let here = folder("w.json", BATCH);
    let experiment = |lenient: &str| {
        let text = format!(
            "machine = \"test-8c\"\nkernel = \"v5.19-rc1\"\ntime = \"20ms\"\nsettle = \
             \"10ms\"\n{lenient}\n[[workload]]\n\
             name = \"w.json\"\n[variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL\"\n"
        );
        fs::write(here.path().join("x.toml"), text).expect("it is written");
        // From elsewhere: the path begins at the experiment's folder.
        texts(&wakelab(Path::new("/"), &["run", here.path().join("x.toml").to_str().unwrap(), "--format", "csv"]))
    };
    let (code, _, errors) = experiment("");
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("x.toml:7: `workload.name`: ") && errors.contains("w.json:2: `tasks.a.policy`"),
        "{errors}"
    );
    let (code, out, errors) = experiment("lenient = true");
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("1 thread") && errors.starts_with("warning: "), "{out}{errors}");
    let (code, _, errors) = experiment("lenient = 1");
    assert!(code == Some(2) && errors.contains("x.toml:5") && errors.contains("lenient"), "{errors}");
}

/// An example of rt-app that is over after 4 ms, and whose thread is realtime.
#[test]
fn a_file_that_is_over_before_it_is_measured_says_how_to_measure_it() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../workload/tests/rt-app/cpufreq_governor_efficiency/calibration.json");
    let example = example.to_str().expect("UTF-8");
    let (code, _, errors) = texts(&compare(Path::new("."), example, &[]));
    assert_eq!(code, Some(1));
    let says = "all tasks had exited at 4.005ms, before measuring began at 10ms\n  hint: settle for less time; \
        --settle 0s is allowed\n";
    assert!(!errors.contains("warning: ") && errors.ends_with(says), "{errors}");
    let args = ["compare", "--machine", "test-8c", "--kernel", "v6.12", "--base", "", "--with", "NO_SIS_UTIL"];
    let more = ["--workload", example, "--settle", "0s", "--format", "csv"];
    let (code, out, _) = texts(&wakelab(Path::new("."), &[&args[..], &more[..]].concat()));
    assert!(code == Some(0) && out.contains("calibration,1 thread,throughput"), "{out}");
}
