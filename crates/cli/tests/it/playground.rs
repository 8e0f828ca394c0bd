//! `wakelab playground`, and that the playground's numbers and words are those of the program.

use crate::support::wakelab;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;
use wakelab_playground::{Description, Run, Side};

fn description(fields: [&str; 6]) -> Description {
    let [machine, kernel, workload, load, side, settle] = fields.map(str::to_owned);
    Description { machine, kernel, workload, load, side, seed: 7, settle, time: "30ms".to_owned() }
}

/// `wakelab compare` of what is described.
fn compare(of: &Description, format: &[&str]) -> (Option<i32>, String, String) {
    let flags = [
        ("--machine", of.machine.as_str()),
        ("--kernel", &of.kernel),
        ("--workload", &of.workload),
        ("--base", &of.side),
        ("--with", &of.side),
        ("--seed", "7"),
        ("--settle", &of.settle),
        ("--time", &of.time),
    ];
    let mut args = vec!["compare", "--no-cache", "--repeat", "1"];
    args.extend(flags.iter().flat_map(|(flag, value)| [*flag, *value]));
    if !of.load.is_empty() {
        args.extend(["--load", &of.load]);
    }
    args.extend(format);
    let output = wakelab(Path::new("."), &args);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn its_numbers_are_those_of_the_program() {
    for fields in [
        ["test-8c", "v5.19-rc1", "netperf:TCP_RR", "16", "SIS_UTIL,sis_util_pct=130", "20ms"],
        ["test-2s", "6.12", "hackbench:process-pipe", "1", "", "5ms"],
        ["i7-2600k", "v6.12", "netperf:TCP_RR", "50%", "governor=schedutil", "20ms"],
    ] {
        let description = description(fields);
        let (code, printed, said) = compare(&description, &["--format", "json"]);
        assert_eq!(code, Some(0), "{said}");
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let base = &printed["rows"][0]["base"];
        let side = Side::new(&description).expect("it can be simulated");
        let finished = Run::with(&side, |mut run| {
            (1..=50).for_each(|ms| drop(run.advance(ms * 1_000_001).map(|_| run.frame())));
            run.finish()
        });
        let finished = finished.expect("it is modelled").expect("something is measured");
        // Both are read from text.
        let finished: Value = serde_json::from_str(&serde_json::to_string(&finished).expect("plain")).expect("JSON");
        let stats = &finished["stats"];
        assert_eq!(finished["value"], base["values"][0], "{description:?}");
        assert_eq!(stats["seed"], base["states"][0]["seed"], "{description:?}");
        assert_eq!(stats["changes"], base["states"][0]["changes"], "{description:?}");
        let numbers = numbers(stats, base);
        assert!(numbers.len() >= 16, "{numbers:?}");
        for (name, of_run, of_program) in numbers {
            assert_eq!(of_run, of_program, "{name} of {description:?}");
        }
    }
}

/// All numbers that the program prints of a side and a run has, by the names of the run.
fn numbers(stats: &Value, side: &Value) -> Vec<(String, Option<f64>, Option<f64>)> {
    let mut numbers = Vec::new();
    let mut compare = |name: String, run: &Value, program: &Value| {
        numbers.push((name, run.as_f64(), program.as_f64()));
    };
    for name in ["sis_search", "sis_domain_search", "sis_scanned", "sis_failed"] {
        compare(name.to_owned(), &stats["search"][name], &side["search"][name]);
    }
    for (of_run, of_program) in [("latency", "latency_ns"), ("wakeup_latency", "wakeup_latency_ns")] {
        for (name, value) in side[of_program].as_object().into_iter().flatten() {
            compare(format!("{of_run}.{name}"), &stats[of_run][name], value);
        }
    }
    let others = ["busy_ns_per_wakeup", "migrations", "idle_pct", "rq_lock_pct", "switches_involuntary", "llc_util"];
    for name in others {
        compare(name.to_owned(), &stats[name], &side[name]);
    }
    numbers
}

#[test]
fn its_words_are_those_of_the_program() {
    let right = ["test-8c", "v6.12", "netperf:TCP_RR", "4", "SIS_UTIL", "5ms"];
    let wrong =
        [(0, "test-9c"), (1, "v6.99x"), (2, "netperf:UDP"), (3, "0%"), (3, "1..2"), (4, "SIS_UTLI"), (4, "WAKEUP")];
    for (field, text) in wrong {
        let mut fields = right;
        fields[field] = text;
        let description = description(fields);
        let problem = Side::new(&description).expect_err("it is wrong");
        let (code, _, said) = compare(&description, &[]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&problem.what), "{said}{problem:?}");
        let hint = problem.hint.unwrap_or_default();
        assert!(said.contains(&hint), "{said}{hint}");
    }
}

#[test]
fn a_program_without_it_says_what_to_do() {
    if !wakelab_is_without() {
        return;
    }
    let folder = tempdir().expect("a folder");
    let output = wakelab(folder.path(), &["playground", "-o", "page"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    let (what, hint) = said.split_once("hint: ").expect("a hint");
    assert!(what.contains("built without the playground's WebAssembly module"), "{said}");
    assert!(hint.contains("`crates/playground/build`") && hint.contains("released programs"), "{said}");
    assert!(!folder.path().join("page").exists());
}

/// Whether the tests' program was built without the playground, as usual.
fn wakelab_is_without() -> bool {
    option_env!("WAKELAB_PLAYGROUND").is_none_or(str::is_empty)
}

#[test]
fn a_clone_has_what_its_script_makes_and_only_a_page_is_replaced() {
    let clone = tempdir().expect("a folder");
    fs::create_dir_all(clone.path().join("crates/playground")).expect("made");
    fs::create_dir_all(clone.path().join("target/playground")).expect("made");
    fs::create_dir_all(clone.path().join("docs")).expect("made");
    fs::write(clone.path().join("crates/playground/build"), "").expect("written");
    fs::write(clone.path().join("target/playground/playground.wasm"), b"\0asm of a test").expect("written");
    let below = clone.path().join("docs");
    let page = below.join("out/index.html");
    for _ in 0..2 {
        let output = wakelab(&below, &["playground", "-o", "out"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read_to_string(&page).expect("a page").starts_with("<!doctype html>"));
    }
    fs::write(&page, "<!doctype html> mine").expect("written");
    let output = wakelab(&below, &["playground", "-o", "out"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not replaced") && said.contains("hint: "), "{said}");
    assert_eq!(fs::read_to_string(&page).expect("it is there"), "<!doctype html> mine");
}
