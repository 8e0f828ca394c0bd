//! The program alone, in a folder that has nothing of a clone.

use crate::support::{names, wakelab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::{TempDir, tempdir};

fn empty() -> TempDir {
    tempdir().expect("a folder")
}

/// Runs it; gives the exit code, stdout and stderr.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = wakelab(folder, args);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_demo_shows_a_difference_and_explains_it_in_ten_lines() {
    let folder = empty();
    let (code, out, said) = run(folder.path(), &["demo"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("verdict: SIS_UTIL is better than SIS_PROP in 1 of 2 rows"), "{out}");
    assert!(out.contains("1 identical"), "the text says that no limit is reached in the first row: {out}");
    let explained = out.lines().skip_while(|line| !line.starts_with(" 1  ")).count();
    assert_eq!(explained, 10, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 120), "{out}");
    assert!(names(folder.path()).is_empty(), "nothing is left behind");
}

#[test]
fn the_recordings_of_the_program_can_be_read() {
    let folder = empty();
    let (code, next, said) = run(folder.path(), &["demo", "--recordings", "rec"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(names(&folder.path().join("rec")), ["6.12-C-hb.csv.gz", "sis-prop-6.1", "topo-6.12-C.json"]);
    let mut commands = 0;
    for line in next.lines().filter(|line| line.starts_with("wakelab ")) {
        let mut typed =
            line.split("  ").next().expect("a command").replacen("wakelab", env!("CARGO_BIN_EXE_wakelab"), 1);
        if line.contains(" survey ") {
            // One policy in place of fifty.
            typed += " --only SIS_SHORT";
        }
        let output = Command::new("sh").args(["-c", &typed]).current_dir(folder.path()).output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !output.stdout.is_empty(), "{typed}: {said}");
        commands += 1;
    }
    assert_eq!(commands, 8);

    let again = run(folder.path(), &["demo", "--recordings", "rec"]);
    assert_eq!(again.0, Some(0), "the same files are there already");
    fs::write(folder.path().join("rec/6.12-C-hb.csv.gz"), "mine").expect("written");
    let (code, _, said) = run(folder.path(), &["demo", "--recordings", "rec"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--recordings: rec/6.12-C-hb.csv.gz") && said.contains("hint: "), "{said}");
}

const SHORT: &str = r#"
machine = "test-8c"
kernel = "v6.1"
settle = "1ms"
time = "2ms"
workload = [{ name = "netperf:TCP_RR", load = "2" }]
variants = { base = "SIS_UTIL", with = "NO_SIS_UTIL" }
"#;

#[test]
fn experiments_are_run_by_name_and_files_go_first() {
    let folder = empty();
    let (code, out, said) = run(folder.path(), &["run", "demo", "--format", "csv", "--repeat", "1"]);
    assert_eq!(code, Some(0), "{said}");
    let clone = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let by_path = run(clone, &["run", "data/experiments/demo.toml", "--format", "csv", "--repeat", "1"]);
    assert_eq!(out, by_path.1, "the program's own file gives what that of the clone gives");

    fs::write(folder.path().join("demo"), SHORT).expect("written");
    let (code, out, said) = run(folder.path(), &["run", "demo", "--format", "csv"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("test-8c"), "{out}");
    assert!(names(folder.path()) == ["demo"], "nothing is left behind");
}

/// That reads the published tables which it names.
#[test]
fn the_quickstart_prints_published_figures() {
    let folder = empty();
    let args = ["run", "quickstart", "--format", "json", "--seed", "1"];
    let (code, out, said) = run(folder.path(), &args);
    assert_eq!(code, Some(0), "{said}");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert!(out.contains("197.3") && json["rows"].as_array().is_some_and(|rows| rows.len() == 3), "{out}");
    // Wherever they were unpacked: the same seed gives the same bytes.
    assert_eq!(json["published"][0], "experiments/../published/sis_util-results.csv");
}

#[test]
fn wrong_names_of_experiments_are_said_with_the_next_step() {
    let folder = empty();
    for (name, expected, hint) in [
        ("quickstrt", "did you mean `quickstart`?", "`wakelab list experiments`"),
        ("data/experiments/quickstart.toml", "there is no such file", "`wakelab run quickstart`"),
        ("./mine.toml", "No such file", "an experiment is a TOML file"),
    ] {
        let (code, out, said) = run(folder.path(), &["run", name]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{name}");
        assert!(said.contains(name) && said.contains(expected) && said.contains(hint), "{said}");
    }
}

#[test]
fn published_tables_are_the_programs_own_unless_a_folder_has_some() {
    let folder = empty();
    let (code, out, said) = run(folder.path(), &["reproduce", "sis_util-results", "--quick", "--dry-run"]);
    assert!(code == Some(0) && out.contains("sis_util-results"), "{said}");
    let (code, _, said) = run(folder.path(), &["reproduce", "sis_util-result"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("did you mean `sis_util-results`") && said.contains("`wakelab list tables`"), "{said}");

    // Its machine and its workload are files beside the table, and are called by the names in them.
    let beside = ["reproduce", "t14-asym-smt-vera-rubin", "--quick", "--format", "csv", "--no-cache"];
    let (code, out, said) = run(folder.path(), &beside);
    let row = "t14-asym-smt-vera-rubin,nvidia-vera-rubin-88c176t,unequal-cpus,nvblas:team,88,higher,higher,60.0,";
    assert!(code == Some(0) && out.lines().count() == 2 && out.contains(row), "{out}{said}");

    fs::create_dir(folder.path().join("published")).expect("a folder");
    let (code, _, said) = run(folder.path(), &["reproduce", "--dry-run"]);
    assert!(code == Some(2) && said.contains("published"), "{said}");
}

#[test]
fn the_book_is_listed_printed_and_written() {
    let folder = empty();
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let page = |name: &str| fs::read_to_string(docs.join(name)).expect("a page");
    let list = run(folder.path(), &["docs"]).1;
    assert!(list.contains("\nBegin\n") && list.contains("  judge-a-patch "), "{list}");
    for (typed, file) in [
        ("trust", "trust.md"),
        ("Why-There", "why-there.md"),
        ("docs/terminal.md", "terminal.md"),
        ("kernels", "kernels/README.md"),
        ("v6", "kernels/v6.md"),
        ("validation", "evidence/validation.md"),
    ] {
        let (code, out, said) = run(folder.path(), &["docs", typed]);
        assert_eq!((code, out), (Some(0), page(file)), "{typed}: {said}");
    }
    for typed in ["two-states", "worked-cases#two-states", "Two states", "docs/worked-cases.md#two-states"] {
        let (code, out, said) = run(folder.path(), &["docs", typed]);
        assert!(
            code == Some(0) && out.starts_with("## Two states\n") && out.matches("\n## ").count() == 0,
            "{typed}: {said}"
        );
    }
    let (code, out, said) = run(folder.path(), &["docs", "trust#no"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("trust has no such section"), "{said}");
    let (code, out, said) = run(folder.path(), &["docs", "trsut"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(said.contains("did you mean `trust`?") && said.contains("`wakelab docs` lists"), "{said}");

    let (code, out, said) = run(folder.path(), &["docs", "--search", "SIS_Util"]);
    assert_eq!(code, Some(0), "{said}");
    let first = out.lines().next().expect("a section");
    let (_, section, _) = run(folder.path(), &["docs", first]);
    assert!(section.contains("SIS_UTIL"), "{first}: {section}");
    let (code, out, said) = run(folder.path(), &["docs", "--search", "no such words"]);
    assert_eq!((code, out.as_str(), said.as_str()), (Some(1), "", "no page has \"no such words\"\n"));

    let (code, _, said) = run(folder.path(), &["docs", "--write", "book"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(names(&folder.path().join("book")), names(docs));
    assert_eq!(fs::read_to_string(folder.path().join("book/trust.md")).expect("a page"), page("trust.md"));
}

#[test]
fn everything_is_listed() {
    let folder = empty();
    for (what, name) in [
        ("machines", "intel-1s56c112t"),
        ("kernels", "v6.12"),
        ("workloads", "netperf:TCP_RR"),
        ("features", "SIS_UTIL"),
        ("policies", "SIS_SHORT"),
        ("experiments", "quickstart"),
        ("tables", "t08-next-buddy-v4-intel-2s80t"),
    ] {
        let (code, out, said) = run(folder.path(), &["list", what]);
        assert_eq!(code, Some(0), "{said}");
        assert!(out.lines().any(|line| line.split_whitespace().next() == Some(name)), "{what}: {out}");
        let json: Value =
            serde_json::from_str(&run(folder.path(), &["list", what, "--format", "json"]).1).expect("JSON");
        let key = if json[what].is_array() { what } else { panic!("{what}: {json}") };
        assert!(json[key].as_array().is_some_and(|list| !list.is_empty()), "{json}");
        assert!(run(folder.path(), &["list"]).1.contains(what));
    }
}

#[test]
fn the_doctor_has_a_line_for_each_and_an_exit_code() {
    let folder = empty();
    let (code, out, said) = run(folder.path(), &["doctor", "simulate"]);
    assert_eq!((code, out.lines().count()), (Some(0), 1), "{out}{said}");
    let (code, out, _) = run(folder.path(), &["doctor"]);
    assert_eq!(out.lines().count(), 7, "{out}");
    let missing = out.lines().any(|line| line.split_whitespace().nth(1) == Some("no"));
    assert_eq!(code, Some(i32::from(missing)), "{out}");
    let json: Value = serde_json::from_str(&run(folder.path(), &["doctor", "--format", "json"]).1).expect("JSON");
    assert_eq!(json["doctor"].as_array().map(Vec::len), Some(7));
}
