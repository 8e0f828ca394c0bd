//! A side that is a scheduler of sched_ext.

use crate::support::wakelab;
use std::path::Path;
use std::process::Output;

const SIMPLE: &str = "scx:../bpf/tests/data/scx_simple.bpf.o";

fn compare(kernel: &str, with: &str) -> Output {
    let args = [
        ["compare", "--no-cache"].as_slice(),
        &["--machine", "test-2c", "--kernel", kernel, "--workload", "netperf:TCP_RR", "--load", "2"],
        &["--base", "", "--with", with, "--settle", "5ms", "--time", "20ms", "--repeat", "1"],
    ];
    wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args.concat())
}

#[test]
fn a_side_can_be_an_object_with_a_variable_that_is_set() {
    for with in [SIMPLE.to_owned(), format!("{SIMPLE},scx.fifo_sched=1"), format!("mine={SIMPLE}")] {
        let output = compare("v7.2", &with);
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert!(text.contains("scheduler scx_simple (base the fair class)"), "{text}");
        assert!(!errors.contains("every difference is 0"), "{errors}");
        // scx_simple counts the tasks that go to local queues, and those that go to its own.
        let own = text.lines().find(|line| line.contains(" with: stats[0] ")).unwrap_or_else(|| panic!("{text}"));
        assert!(own.contains(", stats[1] "), "{own}");
        assert!(text.contains("Where sched_ext put tasks in the whole run"), "{text}");
        let times = text.split("Time of a call of its operations, ns").nth(1).unwrap_or_else(|| panic!("{text}"));
        let heading = times.lines().nth(2).unwrap_or_default();
        let ops = ["case", "load", "side", "select_cpu", "enqueue", "dispatch", "running", "stopping"];
        assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ops);
    }
}

#[test]
fn the_page_of_a_comparison_has_what_the_scheduler_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let args = [
        ["compare", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2", "--workload", "netperf:TCP_RR"]
            .as_slice(),
        &["--load", "2", "--base", "", "--with", SIMPLE, "--settle", "5ms", "--time", "20ms", "--repeat", "1"],
        &["--html", page.to_str().expect("UTF-8")],
    ];
    let output = wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args.concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    // Operations chose, so that there is no choice to explain, which is no fault.
    assert!(!errors.contains("explains no wake-ups"), "{errors}");
    let page = std::fs::read_to_string(page).expect("a page");
    for part in ["What the scheduler did", "scheduler-table", "operations-table", "counters-table", "select_cpu"] {
        assert!(page.contains(part), "{part} is not on the page");
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let cases = [
        ("v7.2", "scx:no.bpf.o".to_owned(), "expected the object of a scheduler"),
        ("v7.2", "scx:../bpf/tests/data/kernel.o".to_owned(), "no struct_ops of the type sched_ext_ops"),
        ("v7.2", "scx:../bpf/tests/data/none.bpf.c".to_owned(), "No such file"),
        ("v7.2", "scx:../bpf/tests/data".to_owned(), "the folder has no Cargo.toml"),
        ("v7.2", "scx:scx_simple.bpf".to_owned(), "expected a crate (scx_bpfland, scx_bpfland@1.1.4), or a path"),
        ("v7.2", format!("{SIMPLE},scx.nope=1"), "the object has no variable nope"),
        ("v7.2", format!("{SIMPLE},scx.fifo_sched=300"), "fifo_sched"),
        ("v7.2", "scx.fifo_sched=1".to_owned(), "expected scx:NAME, too"),
        ("v6.1", SIMPLE.to_owned(), "has no sched_ext"),
        ("v6.12", "scx:../scx-bpf/tests/data/scx_qmap.bpf.o".to_owned(), "which the kernel does not have"),
    ];
    for (kernel, with, error) in cases {
        let output = compare(kernel, &with);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{with}: {errors}");
        assert!(output.stdout.is_empty() && errors.starts_with("error: --with: "), "{with}: {errors}");
        assert!(errors.contains(error), "{with}: {errors}");
    }
}

/// scx_simple puts a wakee on the local queue of an idle CPU, and else on its own queue, from which CPUs take it.
#[test]
fn explain_and_waits_tell_which_operation_put_a_task_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = [
        ["compare", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2"].as_slice(),
        &["--workload", "hackbench:process-pipe", "--load", "1", "--base", "", "--with", SIMPLE],
        &["--settle", "20ms", "--time", "40ms", "--repeat", "1", "--events"],
        &[folder.path().to_str().expect("UTF-8")],
    ];
    let output = wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args.concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let run = folder.path().join("workload=hackbench%3Aprocess-pipe/load=1%20group/side=with");
    let run = run.to_str().expect("UTF-8");
    let ask = |args: &[&str]| {
        let output = wakelab(folder.path(), &[&[args[0], run], &args[1..]].concat());
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"), output.stderr)
    };
    let (code, text, _) = ask(&["explain", "--slowest", "1"]);
    assert_eq!(code, Some(0), "{text}");
    for part in
        ["select_task_rq chooses ", "ops.enqueue() on CPU ", "puts it on DSQ 0x0, where ", "in ops.dispatch(), "]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let (_, text, _) = ask(&["explain", "--summary"]);
    assert!(text.contains("enqueue → 0x0, dispatch → local") && text.contains("select_cpu → local"), "{text}");
    let (_, text, _) = ask(&["explain", "--limit", "3", "--format", "json"]);
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.iter().map(|row| row["row"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    // The page has what is printed.
    for (args, has) in [
        (&["explain", "--slowest", "2"][..], &["2 wake-ups explained", "puts it on DSQ 0x0, where "][..]),
        (&["explain", "--limit", "3"], &["3 wake-ups explained", "select_task_rq chooses "]),
        (&["explain", "--summary"], &["How wakees came to a CPU", "enqueue → 0x0, dispatch → local"]),
    ] {
        let (code, _, errors) = ask(&[args, &["--html", "page.html"]].concat());
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&errors));
        let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
        for part in has.iter().chain(&["routes-table"]) {
            assert!(page.contains(part), "{part} is not on the page of {args:?}");
        }
    }
    let (code, _, errors) = ask(&["explain", "--with", "NO_SIS_UTIL"]);
    assert_eq!(code, Some(2));
    assert!(String::from_utf8_lossy(&errors).contains("which decides itself; leave --with out"));
    let (_, text, _) = ask(&["waits", "--over", "0s", "--by", "dsq", "--slowest", "1"]);
    for part in ["shared DSQ", "0x0 ", "[sched_ext]", "puts it on DSQ 0x0, where "] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_load_that_was_recorded_runs_under_a_scheduler() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let args = [
        ["compare", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2"].as_slice(),
        &["--workload", "netperf:TCP_RR", "--load", "4", "--base", "", "--with", SIMPLE],
        &["--settle", "20ms", "--time", "100ms", "--repeat", "1", "--events"],
        &[folder.path().to_str().expect("UTF-8")],
    ];
    assert_eq!(wakelab(here, &args.concat()).status.code(), Some(0));
    let whatif = |side: &str, with: &str| {
        let run = folder.path().join(format!("workload=netperf%3ATCP_RR/load=4%20threads/side={side}"));
        let run = run.to_str().expect("UTF-8");
        let args = ["whatif", run, "--no-cache", "--repeat", "1", "--anyway", "--details", "--with", with];
        let output = wakelab(here, &args);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, text, errors) = whatif("base", SIMPLE);
    assert_eq!(code, Some(0), "{text}{errors}");
    assert!(text.contains(SIMPLE) && text.contains("Where sched_ext put tasks in the whole run"), "{text}");
    let (code, text, errors) = whatif("base", "scx:no.bpf.o");
    assert_eq!((code, text.as_str()), (Some(2), ""), "{errors}");
    assert!(errors.starts_with("error: --with: scx:no.bpf.o: "), "{errors}");
    let (code, _, errors) = whatif("with", "NO_SIS_UTIL");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("it ran under a sched_ext scheduler"), "{errors}");
}

const STALLS: &str = "../scx-bpf/tests/data/stalls.bpf.o";

fn scx_check(args: &[&str]) -> (Option<i32>, String, String) {
    let output = wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &[&["scx-check"], args].concat());
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_stall_is_made_small_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    let out = out.to_str().unwrap();
    let never_kicked = &format!("{STALLS},scx.mode=1");
    let (code, text, errors) = scx_check(&[never_kicked, "--machine", "test-2c", "--budget", "3", "--out", out]);
    assert_eq!(code, Some(1), "{text}{errors}");
    assert!(text.contains("\nstall: a task did not run for 2 s in "), "{text}");
    assert!(text.contains(": 1 task on test-2c\n") && text.contains("now CPU 1 has never been kicked"), "{text}");
    let file = format!("{out}/stall.toml");
    let toml = std::fs::read_to_string(&file).unwrap();
    assert!(toml.contains("# The smallest workload that was found: stall under stalls"), "{toml}");
    let again = text.lines().find_map(|line| line.strip_prefix("  again: wakelab scx-check ")).expect("a command");
    let words = shlex::split(again).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (code, again, errors) = scx_check(&words);
    assert_eq!(code, Some(1), "{again}{errors}");
    assert!(
        again.contains("stall: a task did not run for 2 s\n") && again.contains("has never been kicked"),
        "{again}"
    );
    // It is a workload file as any other.
    let args = ["compare", "--no-cache", "--machine", "test-2c", "--kernel", "v7.2", "--workload", &file, "--base", ""];
    let with = format!("scx:{never_kicked}");
    let args = [args.as_slice(), &["--with", &with, "--settle", "0s", "--time", "3s", "--repeat", "1"]].concat();
    let output = wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && errors.contains("runnable task stall"), "{errors}");
}

#[test]
fn a_check_does_not_depend_on_how_many_run_at_a_time() {
    let run = |jobs: &str| {
        let scheduler = &format!("{STALLS},scx.mode=3");
        scx_check(&[scheduler, "--budget", "6", "--seed", "7", "--format", "json", "--jobs", jobs])
    };
    let (code, text, errors) = run("1");
    assert_eq!(code, Some(1), "{errors}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["workloads"], 6);
    assert_eq!((code, text, errors), run("2"));
}

#[test]
fn what_cannot_be_checked_is_told() {
    let simple = "../bpf/tests/data/scx_simple.bpf.o";
    let cases = [
        (vec!["no.bpf.o"], "expected the object of a scheduler"),
        (vec!["a.o,NO_SIS_UTIL"], "is more than a scheduler"),
        (vec![simple, "--kernel", "v6.1"], "has no sched_ext"),
        (vec![simple, "--machine", "no-such"], "--machine"),
        (vec![simple, "--workload", "x.toml"], "--machine"),
        (vec![simple, "--machine", "test-1c", "--workload", "no.toml"], "--workload"),
    ];
    for (args, error) in cases {
        let (code, text, errors) = scx_check(&args);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{args:?}: {errors}");
        assert!(errors.contains(error), "{args:?}: {errors}");
    }
}
