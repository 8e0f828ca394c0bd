//! Recordings in Parquet as users have them: whole, cut off, foreign, newer, empty, mixed up.

use crate::support::{names, wakelab};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sis-prop-6.1")
}

fn decisions() -> Vec<u8> {
    fs::read(recording().join("decisions-00001.parquet")).expect("a file")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    assert_eq!(text(&output.stderr), "");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The same file with another value, of the same length, in its metadata.
fn with_value(file: &[u8], key: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = file.windows(key.len()).rposition(|bytes| bytes == key.as_bytes()).expect("the key");
    let value = at + file[at..].windows(from.len()).position(|bytes| bytes == from.as_bytes()).expect("the value");
    let mut changed = file.to_vec();
    changed[value..value + to.len()].copy_from_slice(to.as_bytes());
    // Files of before have no checksum, and this one's is of the other value.
    const CHECKSUM: &[u8] = b"wakelab.checksum";
    let at = changed.windows(CHECKSUM.len()).rposition(|bytes| bytes == CHECKSUM).expect("a checksum");
    changed[at] = b'W';
    changed
}

/// Each command refuses what is in `folder`, and says of which file what is wrong and what to do.
fn refused(folder: &Path, file: &str, expected: &str) {
    for command in [
        &["stats", "."][..],
        &["waits", "."],
        &["conform", "."],
        &["explain", "."],
        &["replay", ".", "--with", "NO_SIS_PROP"],
    ] {
        let output = wakelab(folder, command);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
        assert!(
            errors.contains(file) && errors.contains(expected) && errors.contains("hint: "),
            "{command:?}: {errors}"
        );
    }
}

/// The program brings it along: what is read of it is what was recorded.
#[test]
fn a_changed_bit_of_the_programs_own_recording_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sis-prop-6.1");
    for name in names(&own) {
        let bytes = fs::read(own.join(&name)).expect("a table");
        let file = folder.path().join(&name);
        for place in (1..8).map(|part| bytes.len() * part / 8) {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            fs::write(&file, changed).expect("written");
            let output = wakelab(folder.path(), &["stats", &name]);
            assert_eq!(output.status.code(), Some(2), "{name}, byte {place}");
        }
        fs::write(&file, bytes).expect("written");
        let output = wakelab(folder.path(), &["stats", &name]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("damaged"), "{name}");
        fs::remove_file(&file).expect("removed");
    }
}

#[test]
fn a_kernel_that_searched_by_sis_prop_is_agreed_with_and_replayed() {
    let conform = json(&wakelab(&recording(), &["conform", ".", "--format", "json"]));
    assert_eq!((&conform["scored"], &conform["equal"]), (&761.into(), &761.into()));
    let kernel = &conform["kernels"][0];
    assert_eq!((&kernel["kernel"], &kernel["kind"]), (&"v6.1".into(), &"recorded".into()));
    let why = text(&wakelab(&recording(), &["explain", ".", "--reason", "limit", "--limit", "1"]).stdout);
    assert!(why.contains("SIS_PROP allows "), "{why}");
    let replay = wakelab(&recording(), &["replay", ".", "--with", "SIS_UTIL,NO_SIS_PROP"]);
    let table = text(&replay.stdout);
    assert!(
        table.contains("first-order counterfactual") && table.contains("761 wake-ups of the kernel (v6.1)"),
        "{table}"
    );
    let replay = json(&wakelab(&recording(), &["replay", ".", "--with", "SIS_UTIL,NO_SIS_PROP", "--format", "json"]));
    // SIS_PROP gave up early where nr_idle_scan would have let it look on.
    assert!(replay["gained_idle"].as_u64() > Some(20), "{replay}");
    assert!(replay["recorded"]["missed"].as_u64() > replay["then"]["missed"].as_u64(), "{replay}");
}

/// docs/recording.md prints what DuckDB, pandas and polars say of this recording: the same comes of the program.
#[test]
fn the_queries_of_the_page_say_what_the_program_says() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording.md")).expect("the page");
    let rows = text(&wakelab(&recording(), &["explain", ".", "--format", "json"]).stdout);
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let by_hackbench: Vec<_> = rows.iter().filter(|row| row["waker"]["comm"] == "hackbench").collect();
    let sync = by_hackbench.iter().filter(|row| row["flags"] == "TTWU|SYNC").count();
    let share = sync as f64 / by_hackbench.len() as f64;
    assert!(page.contains(&format!("│ hackbench      │ {:5} │ {share:6.2} │", by_hackbench.len())), "{share}");
    let stayed = rows.iter().filter(|row| row["kernel_cpu"] == row["wakee"]["prev_cpu"]).count();
    assert!(
        page.contains(&format!("True   {stayed}.0 ")) && page.contains(&format!("False   {}.0 ", rows.len() - stayed))
    );
    let stats = json(&wakelab(&recording(), &["stats", ".", "--format", "json"]));
    let wait = &stats["runs"][0]["wait_ns"];
    let max = wait["max"].as_u64().expect("a wait") as f64;
    assert!(page.contains(&format!("│ max        ┆ {:.8}e8 │", max / 1e8)), "{wait}");
    let p50 = wait["p50"].as_u64().expect("a wait");
    assert!(p50.abs_diff(20_391) < 64 && page.contains("│ 50%        ┆ 20391.0 "), "{wait}");
    // A wakee that is woken again before it ran is not seen to end its first wait.
    let seen = wait["n"].as_u64().expect("waits") + stats["runs"][0]["unseen"].as_u64().expect("a number");
    assert!(page.contains(&format!("│ count      ┆ {seen}.0 ")), "{stats}");
}

#[test]
fn an_exec_does_not_wait() {
    let slow = text(&wakelab(&recording(), &["explain", ".", "--slowest", "1000"]).stdout);
    assert!(slow.contains("us after the wake-up") && slow.contains(" forks "), "{slow}");
    assert!(!slow.contains("executes another program"), "{slow}");
}

#[test]
fn tasks_are_explained_by_name() {
    let all = json(&wakelab(&recording(), &["explain", ".", "--summary", "--format", "json"]));
    let some =
        json(&wakelab(&recording(), &["explain", ".", "--summary", "--comm", "rcu_preempt", "--format", "json"]));
    let rows = |value: &Value| {
        value["groups"].as_array().expect("groups").iter().map(|g| g["rows"].as_u64().expect("rows")).sum::<u64>()
    };
    assert!(rows(&some) > 0 && rows(&some) < rows(&all), "{some}");
    let slow = text(&wakelab(&recording(), &["explain", ".", "--slowest", "2", "--comm", "rcu_preempt"]).stdout);
    assert_eq!(slow.matches("wakes rcu_preempt/").count(), 2, "{slow}");
}

#[test]
fn the_first_decision_from_a_time_on_is_the_first_by_time() {
    let explain = |args: &[&str]| {
        let output =
            wakelab(&recording(), &[&["explain", "decisions-00001.parquet", "--format", "json"], args].concat());
        let rows = text(&output.stdout);
        rows.lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["t_ns"].as_u64().expect("a time"))
            .collect::<Vec<_>>()
    };
    let in_file = explain(&[]);
    let mut by_time = in_file.clone();
    by_time.sort_unstable();
    assert_ne!(in_file, by_time, "rows that are out of order are what this holds");
    // From a time on before which a later one stands in the file.
    let late = (1..in_file.len()).find(|&at| in_file[at] < in_file[at - 1]).expect("out of order");
    let at = format!("{}.{:09}", in_file[late] / 1_000_000_000, in_file[late] % 1_000_000_000);
    assert_eq!(explain(&["--at", &at]), [in_file[late]]);
    let from = by_time.iter().position(|&time| time == in_file[late]).expect("there");
    assert_eq!(explain(&["--at", &at, "--limit", "5"]), by_time[from..from + 5]);
}

#[test]
fn the_slowest_of_a_reason_or_a_name_are_all_of_these() {
    let explain = |args: &str| {
        let args =
            [&["explain", "."], &args.split_whitespace().collect::<Vec<_>>()[..], &["--format", "json"]].concat();
        let rows = text(&wakelab(&recording(), &args).stdout);
        rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>()
    };
    for with in ["", "--with SIS_UTIL,NO_SIS_PROP"] {
        let all = explain(&format!("--slowest 1000 {with}"));
        for reason in ["scan", "limit"] {
            let of = all.iter().filter(|row| row["reason"] == reason).count();
            let found = explain(&format!("--slowest 1000 {with} --reason {reason}"));
            assert_eq!(found.len(), of, "{with} {reason}");
        }
    }
    let all = explain("--slowest 1000");
    let of = |row: &&Value, who: &str| row[who]["comm"] == "hackbench";
    let woken = all.iter().filter(|row| of(row, "wakee")).count();
    let either = all.iter().filter(|row| of(row, "wakee") || of(row, "waker")).count();
    assert!(woken < either, "{woken} of {either}");
    assert_eq!(explain("--slowest 1000 --comm hackbench").len(), either);
}

#[test]
fn a_row_that_is_not_stable_says_why() {
    let rows = text(&wakelab(&recording(), &["explain", ".", "--format", "json"]).stdout);
    let not_stable = rows.lines().filter(|row| row.contains("\"stable\":false")).count();
    let said = text(&wakelab(&recording(), &["explain", "."]).stdout);
    let conform = json(&wakelab(&recording(), &["conform", ".", "--format", "json"]));
    let causes = [
        ("idle_changed", "other CPUs became idle or busy meanwhile"),
        ("long", "the decision took 200 us or longer"),
        ("unknown", "an input is uncertain"),
    ];
    assert_eq!(said.matches("not stable: ").count(), not_stable);
    for (name, cause) in causes {
        let rows = conform["not_scored"][name].as_u64().unwrap_or(0);
        assert_eq!(said.matches(&format!("not stable: {cause}")).count() as u64, rows, "{name}");
    }
}

#[test]
fn an_assumed_value_says_where_it_was_read() {
    let said = |with: &str, assume: &str| {
        text(&wakelab(&recording(), &["replay", ".", "--with", with, "--assume", assume]).stdout)
    };
    let table = said("SIS_UTIL", "avg_scan_cost=4us");
    assert!(table.contains("Assumed at 761 wake-ups: ") && table.contains("at 761 of them in place of"), "{table}");
    assert!(table.contains("6 wake-ups left out: 6 not stable, 0 without an input"), "{table}");
    // This kernel reads wake_avg_idle.
    let table = said("SIS_UTIL", "avg_idle=4us");
    assert!(table.contains("Assumed, but not read at any wake-up: avg_idle 4000 ns"), "{table}");
}

#[test]
fn balancing_is_not_told_where_wake_ups_may_be_missing() {
    let said = text(&wakelab(&recording(), &["stats", "."]).stdout);
    assert!(said.contains("migrations by balancing are not counted"), "its recorder did not count: {said}");
    let stats = json(&wakelab(&recording(), &["stats", ".", "--format", "json"]));
    assert_eq!(stats["runs"][0]["balanced"], Value::Null);
}

/// The cells of the first run's row in the table of wake-ups, and those of a statistic of the searches.
fn cells(table: &str, name: &str) -> Vec<String> {
    let row = table.lines().find(|line| line.starts_with(&format!("{name}  ")) && !line.contains("recorded,"));
    row.unwrap_or_else(|| panic!("{name}: {table}")).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn what_an_imported_trace_does_not_have_is_not_zero() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/it/recorded/juno-4.19.ftrace.txt.gz");
    let output = wakelab(folder.path(), &["import", trace.to_str().expect("UTF-8"), "-o", "rec"]);
    let told = text(&output.stderr);
    assert!(output.status.success() && told.contains("ftrace text, 6 CPUs") && told.contains("of 6,676 ms"), "{told}");
    let table = text(&wakelab(folder.path(), &["stats", "rec", "--by", "comm"]).stdout);
    assert!(table.contains("1  recorded, 6 CPUs, juno-4.19.ftrace.txt.gz"), "{table}");
    assert_eq!(cells(&table, "1"), ["1", "1,068", "1", "8.1", "-", "4.0", "29.0", "61.0", "397.0", "-"]);
    for name in ["sis_search", "sis_failed", "fast_rate %", "choices"] {
        assert_eq!(cells(&table, name).last().map(String::as_str), Some("-"), "{name}: {table}");
    }
    let sshd = cells(&table, "sshd");
    assert_eq!((sshd[3].as_str(), &sshd[8..]), ("-", &["-".to_owned(), "-".to_owned()][..]), "{table}");
    let stats = json(&wakelab(folder.path(), &["stats", "rec", "--format", "json"]));
    let run = &stats["runs"][0];
    for unknown in ["other_llc", "balanced", "search", "chose"] {
        assert_eq!(run[unknown], Value::Null, "{unknown}");
    }
    assert_eq!((&run["moved_of"], &run["other_llc_of"]), (&1036.into(), &0.into()));
    assert_eq!(run["imported"]["tracepoints"], serde_json::json!(["sched_switch", "sched_wakeup"]));

    // Without switches nothing is known of waits and previous CPUs.
    let only = "  a-7 [000] d..2 1.5: sched_wakeup: comm=b pid=9 prio=120 target_cpu=001\n";
    fs::write(folder.path().join("only"), only).expect("written");
    assert!(wakelab(folder.path(), &["import", "only", "-o", "few"]).status.success());
    let table = text(&wakelab(folder.path(), &["stats", "few"]).stdout);
    assert_eq!(cells(&table, "1"), ["1", "1", "1", "-", "-", "-", "-", "-", "-", "-"], "{table}");
}

#[test]
fn an_import_with_caches_and_migrations_has_both_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/perf_data/linux-6.1.data");
    assert!(wakelab(folder.path(), &["import", trace.to_str().expect("UTF-8"), "-o", "rec"]).status.success());
    let table = text(&wakelab(folder.path(), &["stats", "rec"]).stdout);
    assert!(table.contains("6.1.0-50-cloud-amd64, QEMU TCG CPU version 2.5+, 2 CPUs, x86_64"), "{table}");
    let row = cells(&table, "1");
    assert_eq!([&row[4], &row[9]], ["0.0", "4"], "{table}");
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let newer = with_value(&decisions(), "wakelab.schema_version", "1.", "2.");
    fs::write(folder.path().join("decisions-00001.parquet"), newer).expect("written");
    refused(folder.path(), "decisions-00001.parquet", "expected schema version 1.");
}

#[test]
fn files_that_are_cut_off_or_foreign_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = decisions();
    let text = "name,age\nx,1\n".as_bytes();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for (file, bytes, expected) in [
        ("decisions-00001.parquet", &whole[..whole.len() / 2], "cannot be read"),
        ("decisions-00001.parquet", &whole[..4], "cannot be read"),
        ("decisions-00001.parquet", &png[..], "decisions-00001.parquet"),
        ("a.csv", text, "the header lacks"),
        ("a.csv", &png[..], "bytes that are not text"),
    ] {
        let path = folder.path().join(file);
        fs::write(&path, bytes).expect("written");
        refused(folder.path(), file, expected);
        fs::remove_file(path).expect("removed");
    }
}

#[test]
fn a_file_of_another_recorder_is_to_be_imported() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for file in ["trace_dat/linux-6.1.dat", "perf_data/linux-6.1.data"] {
        for command in ["stats", "explain", "conform"] {
            let output = wakelab(&corpus, &[command, file]);
            assert_eq!(output.status.code(), Some(2));
            assert!(text(&output.stderr).contains("`wakelab import FILE -o FOLDER`"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_missing_file_of_a_recording_is_named_and_the_others_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in [1, 3] {
        fs::write(folder.path().join(format!("decisions-0000{number}.parquet")), decisions()).expect("written");
    }
    refused(folder.path(), "decisions-00003.parquet", "the file decisions-00002.parquet before it is missing");
    let stats = wakelab(folder.path(), &["stats", ".", "--format", "json"]);
    let stats: Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    assert_eq!(stats["runs"][0]["wakeups"], 2 * 767);
}

#[test]
fn two_machines_in_one_folder_are_told_apart_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = with_value(&decisions(), "wakelab.workload", "hackbench", "otherload");
    for (name, bytes) in [("a", decisions()), ("b", other.clone())] {
        fs::create_dir(folder.path().join(name)).expect("made");
        fs::write(folder.path().join(name).join("decisions-00001.parquet"), bytes).expect("written");
    }
    let stats = json(&wakelab(folder.path(), &["stats", ".", "--format", "json"]));
    assert_eq!(stats["runs"].as_array().map(Vec::len), Some(2), "a folder each: told apart");
    fs::write(folder.path().join("a/decisions-00002.parquet"), other).expect("written");
    refused(
        &folder.path().join("a"),
        "decisions-00002.parquet",
        "expected a file of the same recording as decisions-00001",
    );
}
