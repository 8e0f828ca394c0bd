//! No output replaces an input: of every command, every output is named like every input.

use crate::support::{SHORT_WORKLOAD, names, wakelab};
use clap::{Arg, Command};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What the values of an argument are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Names {
    /// Files or folders that are read, or names.
    Input,
    /// A file that is written.
    Output,
    /// A folder that is written to.
    OutputFolder,
    /// Nothing in the file system.
    Nothing,
}

/// What an argument names: by the command, else by what help calls its value.
pub fn names_of(command: &str, arg: &Arg) -> Names {
    let id = arg.get_id().as_str();
    let value = arg.get_value_names().map(|names| names[0].as_str()).unwrap_or_default();
    match (command, id, value) {
        ("trace", "perfetto", _) | ("capture", "rt_app", _) | ("whatif", "workload", _) => Names::Output,
        (_, "out" | "html", "FILE") => Names::Output,
        ("reproduce", "published", _) | ("calibrate" | "machine import", "sysfs", _) => Names::Input,
        (_, _, "DIR" | "FOLDER") => Names::OutputFolder,
        ("machine show" | "workload show", "name", _) => Names::Input,
        (_, _, "FILE" | "RECORDING" | "MACHINE" | "WORKLOAD" | "EXPERIMENT" | "PANEL" | "TABLE" | "A" | "B") => {
            Names::Input
        }
        // A side may be a scheduler's object or source.
        ("survey", "base", _) => Names::Nothing,
        (_, _, "SWITCHES" | "[NAME=]SWITCHES" | "SIDE" | "SCHEDULER") => Names::Input,
        ("measure-part", ..) => Names::Nothing,
        (_, _, "KERNEL" | "NAME" | "OTHER" | "LOAD" | "TIME" | "DURATION" | "SECONDS" | "N" | "N%" | "NS" | "P") => {
            Names::Nothing
        }
        (
            _,
            _,
            "CPUS" | "FEATURES" | "PAGE" | "WORD" | "CONDITION" | "WHAT" | "ENGINE" | "REASON" | "METHOD" | "VALUES",
        ) => Names::Nothing,
        _ if !arg.get_possible_values().is_empty() => Names::Nothing,
        _ => panic!("{command}: the argument {id} ({value}): say here whether it names an input or an output"),
    }
}

/// The commands with their arguments that take values, by their names on the command line.
pub fn commands() -> BTreeMap<String, Vec<Arg>> {
    fn add(above: &str, command: &Command, into: &mut BTreeMap<String, Vec<Arg>>) {
        let name = format!("{above} {}", command.get_name()).trim().to_owned();
        if command.get_name() == "help" {
            return;
        }
        if command.has_subcommands() {
            command.get_subcommands().for_each(|below| add(&name, below, into));
            return;
        }
        let takes = |arg: &&Arg| arg.get_action().takes_values();
        into.insert(name, command.get_arguments().filter(takes).cloned().collect());
    }
    let mut all = BTreeMap::new();
    let mut root = wakelab_cli::arguments();
    // Before that, arguments do not know what their values are.
    root.build();
    root.get_subcommands().for_each(|command| add("", command, &mut all));
    all
}

/// Command lines with all inputs of each command, and what is read besides. The outputs are added.
pub const LINES: &[(&str, &str, &[&str])] = &[
    ("run", "e.toml --no-cache", &["m.toml", "w.toml", "s.bpf.o"]),
    (
        "compare",
        "--machine ./m.toml --workload ./w.toml --load 1 --kernel v6.12 --base scx:s.bpf.o --with x=scx:s.bpf.o",
        &[],
    ),
    ("survey", "run --machine m.toml --with scx:s.bpf.o --no-cache", &[]),
    ("survey", "--machine m.toml --kernel v6.12 --only scx:s.bpf.o --no-cache", &[]),
    ("score", "p.toml --with scx:s.bpf.o --no-cache", &["m.toml", "w.toml"]),
    ("scx-check", "s.bpf.o --machine m.toml --workload w.toml", &[]),
    ("scx-check", "s.bpf.o --machine m.toml --budget 1", &[]),
    ("sweep", "s.toml --no-cache", &["m.toml", "w.toml"]),
    ("diff", "a.json b.json", &[]),
    ("diff", "rec rec", &[]),
    ("reproduce", "--published tables --machine m.toml --no-cache", &[]),
    ("fit", "--observed tables/t/table.toml ./c.toml --no-cache", &["tables/t/rows.csv"]),
    ("calibrate", "--sysfs sys --time 1s", &[]),
    ("verify", "--machine m.toml", &[]),
    ("stats", "r.csv.gz rec run", &["topo-6.12-C.json"]),
    ("waits", "r.csv.gz rec run", &["topo-6.12-C.json"]),
    ("explain", "r.csv.gz rec run", &["topo-6.12-C.json"]),
    ("conform", "r.csv.gz rec run", &["topo-6.12-C.json"]),
    ("replay", "r.csv.gz rec run --with NO_SIS_UTIL", &["topo-6.12-C.json"]),
    ("import", "i.txt --machine m.toml", &[]),
    ("capture", "run --machine m.toml", &[]),
    ("whatif", "run --machine m.toml --with scx:s.bpf.o --came-out run --no-cache", &[]),
    ("whatif", "run --machine m.toml --to-machine ./m.toml --with scx:s.bpf.o --came-out run --no-cache", &[]),
    ("trace", "rec", &[]),
];

/// Commands that write files of their own names, and read none.
const WRITE_ONLY: [&str; 4] = ["demo", "docs", "playground", "man"];
/// Commands that read files, and write none.
const READ_ONLY: [&str; 4] = ["machine show", "machine import", "workload show", "report open"];

/// A folder with an input of every kind.
pub fn inputs() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (at, repository) = (folder.path(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let copy = |from: &str, to: &str| {
        fs::create_dir_all(at.join(to).parent().expect("a folder")).expect("a folder");
        fs::copy(repository.join(from), at.join(to)).expect("a copy");
    };
    copy("data/machines/test-8c.toml", "m.toml");
    copy("data/machines/intel-coffee-lake-6c12t.toml", "c.toml");
    copy("crates/bpf/tests/data/scx_simple.bpf.o", "s.bpf.o");
    copy("data/recordings/6.12-C-hb.csv.gz", "r.csv.gz");
    copy("data/recordings/topo-6.12-C.json", "topo-6.12-C.json");
    for file in names(&repository.join("crates/cli/tests/data/sis-prop-6.1")) {
        copy(&format!("crates/cli/tests/data/sis-prop-6.1/{file}"), &format!("rec/{file}"));
    }
    for file in ["table.toml", "rows.csv"] {
        copy(&format!("data/published/t05-sis-current-coffee-lake-6c12t/{file}"), &format!("tables/t/{file}"));
    }
    let write = |name: &str, text: &str| fs::write(at.join(name), text).expect("written");
    write("w.toml", SHORT_WORKLOAD);
    let part = "kernel = \"v6.12\"\nworkload = [{ name = \"./w.toml\", load = \"1\" }]\n";
    let sides = "[variants]\nbase = \"\"\nwith = \"scx:s.bpf.o\"\n";
    write("e.toml", &format!("machine = \"./m.toml\"\nrepeats = 1\n{part}{sides}"));
    let stage = "settle = \"0s\"\ntime = \"1ms\"\nrepeats = 1\n";
    write("p.toml", &format!("base = \"\"\n[fast]\n{stage}[full]\n{stage}[[part]]\nmachine = \"./m.toml\"\n{part}"));
    write(
        "s.toml",
        &format!(
            "repeats = 1\nsettle = \"0s\"\ntime = \"1ms\"\n[[grid]]\nmachine = \"./m.toml\"\nsides = [\"\"]\n{part}"
        ),
    );
    write("i.txt", "# tracer: nop\n");
    fs::rename(crate::machine_import::tree("zen-ccx").keep(), at.join("sys")).expect("a tree");
    let compare = "compare --machine test-8c --kernel v6.12 --workload netperf:TCP_RR --load 2 --base SIS_UTIL \
                   --with NO_SIS_UTIL --time 5ms --settle 1ms --repeat 1 --no-cache --events ev --format json \
                   --out a.json";
    let output = wakelab(at, &compare.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::rename(
        at.join("ev/workload=netperf%3ATCP_RR/load=2%20threads/side=base/variant=SIS_UTIL/repeat=1"),
        at.join("run"),
    )
    .expect("a run");
    fs::remove_dir_all(at.join("ev")).expect("removed");
    fs::copy(at.join("a.json"), at.join("b.json")).expect("a copy");
    folder
}

/// The files that a command line reads: those that it names, of folders some, and those that these name.
pub fn files_of(at: &Path, line: &str, besides: &[&str]) -> Vec<PathBuf> {
    const OF_A_FOLDER: usize = 3;
    fn below(path: &Path, found: &mut Vec<PathBuf>) {
        match fs::read_dir(path) {
            Ok(entries) => {
                let mut entries: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
                entries.sort();
                entries.iter().for_each(|entry| below(entry, found));
            }
            Err(_) => found.push(path.to_owned()),
        }
    }
    let mut found: Vec<PathBuf> = besides.iter().map(|name| at.join(name)).collect();
    for word in line.split_whitespace() {
        let path = at.join(word.rsplit("scx:").next().unwrap_or(word));
        let mut files = Vec::new();
        if path.exists() {
            below(&path, &mut files);
        }
        // Of a tree of sysfs, what is read of every CPU.
        files.retain(|file| !word.contains("sys") || file.ends_with("topology/core_id"));
        files.truncate(OF_A_FOLDER);
        found.extend(files);
    }
    found.sort();
    found.dedup();
    found
}

/// The flag of an argument, such as `--out`; its position has none.
pub fn flag(arg: &Arg) -> Option<String> {
    arg.get_long().map(|long| format!("--{long}")).or_else(|| arg.get_short().map(|short| format!("-{short}")))
}

#[test]
fn every_command_with_paths_is_tried() {
    for (command, args) in commands() {
        let kinds: Vec<Names> = args.iter().map(|arg| names_of(&command, arg)).collect();
        let reads = kinds.contains(&Names::Input);
        let writes = args
            .iter()
            .zip(&kinds)
            .any(|(arg, kind)| matches!(kind, Names::Output | Names::OutputFolder) && arg.get_id() != "cache");
        let listed = LINES.iter().any(|line| line.0 == command);
        let expected = match (reads, writes) {
            (true, true) => listed,
            (true, false) => listed || READ_ONLY.contains(&&*command),
            (false, true) => WRITE_ONLY.contains(&&*command),
            (false, false) => true,
        };
        assert!(expected, "{command}: a line with its inputs is missing here");
        let words: Vec<&str> =
            LINES.iter().filter(|line| line.0 == command).flat_map(|line| line.1.split_whitespace()).collect();
        for (arg, _) in args.iter().zip(&kinds).filter(|(_, kind)| listed && **kind == Names::Input) {
            let there = flag(arg).is_none_or(|flag| words.contains(&&*flag));
            assert!(there, "{command}: no line here has {arg}");
        }
    }
}

#[test]
fn no_output_replaces_an_input_of_any_command() {
    let folder = inputs();
    let at = folder.path();
    let all = commands();
    let mut tried = 0;
    for &(command, line, besides) in LINES {
        let args = &all[command];
        let outputs: Vec<&Arg> = args
            .iter()
            .filter(|arg| matches!(names_of(command, arg), Names::Output | Names::OutputFolder))
            .filter(|arg| arg.get_id() != "cache")
            // A page draws one machine.
            .filter(|arg| arg.get_id() != "html" || !line.contains("--to-machine"))
            .collect();
        for (file, (number, output)) in
            files_of(at, line, besides).iter().flat_map(|file| outputs.iter().enumerate().map(move |of| (file, of)))
        {
            // By its own name, and by another.
            let path = if number % 2 == 0 { file.clone() } else { at.join("other-name") };
            if path != *file {
                let _ = fs::remove_file(&path);
                fs::hard_link(file, &path).expect("a link");
            }
            let before = fs::read(file).expect("an input");
            let mut words: Vec<String> = format!("{command} {line}").split_whitespace().map(str::to_owned).collect();
            words.extend([flag(output).expect("a flag"), path.display().to_string()]);
            for other in outputs.iter().filter(|other| other.is_required_set() && other.get_id() != output.get_id()) {
                words.extend([flag(other).expect("a flag"), at.join("new").display().to_string()]);
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let done = wakelab(at, &words);
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(2), "{words:?}: {said}");
            assert!(fs::read(file).is_ok_and(|after| after == before), "{words:?} replaced {}: {said}", file.display());
            assert!(fs::read(&path).is_ok_and(|after| after == before), "{words:?}: {said}");
            let hinted = said.contains("name another file") || names_of(command, output) == Names::OutputFolder;
            assert!(hinted, "{words:?}: {said}");
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} outputs were tried");
}

#[test]
fn files_of_names_of_our_own_are_not_written_through_links() {
    for args in [&["man"][..], &["docs", "--write"], &["demo", "--recordings"], &["playground", "-o"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let (out, victim) = (folder.path().join("out"), folder.path().join("victim"));
        fs::create_dir(&out).expect("a folder");
        fs::write(&victim, "mine").expect("a file");
        for name in ["wakelab.1", "SUMMARY.md", "6.12-C-hb.csv.gz", "index.html"] {
            symlink(&victim, out.join(name)).expect("a link");
        }
        let output = wakelab(folder.path(), &[args, &["out"]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read(&victim).expect("a file"), b"mine", "{args:?}");
    }
}

/// Where files are opened beside `wakelab_input::files`, and why no output can replace them.
const OPENED_ELSEWHERE: &[(&str, &str)] = &[
    ("crates/cli/src/signals.rs", "of /proc"),
    ("crates/cli/src/commands/survey.rs", "of /proc"),
    ("crates/cli/src/commands/doctor.rs", "of /proc and /sys"),
    ("crates/calibrate/src/load/mod.rs", "of /proc"),
    ("crates/calibrate/src/noise.rs", "of /proc and /boot"),
    ("crates/calibrate/src/micro/idle.rs", "of /sys"),
    ("crates/cli/src/sweep_folder.rs", "the lock of an output"),
    ("crates/cli/src/out_file.rs", "pipes and devices that are written to"),
    ("crates/study/src/runs/cache/store.rs", "the time of an entry, which is set"),
    ("crates/scx-fetch/src/kept.rs", "the time of what is kept, which is set"),
    ("crates/scx-fetch/src/types.rs", "a file that is made new"),
    ("crates/events/src/simulated/folder.rs", "the lock of an output"),
];

#[test]
fn inputs_are_opened_in_one_place() {
    const CRATES: [&str; 14] = [
        "calibrate",
        "cli",
        "events",
        "import",
        "kernel",
        "machine",
        "measure",
        "page",
        "perfetto",
        "playground",
        "report",
        "scx-fetch",
        "study",
        "workload",
    ];
    const OPENS: [&str; 6] =
        ["File::open(", "File::options()", "OpenOptions::new()", "fs::read(", "fs::read_to_string(", "from_path("];
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if !path.ends_with("tests") => sources(&path, found),
                false if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") => {
                    found.push(path)
                }
                _ => {}
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut elsewhere = Vec::new();
    for name in CRATES {
        let mut files = Vec::new();
        sources(&root.join("crates").join(name).join("src"), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default().replace("ParquetFile::open(", "");
            let place = file.strip_prefix(&root).expect("below the root").display().to_string();
            let opens = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            if opens.filter(|line| OPENS.iter().any(|open| line.contains(open))).count() > 0
                && !OPENED_ELSEWHERE.iter().any(|(known, _)| *known == place)
            {
                elsewhere.push(place);
            }
        }
    }
    assert!(elsewhere.is_empty(), "open inputs with wakelab_input::files, or say why not in this test: {elsewhere:?}");
}
