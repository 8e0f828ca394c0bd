//! Traces of other recorders: what is captured of them does as much in the same time, who waited for whom, and that a
//! trace which is drawn again has the same rows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use wakelab_events::stream::{Migrations, Names, Source, Switches, Wakes};
use wakelab_study::capture::{CaptureError, CaptureOptions, Captured, capture};
use wakelab_study::recordings::stats::stats;
use wakelab_study::recordings::trace::trace;
use wakelab_study::recordings::waits::{Began, Cause, LongWait, Options, waits};

/// An import of these bytes, whose folder is removed with the first value.
fn imported(bytes: &[u8]) -> (TempDir, Source) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = import_to(folder.path(), "trace", bytes);
    (folder, source)
}

fn import_to(folder: &Path, name: &str, bytes: &[u8]) -> Source {
    let (file, to) = (folder.join(name), folder.join(format!("{name}-imported")));
    fs::write(&file, bytes).expect("written");
    wakelab_import::import(&[file], None, &to, &|_, _| {}, &AtomicBool::new(false)).expect("imported");
    Source::at(&to).expect("a recording").pop().expect("one")
}

/// A trace of the fuzz corpus.
fn of_corpus(name: &str) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn captured(bytes: &[u8], machine: Option<&str>) -> Result<Captured, CaptureError> {
    let (_folder, source) = imported(bytes);
    let machine = machine.map(|name| wakelab_machine::get(name).expect("a machine"));
    capture(&source, &CaptureOptions { machine: machine.as_ref(), from_ns: None, window_ns: None, exact: false }, &())
}

/// All waits of a trace, the longest first.
fn all_waits(bytes: &[u8]) -> Vec<LongWait> {
    let (_folder, source) = imported(bytes);
    let (runs, outcomes) = waits(&[source], Options { over_ns: 0, slowest: 100 }, &());
    assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{outcomes:?}");
    runs.into_values().flat_map(|run| run.slowest).map(|slow| slow.wait).collect()
}

/// A line of ftrace.
fn switch(at: &str, cpu: u32, prev: (&str, u32), state: &str, next: (&str, u32)) -> String {
    format!(
        "  {}-{} [{cpu:03}] d... {at}: sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={state} ==> \
         next_comm={} next_pid={} next_prio=120\n",
        prev.0, prev.1, prev.0, prev.1, next.0, next.1
    )
}

/// Both events of a wake-up of a task that goes where it ran last.
fn woken(at: &str, cpu: u32, by: (&str, u32), wakee: (&str, u32), to: u32) -> String {
    ["sched_waking", "sched_wakeup"]
        .map(|event| {
            format!(
                "  {}-{} [{cpu:03}] d... {at}: {event}: comm={} pid={} prio=120 target_cpu={to:03}\n",
                by.0, by.1, wakee.0, wakee.1
            )
        })
        .concat()
}

#[test]
fn bursts_are_as_far_apart_in_the_model_as_they_were() {
    for name in ["burst", "burst-of-many-lengths", "burst-of-messages"] {
        for machine in [None, Some("test-2c")] {
            let found = captured(&of_corpus(&format!("capture/{name}.txt")), machine).expect("captured");
            let check = &found.check;
            assert!(found.off().next().is_none() && !found.is_off(), "{name}: {check:?}");
            let ratio = check.model.wakeups / check.recorded.wakeups;
            assert!((0.7..1.3).contains(&ratio) && check.model.busy < 0.1, "{name}: {check:?}");
        }
    }
}

#[test]
fn a_load_that_goes_one_way_counts_something() {
    let found = captured(&of_corpus("capture/one-way.txt"), None).expect("captured");
    assert!(found.toml.contains("\"done\""), "{}", found.toml);
}

#[test]
fn a_machine_with_fewer_cpus_than_the_recording_is_refused() {
    let error = captured(&of_corpus("capture/burst.txt"), Some("test-1c")).expect_err("one CPU").to_string();
    assert!(error.contains("the recording has CPU 1, test-1c has one CPU"), "{error}");
}

#[test]
fn what_is_not_known_is_not_in_the_head_of_the_file() {
    let found = captured(&of_corpus("capture/burst.txt"), None).expect("captured");
    let head = found.toml.lines().next().expect("a line");
    assert!(head.ends_with(", recorded."), "{head}");
}

#[test]
fn an_idle_kworker_of_4_14_sleeps() {
    let trace = of_corpus("capture/kworker-of-4.14.txt");
    let found = all_waits(&trace);
    let of_kworker = |wait: &&LongWait| wait.pid == 61;
    assert!(found.iter().any(|wait| wait.pid == 62 && matches!(wait.began, Began::Preempted { by: Some(_) })));
    assert!(found.iter().filter(of_kworker).count() >= 10);
    assert!(found.iter().filter(of_kworker).all(|wait| matches!(wait.began, Began::Woken { .. })), "{found:?}");
    let found = captured(&trace, None).expect("captured");
    assert_eq!(found.losses.woken_awake, 0, "{:?}", found.losses);
}

#[test]
fn who_ran_before_the_first_switch_and_who_has_a_name_in_it_only_are_known() {
    let (alpha, beta, hog) = (("alpha", 11), ("beta", 12), ("hog", 13));
    let text = woken("1.000005", 1, hog, alpha, 0)
        + &switch("1.000008", 0, ("swapper/0", 0), "R", alpha)
        + &woken("1.000010", 0, alpha, beta, 1)
        + &switch("1.004012", 1, hog, "R+", beta);
    let found = all_waits(text.as_bytes());
    let wait = found.iter().find(|wait| wait.pid == 12).expect("beta waited");
    assert_eq!((wait.wait_ns, wait.ran.len(), &*wait.ran[0].comm), (4_002_000, 1, "hog"));
    assert_ne!(wait.cause, Cause::Unknown);

    let text = switch("1.000010", 0, alpha, "R+", hog) + &switch("1.005010", 0, hog, "S", alpha);
    let found = all_waits(text.as_bytes());
    let Began::Preempted { by: Some(by) } = &found[0].began else { panic!("{found:?}") };
    assert_eq!((&*found[0].comm, &*by.comm, &*found[0].ran[0].comm), ("alpha", "hog", "hog"));
}

#[test]
fn balancing_is_known_without_switches() {
    let text = "  alpha-11 [000] d... 1.000010: sched_waking: comm=beta pid=12 prio=120 target_cpu=002\n  \
                alpha-11 [000] d... 1.000011: sched_migrate_task: comm=beta pid=12 prio=120 orig_cpu=2 dest_cpu=1\n  \
                alpha-11 [000] d... 1.000012: sched_wakeup: comm=beta pid=12 prio=120 target_cpu=001\n  \
                <idle>-0 [003] d... 1.000050: sched_migrate_task: comm=gamma pid=13 prio=120 orig_cpu=0 dest_cpu=3\n";
    let (_folder, source) = imported(text.as_bytes());
    let (found, _) = stats(&[source], &[], &());
    let tally = found.values().next().expect("a run");
    assert_eq!((tally.balanced, tally.unseen, tally.has_waits), (Some(1), 0, false));
}

/// The rows of each table, in the order of time.
fn rows(source: &Source) -> [Vec<String>; 4] {
    let Source::Recorded(tables) = source else { panic!("{source:?}") };
    let mut wakes = Wakes::recorded(tables);
    let mut switches = Switches::new(tables.switches.clone());
    let mut migrations = Migrations::new(tables.migrations.clone());
    let mut names = Names::new(tables.names.clone());
    let mut rows = [
        std::iter::from_fn(|| wakes.next_wake().expect("read"))
            .map(|row| (row.t_ns, format!("{row:?}")))
            .collect::<Vec<_>>(),
        std::iter::from_fn(|| switches.next_switch().expect("read"))
            .map(|row| (row.t_ns, format!("{row:?}")))
            .collect(),
        std::iter::from_fn(|| migrations.next_migration().expect("read"))
            .map(|row| (row.t_ns, format!("{row:?}")))
            .collect(),
        // A name may be known earlier, from the list of names.
        std::iter::from_fn(|| names.next_name().expect("read"))
            .map(|row| (0, format!("{} {}", row.pid, row.comm)))
            .collect(),
    ];
    rows.each_mut().into_iter().for_each(|rows| rows.sort());
    rows.map(|rows| rows.into_iter().map(|(_, row)| row).collect())
}

#[test]
fn a_trace_that_is_drawn_for_perfetto_is_imported_with_the_same_rows() {
    for name in [
        "capture/kworker-of-4.14.txt",
        "trace_text/juno-4.19.txt",
        "trace_text/trace-cmd-6.1.txt",
        "trace_text/perf-6.1.txt",
    ] {
        let (folder, source) = imported(&of_corpus(name));
        let (drawn, _) = trace(&source, Vec::new(), &()).expect("drawn");
        let again = import_to(folder.path(), "again", &drawn);
        let [before, after] = [rows(&source), rows(&again)];
        assert!(before[0].len() > 10 && before[1].len() > 10, "{name}");
        for (table, (before, after)) in ["wakings", "switches", "migrations"].iter().zip(before.iter().zip(&after)) {
            assert_eq!(before, after, "{name}: {table}");
        }
        assert!(after[3].iter().all(|name| before[3].contains(name)), "{:?} {:?}", before[3], after[3]);
    }
}
