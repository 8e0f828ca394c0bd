//! The examples that Debian's rt-app ships: each runs, or says why not. docs/your-workload.md has the same table.

use std::path::{Path, PathBuf};
use wakelab_workload::{RtApp, WorkloadError};

enum Outcome {
    /// So many threads.
    Runs(usize),
    /// Refused with this; read leniently so many threads, and so many warnings.
    Lenient(&'static str, usize, usize),
    /// Refused either way.
    Refused(&'static str),
}
use Outcome::{Lenient, Refused, Runs};

const OLD: &str = "this is the grammar of rt-app before 1.0 (exec, lock_order, resources in threads), which rt-app no \
                   longer reads; expected events, such as \"run\": 1000";
const NO_TASKS: &str = "the key is missing; expected a value such as {\"thread0\": {\"run\": 1000, \"sleep\": 9000}}";

/// What becomes of each: its path, the line and key of what is refused.
fn outcomes() -> Vec<(&'static str, &'static str, Outcome)> {
    let mem = "the time of writing bytes to memory is not modelled; replace it by a \"run\" of the time that it takes \
               on your machine";
    vec![
        ("browser-long.json", "", Runs(9)),
        ("browser-short.json", "", Runs(9)),
        ("cpufreq_governor_efficiency/calibration.json", "", Runs(1)),
        ("cpufreq_governor_efficiency/dvfs.json", "", Runs(1)),
        ("merge/global.json", ":1: `tasks`: ", Refused(NO_TASKS)),
        ("merge/resources.json", ":1: `tasks`: ", Refused(NO_TASKS)),
        ("merge/thread0.json", ":4: `tasks.thread0.exec`: ", Refused(OLD)),
        ("merge/thread1.json", ":4: `tasks.thread1.exec`: ", Refused(OLD)),
        ("merge/thread2.json", ":4: `tasks.thread2.exec`: ", Refused(OLD)),
        ("merge/thread3.json", ":4: `tasks.thread3.exec`: ", Refused(OLD)),
        ("mp3-long.json", "", Runs(5)),
        ("mp3-short.json", "", Runs(5)),
        ("spreading-tasks.json", "", Runs(2)),
        ("taskset.json", ":4: `tasks.ThreadA.exec`: ", Refused(OLD)),
        ("template.json", "", Runs(1)),
        ("tutorial/example1.json", "", Runs(1)),
        ("tutorial/example2.json", "", Runs(1)),
        ("tutorial/example3.json", "", Runs(12)),
        ("tutorial/example4.json", "", Runs(2)),
        ("tutorial/example5.json", "", Runs(2)),
        ("tutorial/example6.json", ":11: `tasks.thread0.mem`: ", Lenient(mem, 1, 2)),
        ("tutorial/example7.json", "", Runs(2)),
        ("tutorial/example8.json", "", Runs(1)),
        ("video-long.json", "", Runs(17)),
        ("video-short.json", "", Runs(17)),
    ]
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rt-app")
}

fn read(file: &str, lenient: bool) -> Result<(usize, usize), WorkloadError> {
    let (file, warnings) = RtApp::read(&dir().join(file), lenient)?;
    let workload = file.copies(1)?;
    workload.validate(8)?;
    Ok((workload.tasks.len(), warnings.len()))
}

#[test]
fn each_example_of_debians_rt_app_runs_or_says_why_not() {
    for (file, place, outcome) in outcomes() {
        let (strict, lenient) = (read(file, false), read(file, true));
        let says = |result: &Result<_, WorkloadError>, what: &str, hint: bool| {
            let error = result.as_ref().expect_err(file);
            let text = error.to_string();
            assert_eq!(text.lines().next(), Some(&*format!("{}{place}{what}", dir().join(file).display())));
            assert_eq!(error.hint.as_ref().is_some_and(|hint| hint.starts_with("--lenient")), hint, "{text}");
        };
        match outcome {
            Runs(threads) => assert_eq!((strict, lenient), (Ok((threads, 0)), Ok((threads, 0))), "{file}"),
            Lenient(what, threads, warnings) => {
                says(&strict, what, true);
                assert_eq!(lenient, Ok((threads, warnings)), "{file}");
            }
            Refused(what) => {
                says(&strict, what, false);
                says(&lenient, what, false);
            }
        }
    }
}

#[test]
fn no_example_is_forgotten_and_the_docs_name_each() {
    let mut there = vec![];
    for sub in ["", "cpufreq_governor_efficiency", "merge", "tutorial"] {
        for entry in std::fs::read_dir(dir().join(sub)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                there.push(path.strip_prefix(dir()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    there.sort();
    let mut known: Vec<_> = outcomes().into_iter().map(|(file, ..)| file.to_owned()).collect();
    known.sort();
    assert_eq!(there, known);
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/your-workload.md")).unwrap();
    for (file, _, outcome) in outcomes() {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{file}` |"))).expect(file);
        let says = match outcome {
            Runs(_) => "runs",
            Lenient(..) => "with `--lenient`",
            Refused(_) => "no:",
        };
        assert!(row.contains(says), "{row}");
    }
}

#[test]
fn a_phase_that_comes_twice_is_done_twice() {
    let (file, _) = RtApp::read(&dir().join("spreading-tasks.json"), false).unwrap();
    let program = &file.copies(1).unwrap().programs[1];
    assert_eq!(program.ops.iter().filter(|op| **op == wakelab_workload::Op::Begin).count(), 4);
}
