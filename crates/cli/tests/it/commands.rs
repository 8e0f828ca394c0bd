//! The commands as a user runs them, on the committed recordings.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn wakelab(args: &[&str]) -> Output {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    Command::cargo_bin("wakelab").expect("the program").current_dir(recordings).args(args).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stdout(output)))
}

/// A folder with one good recording, its machine, and whatever is added to it.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    for name in ["7.2-A-hb.csv.gz", "topo-7.2-A.json"] {
        fs::copy(recordings.join(name), folder.path().join(name)).expect("a copy");
    }
    let path = folder.path().to_owned();
    (folder, path)
}

fn gunzip(file: &Path) -> String {
    let file = fs::File::open(file).expect("the recording");
    std::io::read_to_string(flate2::read::GzDecoder::new(file)).expect("gzip")
}

/// Sentences that were checked by hand against the recorded state and the kernel's source.
#[test]
fn explain_says_why() {
    let rows = [
        (
            "6.12-C-hb.csv.gz",
            "768",
            "sync: waker is alone on cpu 0, so target 0; 0 is running ld/430; prev 7 idle → 7 [prev]",
        ),
        (
            "6.12-C-fan.csv.gz",
            "136",
            "waker and prev are both cpu 7, so target 7; 7 busy (1 running); recent 5 idle → 5 [recent]",
        ),
        (
            "6.12-C-hb.csv.gz",
            "3082",
            "waker and prev are both cpu 2, so target 2; 2 busy (1 running); nr_idle_scan 0: LLC at 71 % util, no \
             search; 1 CPU was idle: 0 → 2 [target: overloaded]",
        ),
        (
            "6.12-C-fan.csv.gz",
            "1414",
            "waker and prev are both cpu 8, so target 8; 8 is running ld/485; sibling 9 busy (1 running); \
             nr_idle_scan 7; 9-15 busy; limit used up after 7 probes, so target 8; 1 CPU was idle: 7 → 8 [target: \
             limit]",
        ),
        (
            "6.12-C-fan.csv.gz",
            "2300",
            "waker and prev are both cpu 0, so target 0; 0 busy (1 running); nr_idle_scan 7; searching for an idle \
             core: 0-6 busy, 7 idle; no core is idle as a whole, 7 is the first idle CPU met → 7 [core-cpu]",
        ),
        (
            "6.12-C-kw.csv.gz",
            "2646",
            "waker and prev are both cpu 1, so target 1; 1 is running kworker/1:0/70; woken by a per-CPU kthread for \
             whose CPU it queued work → 1 [kthread]",
        ),
    ];
    for (file, row, sentence) in rows {
        let output = wakelab(&["explain", file, "--row", row]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        assert_eq!(text.lines().nth(1).map(str::trim), Some(sentence), "{file} row {row}:\n{text}");
    }
}

#[test]
fn explain_shows_the_slow_path_domain_by_domain() {
    let text = stdout(&wakelab(&["explain", "6.12-C-fork.csv.gz", "--row", "321"]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(" executes another program, last on 3"), "{text}");
    assert!(
        lines[1].starts_with("  domain NUMA 0-15 from cpu 3; local group 0-7 has_spare (5 idle, util 2009)"),
        "{text}"
    );
    assert!(lines[2].starts_with("    domain MC 0-7 from cpu 3; local group 2-3 has_spare"), "{text}");
    assert!(lines[3].ends_with("stays in the local group → 3 [slow]"), "{text}");
}

#[test]
fn explain_filters_and_stops() {
    let output = wakelab(&["explain", "6.12-C-mix.csv.gz", "--reason", "scan", "--limit", "3"]);
    let text = stdout(&output);
    assert_eq!(text.matches("[scan]").count(), 3, "{text}");
    assert_eq!(text.lines().filter(|line| !line.starts_with(' ')).count(), 3, "{text}");

    let text = stdout(&wakelab(&["explain", "6.12-C-mix.csv.gz", "--pid", "2534", "--limit", "2"]));
    assert!(text.lines().filter(|line| !line.starts_with(' ')).all(|line| line.contains("/2534")), "{text}");

    let output = wakelab(&["explain", "6.12-C-mix.csv.gz", "--reason", "idle"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("[possible values: current-cpu, energy, slow"), "{}", stderr(&output));

    let output = wakelab(&["explain", "6.12-C-mix.csv.gz", "--limit", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--limit"), "{}", stderr(&output));
}

#[test]
fn explain_says_why_no_row_matches() {
    let recording = "6.12-C-hb.csv.gz";
    for (filter, why) in [
        (&["--comm", "rcu_premp"][..], "no task is called rcu_premp; did you mean `rcu_preempt`?"),
        (&["--summary", "--comm", "rcu_premp"], "no task is called rcu_premp; did you mean `rcu_preempt`?"),
        (&["--pid", "999999"], "no task has the pid 999999"),
        (&["--row", "999999"], "there is no row 999999; rows are numbered "),
        (&["--at", "999999"], "the last decision is at "),
        (&["--reason", "oracle"], "no decision has the reason oracle; there are "),
        (&["--comm", "kcompactd0", "--row", "768"], "no row passes all filters"),
    ] {
        let output = wakelab(&[&["explain", recording], filter].concat());
        assert_eq!(output.status.code(), Some(1), "{filter:?}: {}", stderr(&output));
        let expected = format!("no row matches: {why}");
        assert!(stderr(&output).starts_with(&expected), "{filter:?}: {}", stderr(&output));
    }
    let found = wakelab(&["explain", recording, "--comm", "ld", "--limit", "1"]);
    assert_eq!((found.status.code(), stderr(&found)), (Some(0), String::new()));
}

#[test]
fn explain_json_is_one_object_a_line() {
    let output = wakelab(&["explain", "7.2-A-fork.csv.gz", "--format", "json", "--limit", "5"]);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 5);
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(row["kind"], "recorded");
        assert_eq!(row["kernel"], "v7.2");
        assert!(row["text"].as_str().is_some_and(|text| text.contains('→')), "{line}");
        assert!(row["cpu"].is_u64() && row["kernel_cpu"].is_u64() && row["looks"].is_array(), "{line}");
    }
}

#[test]
fn explain_summary_counts_every_stable_row() {
    let summary = json(&wakelab(&["explain", ".", "--summary", "--format", "json"]));
    let rows: u64 =
        summary["groups"].as_array().expect("groups").iter().map(|group| group["rows"].as_u64().unwrap()).sum();
    let conform = json(&wakelab(&["conform", ".", "--format", "json"]));
    assert_eq!(conform["total"]["rows"], rows);
    assert_eq!(conform["total"]["equal"], rows);
    let text = stdout(&wakelab(&["explain", ".", "--summary"]));
    assert!(text.contains("v6.12") && text.contains("fork+NO_SIS_UTIL") && text.contains("TTWU|SYNC"), "{text}");
}

#[test]
fn conform_json_counts_each_kernel() {
    let conform = json(&wakelab(&["conform", ".", "--format", "json", "--disagreements", "0"]));
    let kernels = conform["kernels"].as_array().expect("kernels");
    let names: Vec<_> = kernels.iter().map(|kernel| kernel["kernel"].as_str().expect("a name")).collect();
    assert_eq!(names, ["v6.1", "v6.12", "v7.2"]);
    assert_eq!(conform["kind"], "recorded");
    for key in ["wakeups", "scored", "equal", "chose_prev"] {
        let sum: u64 = kernels.iter().map(|kernel| kernel[key].as_u64().expect("a count")).sum();
        let total = if key == "chose_prev" { &conform["total"][key] } else { &conform[key] };
        assert_eq!(*total, sum, "{key}");
        assert!(sum > 0, "{key}");
    }
    for count in kernels.iter().chain([&conform]) {
        let why = count["not_scored"].as_object().expect("by reason");
        assert_eq!(why.keys().collect::<Vec<_>>(), ["idle_changed", "long", "unknown"]);
        let not_scored: u64 = why.values().map(|rows| rows.as_u64().expect("a count")).sum();
        assert_eq!(count["wakeups"], count["scored"].as_u64().expect("a count") + not_scored);
    }
}

#[test]
fn conform_with_other_features_says_where_decisions_go() {
    let output = wakelab(&["conform", ".", "--with", "NO_SIS_UTIL", "--limit", "1"]);
    assert_eq!(output.status.code(), Some(0), "a difference is the answer here: {}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("with NO_SIS_UTIL"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("overloaded   scan")), "{text}");
    assert!(text.contains("with the features as recorded the kernel chose"), "{text}");
    assert!(text.contains("sis_scanned"), "{text}");
}

#[test]
fn switches_that_cannot_be_answered_are_refused() {
    for (with, message) in [
        ("SIS_UTILL", "unknown feature SIS_UTILL; did you mean `SIS_UTIL`"),
        ("SIS_PROP", "SIS_PROP reads the waking CPU's wake_avg_idle"),
        ("NO_PLACE_LAG", "PLACE_LAG is not read when a CPU is chosen"),
        ("SIS_SHORT", "SIS_SHORT reads how long tasks run between two sleeps (dur_avg), which recordings do not hold"),
        ("SIS_FILTER", "(overloaded_cpus), which recordings do not hold"),
    ] {
        let output = wakelab(&["conform", ".", "--with", with]);
        assert_eq!(output.status.code(), Some(2), "{with}");
        assert!(stderr(&output).contains(message), "{with}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{with}");
    }
}

#[test]
fn conform_finds_what_differs() {
    let (_keep, folder) = folder();
    let recording = folder.join("7.2-A-hb.csv.gz");
    let text = gunzip(&recording);
    // Another chosen CPU in one stable row.
    let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
    let place = |name| header.iter().position(|column| *column == name).expect("a column");
    let (stable, chosen) = (place("stable"), place("chosen_cpu"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let row = lines.iter().position(|line| line.split(',').nth(stable) == Some("1")).expect("a stable row");
    let mut fields: Vec<String> = lines[row].split(',').map(str::to_owned).collect();
    let kernel = (fields[chosen].parse::<u32>().expect("a CPU") + 1) % 8;
    fields[chosen] = kernel.to_string();
    lines[row] = fields.join(",");
    fs::remove_file(&recording).expect("removed");
    fs::write(folder.join("7.2-A-hb.csv"), lines.join("\n") + "\n").expect("written");

    let output = wakelab(&["conform", folder.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("The first 1 of 1 rows that differ"), "{text}");
    assert!(text.contains(&format!("DISAGREES: the kernel chose {kernel}")), "{text}");
    assert!(text.contains(&format!("(line {})", row + 1)), "{text}");
}

#[test]
fn a_bad_file_does_not_keep_the_others_from_being_done() {
    let (_keep, folder) = folder();
    fs::write(folder.join("bad.csv"), "kernel,topology\n7.2,A-8c-1s4x2\n").expect("written");
    let good = fs::read(folder.join("7.2-A-hb.csv.gz")).expect("read");
    fs::write(folder.join("cut.csv.gz"), &good[..good.len() / 2]).expect("written");
    let output = wakelab(&["conform", folder.to_str().expect("UTF-8"), "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let result = json(&output);
    assert!(result["total"]["rows"].as_u64() > Some(100), "{result}");
    assert_eq!(result["errors"].as_array().map(Vec::len), Some(2));
    let errors = stderr(&output);
    assert!(errors.contains("bad.csv"), "{errors}");
    assert!(errors.contains("the header lacks"), "{errors}");
    assert!(errors.contains("cut.csv.gz"), "{errors}");
    assert!(errors.contains("hint: "), "{errors}");
}

#[test]
fn missing_files_and_machines_are_named() {
    let (_keep, folder) = folder();
    let output = wakelab(&["explain", "no-such-file.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: no-such-file.csv: "), "{}", stderr(&output));
    fs::remove_file(folder.join("topo-7.2-A.json")).expect("removed");
    let output = wakelab(&["explain", folder.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("topo-7.2-A.json"), "{}", stderr(&output));
}

/// A kernel with SIS_PROP on decided by what no recording holds: its rows are refused, not guessed.
#[test]
fn rows_that_cannot_be_decided_are_refused() {
    let (_keep, folder) = folder();
    let text = gunzip(&folder.join("7.2-A-hb.csv.gz"));
    fs::remove_file(folder.join("7.2-A-hb.csv.gz")).expect("removed");
    fs::write(folder.join("7.2-A-hb.csv"), text.replace(" SIS_UTIL ", " SIS_PROP SIS_UTIL ")).expect("written");
    let folder = folder.to_str().expect("UTF-8");
    let output = wakelab(&["conform", folder]);
    assert_eq!(output.status.code(), Some(2));
    let errors = stderr(&output);
    assert!(errors.contains("7.2-A-hb.csv:2: column features: SIS_PROP is on"), "{errors}");
    assert!(errors.contains("hint: --with NO_SIS_PROP"), "{errors}");
    let output = wakelab(&["conform", folder, "--with", "NO_SIS_PROP"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// `wakelab explain ... | head` is no error.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wakelab"))
        .current_dir(recordings)
        .args(["explain", "."])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stderr(&output), "");
    assert!(output.status.success(), "{:?}", output.status);
}

#[test]
fn kernel_list_show_and_diff() {
    let list = stdout(&wakelab(&["kernel", "list"]));
    for name in wakelab_kernel::Preset::names() {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}:\n{list}");
    }
    let show = stdout(&wakelab(&["kernel", "show", "v6.12"]));
    for part in ["linux-source-6.12", "SIS_UTIL*", "sysctl_sched_base_slice", "sync_ignores_delayed"] {
        assert!(show.contains(part), "{part}:\n{show}");
    }
    let diff = json(&wakelab(&["kernel", "show", "v6.1", "--diff", "v6.12", "--format", "json"]));
    let code = diff["diff"]["code"].as_array().expect("fields");
    assert!(code.iter().any(|field| field["name"] == "sync_ignores_delayed"), "{diff}");
    let output = wakelab(&["kernel", "show", "v6.13"]);
    assert_eq!(output.status.code(), Some(2));
    let error = "no preset for kernel v6.13; the nearest are v6.12 and v6.18";
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
    let output = wakelab(&["kernel", "show", "6.12.40"]);
    assert_eq!(
        (stdout(&output), stderr(&output)),
        (show, "kernel 6.12.40: simulated by the preset v6.12\n".to_owned())
    );
}

/// Nothing of a progress bar where nobody watches.
#[test]
fn output_to_a_pipe_is_data_only() {
    let output = wakelab(&["conform", "."]);
    assert_eq!(stderr(&output), "");
    assert!(!stdout(&output).contains('\u{1b}'));
}

/// What the shell is offered for the last of these words.
fn completed(words: &[&str]) -> Vec<String> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_wakelab"));
    let at = words.len().to_string();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", at).env("_CLAP_IFS", "\n");
    let output = command.arg("--").arg("wakelab").args(words).output().expect("wakelab runs");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_names() {
    assert!(completed(&["comp"]).iter().any(|word| word == "compare"));
    assert_eq!(completed(&["compare", "--machine", "i7-"]), ["i7-2600k"]);
    assert!(completed(&["compare", "--kernel", "v6."]).contains(&"v6.12".to_owned()));
    assert_eq!(completed(&["compare", "--workload", "netperf:t"]), ["netperf:TCP_RR"]);
    assert_eq!(completed(&["compare", "--base", "SIS_PROP,NO_SIS_FIL"]), ["SIS_PROP,NO_SIS_FILTER"]);
    assert_eq!(completed(&["compare", "--with", "lazy=NO_SIS_FIL"]), ["lazy=NO_SIS_FILTER"]);
    assert_eq!(completed(&["compare", "--with", "old=SIS_PROP,kernel=v6.8"]), ["old=SIS_PROP,kernel=v6.8"]);
    assert_eq!(completed(&["compare", "--with", "kernel=v6.8"]), ["kernel=v6.8"]);
    assert!(completed(&["sur"]).iter().any(|word| word == "survey"));
    assert_eq!(completed(&["survey", "--only", "NO_SIS_FIL"]), ["NO_SIS_FILTER"]);
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = stdout(&wakelab(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> =
        commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"trace") && commands.len() > 12, "{commands:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&wakelab(&["completions", shell]));
        assert!(script.contains("COMPLETE=") || script.contains("COMPLETE "), "{shell}: {script}");
    }
    let output = wakelab(&["man", folder.path().to_str().expect("UTF-8")]);
    assert!(output.status.success());
    for command in commands.iter().filter(|command| **command != "help") {
        let page = fs::read_to_string(folder.path().join(format!("wakelab-{command}.1"))).expect(command);
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    let output = wakelab(&["man", "no/where"]);
    assert_eq!(output.status.code(), Some(2));
}
