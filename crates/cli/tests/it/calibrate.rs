//! `wakelab calibrate` and `wakelab verify` on whatever machine runs the tests: that they end and say what they found.
//! How fast the machine is does not matter.
#![cfg(target_os = "linux")]

use crate::support::{names, wakelab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (text(&output.stdout), text(&output.stderr))
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let (text, errors) = said(&wakelab(folder, args));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}{errors}"))
}

#[test]
fn a_machine_is_measured_and_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let report = json(here, &["calibrate", "-o", "mine.toml", "--time", "1s", "--name", "mine", "--format", "json"]);
    assert_eq!((report["kind"].as_str(), report["machine"].as_str()), (Some("measured"), Some("mine")));
    assert!(report["measured"].as_array().is_some_and(|all| all.len() > 10), "{report:#}");
    assert_eq!(names(here), ["mine.toml"]);
    let machine = json(here, &["machine", "show", "mine.toml", "--format", "json"]);
    let origin = |cost: &str| machine["costs"][cost]["origin"].clone();
    assert!(origin("context_switch")["measured"].is_string(), "{:#}", origin("context_switch"));
    assert!(origin("probe")["assumed"].is_string(), "{:#}", origin("probe"));
    let (shown, _) = said(&wakelab(here, &["machine", "show", "mine.toml"]));
    assert!(shown.contains("\nMeasured 20"), "{shown}");

    // Long enough for a fork to end on a machine that does much else.
    let args = ["verify", "--machine", "mine.toml", "--load", "timers,forks", "--time", "200ms", "--repeat", "1"];
    let verified = json(here, &[&args[..], &["--format", "json"]].concat());
    let rows = verified["rows"].as_array().expect("rows");
    assert!(rows.len() >= 4, "{verified:#}");
    assert!(
        rows.iter().all(|row| row["error_pct"].is_number() && row["simulated"]["throughput"]["median"].is_number())
    );
    assert_eq!(verified["verdict"]["rows"].as_u64(), Some(rows.len() as u64));
    let (text, _) = said(&wakelab(here, &args));
    assert!(text.contains("\nverdict: ") && text.contains("\ntimers: the number is that of tasks;"), "{text}");
}

#[test]
fn errors_say_what_was_expected_and_the_next_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = |args: &[&str]| {
        let output = wakelab(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        said(&output).1
    };
    let none = error(&["verify", "--machine", "test-2c"]);
    assert!(none.contains("has no [calibration]") && none.contains("wakelab calibrate -o"), "{none}");
    let short = error(&["calibrate", "-o", "mine.toml", "--time", "1ms"]);
    assert!(short.contains("--time: expected 1s to 1h"), "{short}");
    let nowhere = error(&["calibrate", "-o", "no/such/mine.toml"]);
    assert!(nowhere.contains("--out"), "{nowhere}");
    let name = error(&["calibrate", "-o", "mine.toml", "--name", "a b"]);
    assert!(name.contains("--name"), "{name}");
    let kernel = error(&["calibrate", "-o", "mine.toml", "--kernel", "v6.13"]);
    assert!(kernel.contains("--kernel") && kernel.contains("v6.12"), "{kernel}");
    let load = error(&["verify", "--machine", "test-2c", "--load", "tpc"]);
    assert!(load.contains("tcp"), "{load}");
    let part = wakelab(folder.path(), &["measure-part", "{}"]);
    assert_eq!(part.status.code(), Some(1));
    assert!(names(folder.path()).is_empty());
}

/// The processes with this one as their parent.
fn children(pid: u32) -> Vec<String> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_signal_leaves_no_file_and_no_process() {
    let folder = tempfile::tempdir().expect("a folder");
    // A machine with the work that `verify` needs; a load of a minute is interrupted.
    let work = [("timers".to_owned(), 100)].into_iter().collect();
    let calibration = wakelab_machine::Calibration {
        date: "2026-11-23 00:00".to_owned(),
        kernel: "6.12".to_owned(),
        preset: "v6.12".to_owned(),
        hz: 250,
        noise: "none".to_owned(),
        work,
    };
    let imported = wakelab_machine::import(Path::new("/sys"), "mine").expect("this machine").file;
    let file = wakelab_machine::MachineFile { calibration: Some(calibration), ..imported };
    fs::write(folder.path().join("mine.toml"), file.to_toml()).expect("written");
    for args in [&["calibrate", "-o", "out.toml"][..], &["verify", "--machine", "mine.toml", "--time", "1m"]] {
        let child = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_wakelab"), "--verbose"])
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        std::thread::sleep(Duration::from_millis(700));
        let parts = children(child.id());
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(kill.success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{args:?}: {}", said(&output).1);
        let left = |pid: &String| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(parts.iter().all(|pid| !left(pid).contains("measure-part")), "{args:?}: {parts:?}");
        assert_eq!(names(folder.path()), ["mine.toml"], "{args:?}");
    }
}
