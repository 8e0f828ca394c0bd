//! What every command keeps to on a terminal: docs/terminal.md.

use crate::support::wakelab;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Output;

/// A screen.
const LINES: usize = 42;
const COLUMNS: usize = 80;

/// All commands by what is typed: those of commands, and the program itself.
fn commands() -> Vec<String> {
    fn add(above: &str, command: &clap::Command, into: &mut Vec<String>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{above} {}", command.get_name()).trim().to_owned();
            add(&name, command, into);
            into.push(name);
        }
    }
    let mut all = vec![String::new()];
    add("", &wakelab_cli::arguments(), &mut all);
    all
}

fn clone() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn wakelab_in_clone(args: &[&str]) -> Output {
    wakelab(clone(), args)
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (text(&output.stdout), text(&output.stderr))
}

fn help(command: &str) -> String {
    let args: Vec<&str> = command.split_whitespace().chain(["-h"]).collect();
    let output = on_terminal(&args, &[("NO_COLOR", "1")], COLUMNS as u16);
    output.replace("\r\n", "\n")
}

/// What a terminal of this width gets to see.
fn on_terminal(args: &[&str], env: &[(&str, &str)], columns: u16) -> String {
    on_terminal_until(args, env, columns, None)
}

/// The same up to where it gets to see this.
fn on_terminal_until(args: &[&str], env: &[(&str, &str)], columns: u16, until: Option<&str>) -> String {
    let (mut pty, pts) = pty_process::blocking::open().expect("a terminal");
    pty.resize(pty_process::Size::new(LINES as u16, columns)).expect("its size");
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_wakelab"));
    let command = command.args(args).current_dir(clone()).env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let mut child = command.envs(env.iter().copied()).spawn(pts).expect("it runs");
    let (mut all, mut some, mut ended) = (Vec::new(), [0; 4096], false);
    loop {
        match pty.read(&mut some) {
            Ok(n @ 1..) => {
                all.extend_from_slice(&some[..n]);
                if until.is_some_and(|until| String::from_utf8_lossy(&all).contains(until)) {
                    child.kill().expect("it runs still");
                }
            }
            // The end of a terminal is an error on Linux. It was seen before the rest of what a program had written,
            // so that it counts only once the program has ended.
            _ if ended => break,
            _ => {
                ended = child.try_wait().expect("its state").is_some();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
    child.wait().expect("it ends");
    String::from_utf8(all).expect("UTF-8")
}

#[test]
fn help_fits_a_screen_and_has_an_example() {
    for command in commands() {
        let help = help(&command);
        let lines: Vec<&str> = help.lines().collect();
        assert!((6..=LINES).contains(&lines.len()), "{command}: {} lines\n{help}", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= COLUMNS, "{command}: {line}");
        }
        let subcommand = command.contains(' ');
        assert!(subcommand || help.contains("Example"), "{command} has no example:\n{help}");
    }
}

/// Their examples need files of other programs or commands, and what only released programs have in them.
const WITHOUT: [&str; 3] = ["import", "diff", "playground"];

/// The examples of help, as they are printed there.
#[test]
fn the_examples_of_help_work() {
    let mut seen = 0;
    for command in commands() {
        if command.contains(' ') || WITHOUT.contains(&&*command) {
            continue;
        }
        let help = help(&command).split("\\\n").map(str::trim_start).collect::<String>();
        let after = help.split("\nExample").nth(1).expect("examples");
        for line in after.lines().skip(1).take_while(|line| line.starts_with("  ")) {
            let typed = line.trim().split("  ").filter(|part| !part.trim().is_empty()).collect::<Vec<_>>();
            // What comes after a wide gap says what the example does; an example that goes on after a line's end has a
            // gap, too.
            assert!(!typed.is_empty(), "{command}: {line:?}");
            let typed = if line.contains("--load") { typed.join(" ") } else { typed[0].to_owned() };
            let typed = typed.split('>').next().unwrap_or_default().to_owned();
            let mut args: Vec<&str> = typed.split_whitespace().skip(1).collect();
            let out = tempfile::tempdir().expect("a folder");
            let folder = out.path().to_str().expect("UTF-8");
            let file = format!("{folder}/out.pftrace");
            for arg in &mut args {
                *arg = match *arg {
                    "." => folder,
                    "out.pftrace" | "captured.toml" => &file,
                    other => other,
                };
            }
            if matches!(args[0], "demo" | "run" | "reproduce" | "fit" | "calibrate" | "verify" | "whatif" | "survey") {
                // Minutes, or minutes without optimisation; a file that is not there would be said at once.
                args.push("--help");
            }
            let output = wakelab_in_clone(&args);
            assert!(output.status.success(), "{typed}: {}", said(&output).1);
            seen += 1;
        }
    }
    assert!(seen >= 16, "{seen} examples");
}

#[test]
fn tables_fit_the_terminal_and_pipes_get_a_row_for_each_line() {
    let narrow = [
        &["kernel", "list"][..],
        &["kernel", "show", "v6.12"],
        &["kernel", "show", "v6.12", "--diff", "v6.1"],
        &["machine", "list"],
        &["workload", "list"],
        &["stats", "data/recordings/6.12-C-hb.csv.gz", "--by", "comm,cpu"],
    ];
    for args in narrow {
        for columns in [80, 100, 140] {
            let shown = on_terminal(args, &[], columns);
            // Sentences about the whole come first, and are the terminal's to wrap.
            let table = shown.lines().skip_while(|line| args[1] == "show" && !line.starts_with("feature "));
            for line in table.filter(|line| line.contains("  ")) {
                let width = line.trim_end().chars().count();
                assert!(width <= usize::from(columns), "{args:?} at {columns}: {width}: {line}");
            }
        }
        let piped = said(&wakelab_in_clone(args)).0;
        let wide = on_terminal(args, &[], 1000).replace("\r\n", "\n");
        assert_eq!(piped, wide, "{args:?}: a terminal that is wide enough shows what a pipe gets");
    }
}

#[test]
fn colours_are_for_terminals_and_say_nothing_alone() {
    let plain = |text: &str| console_free(&text.replace("\r\n", "\n"));
    for args in [&["compare", "-h"][..], &["stats", "--formt"], &["kernel", "show", "v6.13"]] {
        let coloured = on_terminal(args, &[], 100);
        let without = on_terminal(args, &[("NO_COLOR", "1")], 100);
        assert!(!without.contains('\x1b'), "{args:?}: {without:?}");
        assert_eq!(plain(&coloured), plain(&without), "{args:?}");
        let output = wakelab_in_clone(args);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{args:?}");
    }
    assert!(on_terminal(&["compare", "-h"], &[], 100).contains('\x1b'), "help is easier to read with colours");
}

/// Without escape sequences.
fn console_free(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

const CASE: [&str; 18] = [
    "compare",
    "--machine",
    "test-8c",
    "--kernel",
    "v6.1",
    "--workload",
    "netperf:TCP_RR",
    "--load",
    "2",
    "--base",
    "SIS_UTIL",
    "--with",
    "NO_SIS_UTIL",
    "--time",
    "5ms",
    "--repeat",
    "1",
    "--no-cache",
];

#[test]
fn quiet_and_verbose_change_what_goes_to_stderr_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let traces = folder.path().join("traces");
    let traces = traces.to_str().expect("UTF-8");
    let run = |more: &[&str]| {
        let output = wakelab_in_clone(&[&CASE[..], &["--perfetto", traces], more].concat());
        assert!(output.status.success(), "{}", said(&output).1);
        said(&output)
    };
    let (usual, quiet, verbose) = (run(&[]), run(&["--quiet"]), run(&["-v"]));
    assert_eq!((&usual.0, &usual.0), (&quiet.0, &verbose.0));
    assert_eq!(quiet.1, "");
    assert!(usual.1.contains("switches") && !usual.1.contains("took"), "{}", usual.1);
    assert!(verbose.1.contains("run 2 of 2: netperf:TCP_RR") && verbose.1.contains("took "), "{}", verbose.1);
    let both = wakelab_in_clone(&["kernel", "list", "-q", "-v"]);
    assert_eq!(both.status.code(), Some(2));
    let error = wakelab_in_clone(&["kernel", "show", "v6.13", "--quiet"]);
    assert!(error.status.code() == Some(2) && said(&error).1.starts_with("error: "), "errors are said in any case");
}

#[test]
fn names_that_are_nearly_right_are_recognised() {
    let recording = "data/recordings/6.12-C-hb.csv.gz";
    let case = |flag: &str, value: &'static str| {
        let mut args = CASE;
        let at = args.iter().position(|arg| *arg == flag).expect("the flag");
        args[at + 1] = value;
        args.to_vec()
    };
    let refused = [
        (vec!["compar"], "'compare'"),
        (vec!["machine", "lst"], "'list'"),
        (vec!["stats", recording, "--formt", "json"], "'--format'"),
        (vec!["stats", recording, "--format", "jsn"], "'json'"),
        (vec!["stats", recording, "--by", "com"], "'comm'"),
        (vec!["explain", recording, "--reason", "limt"], "'limit'"),
        (vec!["replay", recording, "--with", "NO_SIS_UTI"], "did you mean `SIS_UTIL`"),
        (vec!["replay", recording, "--with", "SIS_PROP", "--assume", "avg_idl=1us"], "did you mean `avg_idle`"),
        (vec!["reproduce", "sis_util-result"], "did you mean `sis_util-results`"),
        (vec!["kernel", "show", "v5.19-rc3"], "did you mean `v5.19-rc1`"),
        (vec!["machine", "show", "intel-1s56c112"], "did you mean `intel-1s56c112t`"),
        (vec!["workload", "show", "netperf:TCP_R"], "did you mean `netperf:TCP_RR`"),
        (case("--machine", "test-8"), "did you mean `test-8c`"),
        (case("--kernel", "v5.18-aes"), "did you mean `v5.18-eas`"),
        (case("--workload", "netprf:TCP_RR"), "did you mean `netperf:TCP_RR`"),
        (case("--with", "SIS_UTL"), "did you mean `SIS_UTIL`"),
        (case("--with", "nr_migrat=3"), "did you mean `nr_migrate`"),
        (case("--with", "governr=schedutil"), "did you mean `governor`"),
        (case("--with", "governor=schedutl"), "did you mean `schedutil`"),
    ];
    for (args, expected) in refused {
        let output = wakelab_in_clone(&args);
        let (out, error) = said(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{args:?}: {error}");
        assert!(error.starts_with("error: ") && error.contains(expected), "{args:?}: {error}");
    }
}

/// Half-way through a long simulation.
#[test]
fn work_that_takes_long_says_how_much_is_left() {
    let long = [&CASE[..14], &["3000s", "--no-cache", "--jobs", "1"]].concat();
    let shown = on_terminal_until(&long, &[], 100, Some(" left"));
    assert!(shown.contains(" runs, ") && shown.contains(" left"), "{shown}");
}

#[test]
fn the_page_of_rules_has_every_exit_code() {
    let page = fs::read_to_string(clone().join("docs/terminal.md")).expect("the page");
    for code in ["| 0 |", "| 1 |", "| 2 |", "| 130 |"] {
        assert!(page.contains(code), "{code}");
    }
    let long = said(&wakelab_in_clone(&["--help"])).0;
    for line in ["0    all is well", "1    a choice differs", "2    bad input", "130  Ctrl-C"] {
        assert!(long.contains(line), "{line}:\n{long}");
    }
}

/// A task can give itself any name of 15 bytes (`prctl(PR_SET_NAME)`), and files have any name.
#[test]
fn no_name_reaches_the_terminal_as_an_escape_sequence() {
    use std::io::Read;
    let folder = tempfile::tempdir().expect("a folder");
    let recordings = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    let packed = std::fs::File::open(recordings.join("6.12-C-hb.csv.gz")).expect("a recording");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_string(&mut text).expect("text");
    let named = text.replace("ld,", "\u{1b}]0;x\u{7}\u{9b}2J,").replace(",hb,", ",\u{1b}hb,");
    assert_ne!(named, text);
    std::fs::write(folder.path().join("named.csv"), named).expect("written");
    std::fs::copy(recordings.join("topo-6.12-C.json"), folder.path().join("topo-6.12-C.json")).expect("copied");
    let obeyed = |text: &str| text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    for args in [
        &["stats", "named.csv", "--by", "comm,task"][..],
        &["explain", "named.csv", "--limit", "30"],
        &["explain", "named.csv", "--summary"],
        &["explain", "\u{1b}[2Jnone.csv"],
        &["machine", "show", "./\u{1b}[2J.toml"],
        &["run", "\u{1b}[2J.toml"],
    ] {
        let output = crate::support::wakelab(folder.path(), args);
        let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!obeyed(&out) && !obeyed(&said), "{args:?}: {out:?} {said:?}");
        assert!(out.contains("\\u{1b}") || said.contains("\\u{1b}"), "{args:?}: {out} {said}");
    }
}
