//! The fence around foreign schedulers, as a user sees it.

use crate::support::wakelab;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use wakelab_cli::in_process::Call;

const SIMPLE: &str = "scx:../bpf/tests/data/scx_simple.bpf.o";
const HANGS: &str = "scx:../scx-bpf/tests/data/hangs.bpf.o,scx.mode=1";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn flags<'a>(sides: &[&'a str], format: &'a str) -> Vec<&'a str> {
    let mut flags = vec!["compare", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2", "--base", ""];
    flags.extend(["--workload", "netperf:TCP_RR", "--load", "1,2", "--settle", "0s", "--time", "10ms"]);
    flags.extend(["--repeat", "2", "--format", format]);
    flags.extend(sides.iter().flat_map(|side| ["--with", *side]));
    flags
}

/// `printf` of one that has failed in every format: exit code 1, and the numbers of the others.
#[test]
fn a_side_that_hangs_is_a_failed_row_in_every_format() {
    let sides = ["a=SIS_PROP", &format!("b={HANGS}"), &format!("c={SIMPLE}")];
    let of = |format| {
        let output = wakelab(here(), &flags(&sides, format));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert_eq!(errors.matches("error: b: netperf:TCP_RR ").count(), 2, "{errors}");
        assert!(errors.contains("has gone through __schedule() 100001 times since "), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let table = of("table");
    let cells = |line: &&str| line.contains(" threads ") && line.contains(" failed  ");
    assert_eq!(table.lines().filter(cells).count(), 2, "a cell for each load: {table}");
    assert_eq!(table.matches("\nb failed: netperf:TCP_RR ").count(), 2, "{table}");
    assert!(table.contains("verdict: "), "{table}");
    assert!(of("lkml").contains("\nb failed: netperf:TCP_RR 1 thread"));

    let json: Value = serde_json::from_str(&of("json")).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).unwrap();
    assert!(jsonschema::draft202012::is_valid(&schema, &json), "{json}");
    let rows: Vec<usize> =
        json["comparisons"].as_array().unwrap().iter().map(|of| of["rows"].as_array().unwrap().len()).collect();
    assert_eq!(rows, [2, 0, 2]);
    assert_eq!(json["complete"], true);
    let failed = json["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed.iter().all(|row| row["side"] == "b" && row["repeat"] == 1), "{failed:?}");

    let csv = of("csv");
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(header[header.len() - 2..], ["variant", "error"]);
    let verdict = header.iter().position(|name| *name == "verdict").unwrap();
    let failed: Vec<&str> = csv.lines().filter(|line| line.split(',').nth(verdict) == Some("failed")).collect();
    assert_eq!(failed.len(), 2, "{csv}");
    assert!(failed.iter().all(|line| line.contains(",simulated,b,")), "{failed:?}");
}

#[test]
fn two_sides_say_which_failed() {
    let output = wakelab(here(), &flags(&[HANGS], "table"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{errors}");
    assert!(errors.starts_with("error: netperf:TCP_RR 1 threads on test-2c v7.2 scx:"), "{errors}");
    assert!(errors.contains("hangs.bpf.o,scx.mode=1, repeat 1, seed "), "{errors}");
}

/// A survey ranks by the rows that are there, and says which are not, though there be none.
#[test]
fn a_survey_says_what_a_side_that_hangs_has_no_result_of() {
    for (sides, rows) in [(&[HANGS][..], false), (&[HANGS, "SIS_PROP"], true)] {
        let mut flags = vec!["survey", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2", "--quick"];
        flags.extend(["--budget", "1s", "--repeat", "1"]);
        flags.extend(sides.iter().flat_map(|side| ["--only", *side]));
        let output = wakelab(here(), &flags);
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(&format!("error: {HANGS}: netperf:TCP_RR ")), "{errors}");
        assert_eq!(text.matches(&format!("\n{HANGS} failed: ")).count(), 5, "each of its cases: {text}");
        assert_eq!(text.contains("Over all loads, the best first"), rows, "{text}");
    }
}

/// A run has the same numbers in a process of its own, and in that of a host, where there is no other.
#[test]
fn the_bytes_are_those_without_a_fence() {
    let sides = [format!("a={SIMPLE}"), format!("b={SIMPLE},scx.fifo_sched=1"), "c=SIS_PROP".to_owned()];
    let sides: Vec<&str> = sides.iter().map(String::as_str).collect();
    let fenced = wakelab(here(), &flags(&sides, "json"));
    assert_eq!(fenced.status.code(), Some(0), "{}", String::from_utf8_lossy(&fenced.stderr));
    // A test's folder is that of its crate.
    let args = flags(&sides, "json").into_iter().map(str::to_owned).collect();
    let call = Call::begin(args, "wakelab".to_owned(), std::env::current_exe().unwrap()).unwrap();
    let ended = loop {
        if let Some(ended) = call.wait(Duration::from_secs(1)) {
            break ended;
        }
    };
    assert_eq!(ended.exit, Some(0), "{:?}", ended.said);
    assert!(ended.out == fenced.stdout, "{}", String::from_utf8_lossy(&ended.out));
}

/// Processes whose parent this is.
fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Whether a process runs; one that has ended and was not waited for does not.
fn runs(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
        !fields.starts_with('Z')
    })
}

/// A worker ends with the program, whatever ends that, even in the midst of a run of days.
#[test]
fn a_worker_ends_with_the_program() {
    for signal in ["KILL", "INT"] {
        let mut child = Command::new("env")
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_wakelab"), "compare", "--no-cache", "--jobs", "1"])
            .args(["--machine", "test-2c", "--kernel", "v7.2", "--workload", "netperf:TCP_RR", "--load", "2"])
            .args(["--base", SIMPLE, "--with", "", "--settle", "0s", "--time", "3600s", "--repeat", "1"])
            .current_dir(here())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let worker = loop {
            assert!(child.try_wait().expect("a child").is_none(), "it ended early");
            if let [worker] = children(child.id())[..] {
                break worker;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        child.wait().expect("it ends");
        while runs(worker) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_check_of_a_scheduler_that_hangs_ends_with_a_finding() {
    for mode in ["1", "2", "4"] {
        let scheduler = format!("../scx-bpf/tests/data/hangs.bpf.o,scx.mode={mode}");
        let output = wakelab(here(), &["scx-check", &scheduler, "--machine", "test-2c", "--budget", "5"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("\nfault: a program did something forbidden, or hung in "), "{mode}: {text}");
    }
}

/// As it is typed: the workload is the command's standard input, which its worker reads no more.
#[test]
fn a_printed_command_finds_the_same_again() {
    let output = wakelab(here(), &["scx-check", &HANGS["scx:".len()..], "--machine", "test-2c", "--budget", "2"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, again) =
        text.split_once("  again, with its workload:\nwakelab ").unwrap_or_else(|| panic!("a command: {text}"));
    let end = again.find("\nEND").unwrap_or_else(|| panic!("a workload: {again}")) + "\nEND\n".len();
    let script = format!("'{}' {}", env!("CARGO_BIN_EXE_wakelab"), &again[..end]);
    let output =
        Command::new("timeout").args(["300", "sh", "-c", &script]).current_dir(here()).output().expect("sh runs");
    let again = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{script}{again}{}", String::from_utf8_lossy(&output.stderr));
    assert!(again.contains("has gone through __schedule() 100001 times"), "{again}");
}

/// Bytes with their length before them, as postcard writes them.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let (mut length, mut written) = (bytes.len(), Vec::new());
    while length >= 0x80 {
        written.push(length as u8 | 0x80);
        length >>= 7;
    }
    written.push(length as u8);
    written.extend(bytes);
    written
}

/// What asks a worker has the workload: the worker's standard input is empty.
#[test]
fn a_worker_is_there_before_the_workload_is_read() {
    let (object, _) = HANGS["scx:".len()..].split_once(',').expect("a variable");
    let mut worker = Command::new(env!("CARGO_BIN_EXE_wakelab"))
        .args(["scx-check", object, "--machine", "test-2c", "--workload", "/dev/stdin"])
        .env("WAKELAB_WORKER", "1")
        .current_dir(here())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    // The first question: the one scheduler that there is, by what was asked for, its title, its name and its object.
    let bytes = std::fs::read(here().join(object)).expect("an object");
    let parts = [object.as_bytes(), b"hangs", object.as_bytes(), &bytes].map(with_length);
    let question = [vec![1], parts.concat()].concat();
    let framed = [&(question.len() as u32).to_le_bytes()[..], &question].concat();
    worker.stdin.as_mut().expect("a pipe").write_all(&framed).expect("written");
    let mut answer = [1; 4];
    worker.stdout.as_mut().expect("a pipe").read_exact(&mut answer).expect("it says that it knows its runs");
    assert_eq!(answer, [0; 4], "an answer of no bytes");
    drop(worker.stdin.take());
    assert!(worker.wait().expect("it ends").success());
}
