//! Recordings as Parquet: written, read again, and files that are none.

use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wakelab_events::recorded::{DecisionRow, RECORDED_VERSION, RecordedFolder, RecordedSwitchRow, recorded_tables};
use wakelab_events::{ReadError, Reader, Row};

/// A machine of two CPUs that share a core and an LLC.
const DOMAINS: &str = r#"{"kernel": "7.2.12", "topology": "2cpus", "cpu_llc": [0, 0], "domains": {
    "0": [{"name": "SMT", "flags": "1297", "imbalance_pct": 110, "span": "3",
           "groups": [{"mask": "1", "capacity": 1024, "flags": "0"}, {"mask": "2", "capacity": 1024, "flags": "0"}]}],
    "1": [{"name": "SMT", "flags": "1297", "imbalance_pct": 110, "span": "3",
           "groups": [{"mask": "2", "capacity": 1024, "flags": "0"}, {"mask": "1", "capacity": 1024, "flags": "0"}]}]}}"#;

fn metadata() -> Vec<(&'static str, String)> {
    [
        ("wakelab.kernel", "7.2"),
        ("wakelab.machine", "2cpus"),
        ("wakelab.workload", "pipe"),
        ("wakelab.variant", "default"),
        ("wakelab.domains", DOMAINS),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .to_vec()
}

fn decision(seq: i64) -> DecisionRow<'static> {
    DecisionRow {
        seq,
        t_ns: 1000 + seq,
        dur_ns: 5,
        stable: true,
        features: "SIS_UTIL TTWU_QUEUE NO_WA_WEIGHT",
        waker_cpu: 1,
        waker_pid: 7,
        waker_comm: "a, \"b\"\n",
        waker_policy: 0,
        waker_flags: 0x40_0040,
        waker_nr_cpus_allowed: 2,
        waker_percpu_kthread: false,
        preempt_count: 0x8000_0001,
        in_task: true,
        wakee_pid: 8,
        wakee_comm: "c",
        wakee_policy: 5,
        wakee_static_prio: 120,
        wakee_flags: 0,
        on_rq: false,
        prev_cpu: 0,
        wake_flags: 0x18,
        wake_flags_text: "TTWU|SYNC",
        chosen_cpu: 0,
        recent_used_cpu: -1,
        recent_used_cpu_after: 0,
        waker_flips_before: 3,
        waker_flips: 4,
        wakee_flips_before: 2,
        wakee_flips: 2,
        last_wakee_is_p: false,
        flip_decay_due: false,
        sd_llc_size: 2,
        affinity: &[3],
        nr_cpus_allowed: 2,
        util_avg: 10,
        runnable_avg: 11,
        util_est: 12,
        load_avg: 13,
        load_weight: 1024,
        task_h_load: 14,
        last_update_time_set: true,
        numa_preferred_nid: -1,
        waker_load_avg: 15,
        waker_load_weight: 1024,
        waker_h_load: 16,
        jiffies: 4_294_895_998,
        wake_stamp: None,
        wake_avg_idle: None,
        avg_idle: 17,
        avg_scan_cost: None,
        idle_mask: &[1],
        idle_mask_exit: &[1],
        curr_idle_mask: &[1],
        ttwu_pending_mask: &[0],
        cpu_nr_running: &[0, 2],
        cpu_h_nr_queued: &[0, 2],
        cpu_h_nr_delayed: &[0, -1],
        cpu_h_nr_idle: &[0, 0],
        cpu_load_avg: &[18, 1 << 33],
        cpu_runnable_avg: &[19, 20],
        cpu_util_avg: &[21, 22],
        cpu_util_est: &[23, 24],
        cpu_capacity: &[1024, 1000],
        llc_ids: &[0],
        llc_has_idle_cores: &[1],
        llc_nr_idle_scan: &[2],
        cpu_idle_stamp: None,
        cpu_idle_exit_latency: None,
        cpu_group_cap_l0: None,
        cpu_group_cap_l1: None,
        cpu_group_cap_l2: None,
        cpu_group_imbalance: None,
    }
}

/// A recording of so many rows, in a folder that goes with the first value.
fn recording(rows: i64, metadata: Vec<(&'static str, String)>) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordedFolder::new(&path, metadata).expect("an empty folder");
    (1..=rows).for_each(|seq| folder.decision(decision(seq)).expect("written"));
    let switch = RecordedSwitchRow { t_ns: 1, cpu: 0, prev_pid: 0, prev_sleeps: false, next_pid: 8 };
    folder.switch(switch).expect("written");
    folder.close_segments().expect("written");
    (temporary, path.join("decisions-00001.parquet"))
}

fn error(path: &Path) -> ReadError {
    Reader::open(path).expect_err("it is no recording")
}

#[test]
fn the_page_describes_the_schema() {
    let mut expected = String::new();
    for (table, columns) in recorded_tables() {
        expected += &format!("### {table}\n\n| column | holds | |\n|---|---|---|\n");
        for column in columns {
            let null = if column.nullable { ", or null" } else { "" };
            expected += &format!("| `{}` | {}{null} | {} |\n", column.name, column.kind, column.what);
        }
        expected += "\n";
    }
    let page = include_str!("../../docs/recording.md");
    assert!(page.contains(expected.trim_end()), "docs/recording.md should have:\n{expected}\n");
    assert!(
        page.contains(&format!("is {RECORDED_VERSION}")),
        "docs/recording.md should name version {RECORDED_VERSION}"
    );
}

#[test]
fn what_is_written_is_read_again() {
    let (_folder, path) = recording(3, metadata());
    let mut reader = Reader::open(&path).expect("a recording");
    assert_eq!((reader.kernel(), reader.topo().preset.name), ("7.2", "v7.2"));
    let mut row = Row::new();
    for seq in 1..=3 {
        assert!(reader.read(&mut row).expect("a row"));
        assert_eq!((row.seq, row.line, row.t_ns, row.load.as_str()), (seq, seq, 1000 + seq, "pipe"));
    }
    assert_eq!(row.waker.comm, "a, \"b\"\n");
    assert_eq!((row.waker.flags, row.wake_flags.bits()), (0x40_0040, 0x18));
    assert_eq!((row.wakee.recent_used_cpu, row.wakee.policy, row.wakee.h_load), (-1, 5, 14));
    assert_eq!(row.wakee.affinity.iter().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(row.idle_mask.iter().collect::<Vec<_>>(), [0]);
    assert_eq!((&*row.cpus.h_nr_delayed, &*row.cpus.load_avg), (&[0, -1][..], &[18, 1 << 33][..]));
    assert_eq!((&*row.cpus.capacity, &*row.llcs), (&[1024, 1000][..], &[(0, true, 2)][..]));
    assert_eq!(row.features.text, "SIS_UTIL TTWU_QUEUE NO_WA_WEIGHT");
    assert!(row.slow_path.is_none());
    assert!(!reader.read(&mut row).expect("the end"));
}

#[test]
fn segments_are_whole_before_the_recording_is() {
    let (_folder, path) = recording(2, metadata());
    let folder = path.parent().expect("a folder");
    let mut again = RecordedFolder::new(&folder.join("more"), metadata()).expect("an empty folder");
    again.decision(decision(1)).expect("written");
    again.close_segments().expect("written");
    again.decision(decision(2)).expect("written");
    let names = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&folder.join("more")), ["decisions-00001.parquet", "decisions-00002.part"]);
    assert!(Reader::open(&folder.join("more/decisions-00001.parquet")).is_ok());
    assert!(RecordedFolder::new(folder, metadata()).is_err(), "there is something in it");
}

#[test]
fn files_that_are_cut_off_or_of_another_kind_are_refused_by_name() {
    let (_folder, path) = recording(100, metadata());
    let whole = fs::read(&path).expect("a file");
    for length in [4, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).expect("written");
        let error = error(&path);
        assert!(error.what.contains("cannot be read") && error.hint.is_some(), "{length}: {error}");
    }
    let switches = path.with_file_name("switches-00001.parquet");
    assert!(error(&switches).what.contains("\"switches\""), "{}", error(&switches));
}

#[test]
fn a_file_without_what_is_needed_says_what() {
    for (key, value, expected) in [
        ("wakelab.domains", None, "says no wakelab.domains"),
        ("wakelab.domains", Some("{}"), "description of a machine"),
        ("wakelab.kernel", Some("4.4"), "4.4"),
        ("wakelab.machine", Some("other"), "other"),
        ("wakelab.snapshot", Some("none"), "no states of CPUs"),
    ] {
        let mut pairs = metadata();
        pairs.retain(|pair| pair.0 != key);
        pairs.extend(value.map(|value| (key, value.to_owned())));
        let (_folder, path) = recording(1, pairs);
        let error = error(&path);
        assert!(error.to_string().contains(expected), "{key}: {error}");
        assert!(error.hint.is_some(), "{key}: {error}");
    }
}

#[test]
fn every_file_says_that_it_is_of_a_recording() {
    let (_folder, path) = recording(1, metadata());
    let reader = SerializedFileReader::new(File::open(&path).expect("a file")).expect("Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
    let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    assert_eq!(value("wakelab.kind").as_deref(), Some("recorded"));
    assert_eq!(value("wakelab.table").as_deref(), Some("decisions"));
    assert_eq!(value("wakelab.schema_version").as_deref(), Some(RECORDED_VERSION));
}
