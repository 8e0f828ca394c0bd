//! Sides that name a scheduler by its crate or its source.
//!
//! What needs clang and cargo's registry runs if `WAKELAB_SCHEDULERS` is 1, as `./test schedulers` sets it.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SOURCE: &str = include_str!("../../../bpf/tests/data/scx_simple.bpf.c");
const OBJECT: &str = concat!("scx:", env!("CARGO_MANIFEST_DIR"), "/../bpf/tests/data/scx_simple.bpf.o");

/// Whether what needs clang and the registry is to run.
fn complete() -> bool {
    let complete = std::env::var_os("WAKELAB_SCHEDULERS").is_some_and(|set| set == "1");
    if !complete {
        eprintln!("not run: WAKELAB_SCHEDULERS=1 runs what needs clang and cargo's registry");
    }
    complete
}

/// A folder with a source, outside of all crates.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scx_simple.bpf.c"), SOURCE).unwrap();
    folder
}

fn program(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("wakelab").unwrap();
    command.current_dir(folder).args(args);
    command
}

/// `wakelab compare` for a few milliseconds, with what is kept in the folder.
fn compare(folder: &Path, base: &str, with: &str, more: &[&str]) -> Command {
    let args = [
        ["compare", "--cache", "cache", "--machine", "test-2c", "--kernel", "v7.2"].as_slice(),
        &["--workload", "netperf:TCP_RR", "--load", "2", "--settle", "5ms", "--time", "20ms", "--repeat", "1"],
        &["--base", base, "--with", with],
        more,
    ];
    program(folder, &args.concat())
}

#[track_caller]
fn told(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn refused(mut command: Command, expected: &[&str]) {
    let output = command.output().unwrap();
    let (out, errors) = told(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{errors}");
    let error = errors.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(error.starts_with("error: --with: scx:"), "{errors}");
    for part in expected {
        assert!(error.contains(part), "{part}: {errors}");
    }
}

#[test]
fn without_clang_or_cargo_it_says_what_to_install() {
    let folder = folder();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let with = |with: &str| {
        let mut command = compare(folder.path(), "", with, &[]);
        command.env("PATH", &empty).env("CARGO", "/nowhere/cargo").env_remove("BPF_CLANG");
        command
    };
    let clang = ["install clang 18 or newer (apt-get install clang-19), or name it in BPF_CLANG"];
    refused(with("scx:scx_simple.bpf.c"), &["scx_simple.bpf.c: there is no clang; ", clang[0]]);
    let mut command = with("scx:scx_simple.bpf.c");
    command.env("BPF_CLANG", "/bin/false");
    refused(command, &["BPF_CLANG: /bin/false --version does not print a clang version; ", clang[0]]);
    let cargo = ["/nowhere/cargo cannot be run", "install it (apt-get install cargo, or https://rustup.rs)"];
    refused(with("scx:scx_bpfland@1.1.4"), &cargo);
}

/// A source is compiled wherever a side can be named: without clang, each of these says what to install.
#[test]
fn scores_sweeps_and_surveys_compile_too() {
    let folder = folder();
    let part = "machine = \"test-2c\"\nkernel = \"v7.2\"\nworkload = [{ name = \"netperf:TCP_RR\", load = \"2\" }]\n";
    fs::write(folder.path().join("panel.toml"), format!("[[part]]\n{part}")).unwrap();
    let side = "side = \"scx:scx_simple.bpf.c\"\n";
    fs::write(folder.path().join("sweep.toml"), format!("[[grid]]\n{side}{part}")).unwrap();
    let survey = ["--machine", "test-2c", "--kernel", "v7.2", "--quick"];
    for args in [
        ["score", "panel.toml", "--with", "scx:scx_simple.bpf.c"].as_slice(),
        &["sweep", "sweep.toml", "--out", "out"],
        &[["survey"].as_slice(), &survey, &["--only", "scx:scx_simple.bpf.c"]].concat(),
    ] {
        let mut command = program(folder.path(), &[args, &["--cache", "cache"]].concat());
        let output = command.env("BPF_CLANG", "/bin/false").output().unwrap();
        let (out, errors) = told(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{args:?}: {errors}");
        assert!(errors.contains("install clang 18 or newer"), "{args:?}: {errors}");
    }
}

/// The object is of the kernel's own headers and another processor version: its decisions are the same, its
/// instructions, and thus its time, are not quite.
#[test]
fn a_source_does_what_its_object_does() {
    if !complete() {
        return;
    }
    let folder = folder();
    let with = |file: &str| compare(folder.path(), OBJECT, &format!("scx:{file}"), &["--format", "csv"]);
    let output = with("scx_simple.bpf.c").output().unwrap();
    let (csv, errors) = told(&output);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("compiling scx_simple: 1 source, clang "), "{errors}");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let at = rows.headers().unwrap().iter().position(|name| name == "compare_pct").expect("the column");
    let differences: Vec<f64> = rows.records().map(|row| row.unwrap()[at].parse().unwrap()).collect();
    assert!(!differences.is_empty() && differences.iter().all(|pct| pct.abs() < 2.0), "{csv}");
    // It is kept, and made again if it differs.
    let (again, errors) = told(&with("./scx_simple.bpf.c").output().unwrap());
    assert!(again.lines().count() == csv.lines().count() && !errors.contains("compiling"), "{errors}");
    fs::write(folder.path().join("bad.bpf.c"), SOURCE.replace("UEI_DEFINE(uei);", "UEI_DEFINE(uei); int x = nope;"))
        .unwrap();
    refused(with("bad.bpf.c"), &["bad.bpf.c:30:", "error: use of undeclared identifier 'nope'"]);
    // An experiment's paths begin at its file.
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::copy(folder.path().join("scx_simple.bpf.c"), inner.join("mine.bpf.c")).unwrap();
    let experiment = "name = \"mine\"\nmachine = \"test-2c\"\nkernel = \"v7.2\"\nrepeats = 1\nsettle = \"5ms\"\n\
                      time = \"20ms\"\n[[workload]]\nname = \"netperf:TCP_RR\"\nload = \"2\"\n\
                      [variants]\nbase = \"\"\nwith = \"scx:mine.bpf.c\"\n";
    fs::write(inner.join("mine.toml"), experiment).unwrap();
    let output = program(folder.path(), &["run", "inner/mine.toml", "--cache", "cache"]).output().unwrap();
    let (text, errors) = told(&output);
    assert!(text.contains("scheduler mine (base the fair class)"), "{text}{errors}");
}

/// One of one source, and one of two, which clang links.
#[test]
fn crates_run_in_the_version_that_is_named() {
    if !complete() {
        return;
    }
    let folder = folder();
    for (name, version, sources) in [("scx_bpfland", "1.1.4", "1 source"), ("scx_cosmos", "1.1.7", "2 sources")] {
        let side = format!("scx:{name}@{version}");
        let output = compare(folder.path(), "", &side, &[]).output().unwrap();
        let (text, errors) = told(&output);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert!(errors.contains(&format!("compiling {name} {version}: {sources}, clang ")), "{errors}");
        assert!(text.contains(&format!("scheduler {name} {version} (base the fair class)")), "{text}");
    }
    // A crate's folder is the crate.
    let crates = folder.path().join("cache/schedulers/crates/scx_cosmos-1.1.7");
    let output = compare(folder.path(), "", &format!("scx:{}", crates.display()), &[]).output().unwrap();
    let (text, errors) = told(&output);
    assert!(text.contains("scheduler scx_cosmos 1.1.7 (base the fair class)"), "{text}{errors}");
    assert!(!errors.contains("compiling"), "the object is that of the crate: {errors}");
}

#[test]
fn what_the_registry_does_not_have_is_told() {
    if !complete() {
        return;
    }
    let folder = folder();
    let with = |name: &str| compare(folder.path(), "", &format!("scx:{name}"), &["--dry-run"]);
    refused(with("scx_no_such_scheduler"), &["there is no crate scx_no_such_scheduler; expected one of the public"]);
    refused(with("scx_bpfland@9.9.9"), &["crate scx_bpfland has no version 9.9.9", "1.1.4"]);
    refused(with("scx_rustland@1.1.4"), &["it uses RustLandBuilder", "not modelled"]);
    // Whatever becomes of a version to come, it is named.
    let (_, errors) = told(&with("scx_bpfland").output().unwrap());
    assert!(errors.contains("scx_bpfland is scx_bpfland "), "{errors}");
}
