//! Outputs that cannot be written and inputs that cannot be read: a clear error, and never half a file under the final
//! name.

use crate::support::{names, wakelab};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const CASE: &str = "compare --machine test-8c --kernel v6.1 --workload netperf:TCP_RR --load 4 --base SIS_UTIL --with \
                    NO_SIS_UTIL --settle 0s --time 20ms --no-cache";

fn recording() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/6.12-C-hb.csv.gz");
    path.to_str().expect("UTF-8").to_owned()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Ended so, with an error that has these in it; gives what it said.
fn failed(output: &Output, code: i32, parts: &[&str]) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "expected {part:?} in:\n{said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// A run with its events.
fn events(folder: &Path) -> String {
    let output = wakelab(folder, &[&words(CASE)[..], &["--events", "ev", "--out", "table"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(folder.join("table")).expect("the result");
    "ev/workload=netperf%3ATCP_RR/load=4%20threads/side=base/variant=SIS_UTIL/repeat=1".to_owned()
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_work_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("file"), "").expect("a file");
    let recording = recording();
    for place in ["nowhere/out", "file/out"] {
        let trace = wakelab(at, &["trace", &recording, "--perfetto", place]);
        failed(&trace, 2, &["error: --perfetto: ", place, "hint: "]);
        for flag in ["--out", "--html", "--events", "--perfetto"] {
            let output = wakelab(at, &[&words(CASE)[..], &[flag, place]].concat());
            failed(&output, 2, &[&format!("error: {flag}: "), place, "hint: "]);
            assert!(output.stdout.is_empty());
        }
        let man = wakelab(at, &["man", place]);
        failed(&man, 2, &["error: ", place, "hint: "]);
    }
    assert_eq!(names(at), ["file"]);
}

/// stdout on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn results_that_do_not_fit_are_an_error() {
    let recording = recording();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for args in [
        &["stats", &recording][..],
        &["explain", &recording],
        &["explain", &recording, "--summary"],
        &["replay", &recording, "--with", "NO_SIS_UTIL"],
        &["conform", &recording],
        &["kernel", "list"],
        &["completions", "bash"],
        &["machine", "list"],
        &["--help"],
        &["compare", "-h"],
        &["--version"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_wakelab")).args(args).stdout(full()).output().expect("it runs");
        failed(&output, 2, &["error: stdout: No space left on device", "hint: "]);
    }
    let trace = wakelab(Path::new("."), &["trace", &recording, "--perfetto", "/dev/full"]);
    failed(&trace, 2, &["error: --perfetto: /dev/full was not written: No space left on device"]);
}

/// A disk of 256 KiB, where this may be mounted; it is gone when the process is.
#[cfg(target_os = "linux")]
fn on_small_disk(folder: &Path, script: &str) -> Option<Output> {
    let disk = folder.join("disk");
    fs::create_dir_all(&disk).expect("a folder");
    let mount = "mount -t tmpfs -o size=256k none disk 2>/dev/null || exit 77; cd disk;";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", &format!("{mount} {script}")]);
    unshare.current_dir(folder).env("WAKELAB", env!("CARGO_BIN_EXE_wakelab"));
    unshare.output().ok().filter(|output| output.status.code() != Some(77) && output.status.code() != Some(1))
}

/// Where no disk can be mounted, the limit of a file's size does the same.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_half_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = format!("../{}", events(folder.path()));
    let commands = [
        format!("\"$WAKELAB\" trace '{run}' --perfetto out.pftrace"),
        format!("\"$WAKELAB\" {} --perfetto traces", CASE.replace("20ms", "200ms")),
        format!("\"$WAKELAB\" {} --events written", CASE.replace("20ms", "400ms")),
    ];
    for command in commands {
        let script = format!("{command} >/dev/null; code=$?; echo; find . -mindepth 1 -type f; exit $((code + 10))");
        let output = on_small_disk(folder.path(), &script).unwrap_or_else(|| {
            let limited = format!("mkdir -p small; cd small; rm -rf *; ulimit -f 128; trap '' XFSZ; {script}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &limited]).current_dir(folder.path()).env("WAKELAB", env!("CARGO_BIN_EXE_wakelab"));
            shell.output().expect("a shell")
        });
        let (left, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let code = output.status.code().map(|code| code - 10);
        assert!(matches!(code, Some(1 | 2)), "{command}: {code:?}: {said}");
        assert!(said.contains("error: ") && said.contains("hint: "), "{command}: {said}");
        assert!(said.contains("No space left") || said.contains("File too large"), "{command}: {said}");
        assert_eq!(left.trim(), "", "{command} leaves files");
    }
}

#[test]
fn a_recording_of_a_newer_schema_is_refused_by_all_that_read_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = events(folder.path());
    for entry in fs::read_dir(folder.path().join(&run)).expect("the run") {
        let file = entry.expect("an entry").path();
        let bytes = fs::read(&file).expect("a table");
        let (from, to) = (wakelab_events::simulated::SCHEMA_VERSION.as_bytes(), b"9.5");
        let key = b"wakelab.schema_version";
        let at = bytes.windows(key.len()).rposition(|part| part == key).expect("the key") + key.len();
        let version = at + bytes[at..].windows(3).position(|part| part == from).expect("the version");
        let mut newer = bytes.clone();
        newer[version..version + 3].copy_from_slice(to);
        fs::write(&file, newer).expect("written");
    }
    for args in [
        &["stats", &run][..],
        &["explain", &run],
        &["explain", &run, "--slowest", "2"],
        &["conform", &run],
        &["replay", &run, "--with", "NO_SIS_UTIL"],
        &["trace", &run, "--perfetto", "out.pftrace"],
    ] {
        let output = wakelab(folder.path(), args);
        failed(&output, 2, &["error: ", "wakeups.parquet", "9.5", "hint: "]);
    }
    assert_eq!(names(folder.path()), ["ev"]);
}

#[test]
fn a_recording_without_rows_is_said_to_be_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    fs::copy(recordings.join("topo-6.12-C.json"), folder.path().join("topo-6.12-C.json")).expect("a copy");
    let file = fs::File::open(recording()).expect("the recording");
    let all = std::io::read_to_string(flate2::read::GzDecoder::new(file)).expect("gzip");
    let head: String = all
        .lines()
        .take_while(|line| line.starts_with('#') || !line.starts_with(char::is_numeric))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(folder.path().join("6.12-C-hb.csv"), head).expect("written");
    for args in [
        &["stats", "6.12-C-hb.csv"][..],
        &["explain", "6.12-C-hb.csv"],
        &["explain", "6.12-C-hb.csv", "--summary"],
        &["conform", "6.12-C-hb.csv"],
        &["replay", "6.12-C-hb.csv", "--with", "NO_SIS_UTIL"],
        &["trace", "6.12-C-hb.csv", "--perfetto", "out.pftrace"],
    ] {
        let output = wakelab(folder.path(), args);
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 2)), "{args:?}: {said}");
        assert!(!said.contains("NaN") && !said.contains("panicked"), "{args:?}: {said}");
        assert!(["no wake-up", "no row", "found none"].iter().any(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[test]
fn an_output_replaces_neither_an_input_nor_another_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let recordings = Path::new(&recording()).parent().expect("a folder").to_owned();
    for name in ["6.12-C-hb.csv.gz", "topo-6.12-C.json"] {
        fs::copy(recordings.join(name), at.join(name)).expect("a copy");
    }
    let toml = "machine = \"test-8c\"\nkernel = \"v6.12\"\nworkload = [{ name = \"netperf:TCP_RR\", load = \"1\" }]\n\
                [variants]\nbase = \"\"\nwith = \"NO_SIS_UTIL\"\n";
    fs::write(at.join("e.toml"), toml).expect("an experiment");
    std::os::unix::fs::symlink("6.12-C-hb.csv.gz", at.join("link")).expect("a link");
    fs::hard_link(at.join("6.12-C-hb.csv.gz"), at.join("second-name")).expect("a link");
    let before = |name: &str| fs::read(at.join(name)).expect("a file");
    let all = ["6.12-C-hb.csv.gz", "topo-6.12-C.json", "e.toml"];
    let contents = all.map(before);
    let compare = [CASE, "--out same --html same"].join(" ");
    for (command, flag) in [
        ("run e.toml --no-cache --out e.toml", "--out"),
        ("run e.toml --no-cache --html ./../$/e.toml", "--html"),
        ("trace 6.12-C-hb.csv.gz --perfetto 6.12-C-hb.csv.gz", "--perfetto"),
        ("trace 6.12-C-hb.csv.gz --perfetto link", "--perfetto"),
        ("explain 6.12-C-hb.csv.gz --limit 1 --html second-name", "--html"),
        ("stats 6.12-C-hb.csv.gz --html topo-6.12-C.json", "--html"),
        ("stats . --html topo-6.12-C.json", "--html"),
        (&compare, "--html"),
    ] {
        let command = command.replace('$', &at.file_name().expect("a name").to_string_lossy());
        let output = wakelab(at, &words(&command));
        failed(&output, 2, &[flag, "hint: name another file"]);
        assert_eq!(all.map(before), contents, "{command}");
        assert!(!at.join("same").exists());
    }
    // A page of a folder may be written anew.
    for _ in 0..2 {
        assert!(wakelab(at, &words("stats . --html page.html")).status.success());
    }
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::create_dir(at.join("results")).expect("a folder");
    std::os::unix::fs::symlink("results/table", at.join("second")).expect("a link");
    std::os::unix::fs::symlink("second", at.join("first")).expect("a link");
    let output = wakelab(at, &[&words(CASE)[..], &["--out", "first"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(&at.join("results")), ["table"]);
    assert_eq!(fs::read_link(at.join("first")).expect("a link"), Path::new("second"));
    // The file behind a link is the same output under another name.
    fs::remove_file(at.join("results/table")).expect("the table");
    let output = wakelab(at, &[&words(CASE)[..], &["--out", "first", "--html", "results/table"]].concat());
    failed(&output, 2, &["error: --html: results/table is also named by --out"]);
}

#[test]
fn a_folder_of_events_takes_one_run_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("ev")).expect("a folder");
    let other = fs::File::open(folder.path().join("ev")).expect("the folder");
    other.lock().expect("a lock");
    let args = [&words(CASE)[..], &["--events", "ev"]].concat();
    failed(
        &wakelab(folder.path(), &args),
        2,
        &["error: --events: ev: another run is writing to this folder", "hint: "],
    );
    drop(other);
    assert!(wakelab(folder.path(), &args).status.success());
}

#[test]
fn a_page_without_room_for_temporary_files_says_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wakelab"));
    command.current_dir(folder.path()).env("TMPDIR", folder.path().join("missing")).args(words(CASE));
    let output = command.args(["--html", "page.html"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("warning: --html: the page explains no wake-ups of some runs: a folder for temporary files"),
        "{said}"
    );
    assert_eq!(names(folder.path()), ["page.html"]);
}

#[test]
fn a_cache_that_cannot_be_written_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!(
        "cat /dev/zero >filler 2>/dev/null; \"$WAKELAB\" {} --cache cache; code=$?; rm filler; ls; exit $code",
        CASE.replace(" --no-cache", "")
    );
    let Some(output) = on_small_disk(folder.path(), &script) else { return };
    failed(&output, 2, &["error: --cache", "No space left on device", "hint: "]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

/// What does not fit is not there, so that the next try, with room, does not find it with other contents.
#[test]
fn the_programs_own_files_are_whole_or_not_there() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["docs --write out", "demo --recordings out"] {
        let script = format!(
            "head -c 180000 /dev/zero >filler; for n in 1 2; do \"$WAKELAB\" {command}; code=$?; done; find . -name \
             '.wakelab-*'; exit $((code + 10))"
        );
        let Some(output) = on_small_disk(folder.path(), &script) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(12), "{said}");
        assert_eq!(said.matches("No space left on device").count(), 2, "{command}: {said}");
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn tasks_by_count_need_no_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[workload]\nbenchmark = \"b\"\ncase = \"two\"\nbetter = \"higher\"\nmetric = \"throughput\"\n\
                unit = \"rounds/s\"\n\n[[program]]\nname = \"p\"\n\
                ops = [\"begin\", {run = \"1ms\"}, {sleep = \"1ms\"}, \"done\", {repeat = {to = 0}}]\n\n\
                [[task]]\nname = \"t\"\nprogram = \"p\"\n";
    let compare = |task: &str| {
        fs::write(folder.path().join("two.toml"), format!("{text}{task}\n")).expect("a file");
        let args = "compare --machine test-8c --kernel v6.1 --workload two.toml --base SIS_UTIL --with NO_SIS_UTIL \
                    --settle 0s --time 20ms --no-cache";
        wakelab(folder.path(), &words(args))
    };
    let output = compare("count = 2");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 tasks"));
    failed(&compare("per_instance = 2"), 2, &["error: --load: is required"]);
    // A file that is wrong is what the error is about, not the load.
    failed(&compare("count = 0"), 2, &["two.toml", "`task.count`"]);
}
