//! Recordings as Parquet: written, read again, and refused if they are damaged or something else.

use crate::support::description_of;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use wakelab_events::recording::{
    CountsRow, RecordingWriter, SCHEMA_VERSION, SwitchRow, WakeupPreemptRow, WakingRow, tables,
};
use wakelab_events::stream::{RecorderCounts, Source, Tables, WakeCauses, WakeContext, Wakes, WakeupPreempts};
use wakelab_events::{ReadError, Reader, Row};
use wakelab_testing::recording_rows::{DOMAINS, decision, metadata};

/// A recording of this many rows. Its folder is removed when the first value is dropped.
fn recording(rows: i64, metadata: Vec<(&'static str, String)>) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata).expect("an empty folder");
    (1..=rows).for_each(|seq| folder.decision(decision(seq)).expect("written"));
    let switch = SwitchRow { t_ns: 1, cpu: 0, prev_pid: 0, prev_sleeps: false, next_pid: 8 };
    folder.switch(switch).expect("written");
    folder.close_segments().expect("written");
    (temporary, path.join("decisions-00001.parquet"))
}

fn error(path: &Path) -> ReadError {
    Reader::open(path).expect_err("it is no recording")
}

#[test]
fn the_page_describes_the_schema() {
    let expected = description_of(&tables(), ", recorded");
    let page = include_str!("../../../../docs/formats.md");
    assert!(page.contains(&expected), "docs/formats.md should have:\n{expected}\n");
    assert!(page.contains(&format!("is {SCHEMA_VERSION}")), "docs/formats.md should name version {SCHEMA_VERSION}");
}

#[test]
fn what_is_written_is_read_again() {
    let (_folder, path) = recording(3, metadata());
    let mut reader = Reader::open(&path).expect("a recording");
    assert_eq!(reader.topo().preset.name, "v7.2");
    let mut row = Row::new();
    for seq in 1..=3 {
        assert!(reader.read(&mut row).expect("a row"));
        assert_eq!((row.seq, row.line, row.t_ns), (seq, seq, 1000 + seq));
        assert_eq!((row.kernel.as_str(), row.load.as_str()), ("7.2", "pipe"));
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

/// Writes a recording of one row again, as another program might, with a column that holds this.
fn with_column(path: &Path, name: &str, value: ArrayRef) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file")).expect("Parquet");
    let mut pairs = builder.metadata().file_metadata().key_value_metadata().cloned().expect("metadata");
    pairs.retain(|pair| pair.key.starts_with("wakelab."));
    let batch = builder.build().expect("a reader").next().expect("a batch").expect("rows");
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| {
        let column = if field.name() == name { &value } else { column };
        (field.name().clone(), Arc::clone(column))
    });
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one row");
    let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

#[test]
fn columns_of_another_type_are_refused_when_a_file_is_opened() {
    let cases: [(&str, ArrayRef, &str); 5] = [
        ("seq", Arc::new(Float64Array::from(vec![1.0])), "Float64 are not supported, expected int64"),
        ("stable", Arc::new(Int32Array::from(vec![1])), "Int32 are not supported, expected bool"),
        ("wake_flags", Arc::new(Int32Array::from(vec![24])), "Int32 are not supported, expected int64"),
        ("affinity", Arc::new(Int64Array::from(vec![3])), "Int64 are not supported, expected CPU set"),
        // No decision reads it.
        ("load_weight", Arc::new(BooleanArray::from(vec![true])), "Boolean are not supported, expected int64"),
    ];
    for (column, value, found) in cases {
        let (_folder, path) = recording(1, metadata());
        with_column(&path, column, value);
        let error = error(&path).to_string();
        assert!(
            error.contains(&format!("decisions-00001.parquet:1: column {column}: columns of type {found}")),
            "{error}"
        );
    }
}

#[test]
fn values_may_have_a_wider_type() {
    let (_folder, path) = recording(1, metadata());
    with_column(&path, "wakee_pid", Arc::new(Int64Array::from(vec![9])));
    let (mut reader, mut row) = (Reader::open(&path).expect("a recording"), Row::new());
    assert!(reader.read(&mut row).expect("a row"));
    assert_eq!((row.wakee.pid, row.wake_flags.bits()), (9, 0x18));
    with_column(&path, "wakee_pid", Arc::new(Int64Array::from(vec![1 << 32])));
    let error = Reader::open(&path).expect("a recording").read(&mut row).expect_err("no task has it").to_string();
    assert!(
        error.contains(":1: column wakee_pid: expected a number from 0 to 4194304, found \"4294967296\""),
        "{error}"
    );
}

#[test]
fn segments_are_whole_before_the_recording_is() {
    let (_folder, path) = recording(2, metadata());
    let folder = path.parent().expect("a folder");
    let mut again = RecordingWriter::new(&folder.join("more"), metadata()).expect("an empty folder");
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
    assert!(RecordingWriter::new(folder, metadata()).is_err(), "there is something in it");
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
fn a_file_without_required_metadata_is_refused() {
    for (key, value, expected) in [
        ("wakelab.domains", None, "lacks the key wakelab.domains"),
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
fn every_file_has_the_metadata_of_a_recording() {
    let (_folder, path) = recording(1, metadata());
    let reader = SerializedFileReader::new(File::open(&path).expect("a file")).expect("Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
    let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    assert_eq!(value("wakelab.kind").as_deref(), Some("recorded"));
    assert_eq!(value("wakelab.table").as_deref(), Some("decisions"));
    assert_eq!(value("wakelab.schema_version").as_deref(), Some(SCHEMA_VERSION));
}

/// Counts with this many decisions, of which this many are recorded.
fn counts(choices: i64, recorded: i64, last: bool) -> CountsRow<'static> {
    CountsRow {
        t_ns: choices,
        last,
        wakings: choices,
        woken: choices,
        choices,
        recorded,
        lost: 1,
        filtered: choices - recorded - 1,
        sampled: 0,
        limited: 0,
        changed: 0,
        unfinished: 0,
        stable: recorded,
        events_lost: 0,
        events_limited: 0,
        missed: 0,
        choice_ns: Some(5),
        programs_ns: None,
        recorder_ns: 7,
        elapsed_ns: 100,
    }
}

fn pairs(path: &Path) -> Vec<(String, String)> {
    let reader = SerializedFileReader::new(File::open(path).expect("a file")).expect("Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata().expect("metadata");
    pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect()
}

#[test]
fn what_was_counted_is_in_the_segments_and_in_a_file_that_is_always_whole() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    for (number, last) in [(1, false), (2, true)] {
        folder.decision(decision(number)).expect("written");
        folder.write_counts(counts(10 * number, number, last)).expect("written");
        let of_file = pairs(&path.join(format!("decisions-{number:05}.parquet")));
        let (_, text) = of_file.iter().find(|(key, _)| key == "wakelab.counts").expect("the counts");
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!((value["choices"].as_i64(), value["last"].as_bool()), (Some(10 * number), Some(last)));
        assert!(value["programs_ns"].is_null() && value["choice_ns"] == 5);
        let reader = SerializedFileReader::new(File::open(path.join("counts.parquet")).expect("a file"));
        assert_eq!(reader.expect("Parquet").metadata().file_metadata().num_rows(), number);
    }
    let tables = Tables { folder: path.to_owned(), ..Tables::default() };
    let read = RecorderCounts::of(&tables).expect("it reads").expect("counts");
    assert_eq!((read.choices, read.recorded, read.lost), (20, 2, 1));
    assert_eq!(
        (read.left_out, read.programs_ns, read.cut_off),
        (17, None, 0),
        "the last row, which ends the recording"
    );
    assert!(!path.join("counts.part").exists());
    assert_eq!(counts(10, 3, true).left_out(), 6);
}

#[test]
fn a_machine_that_changes_begins_new_segments() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    folder.decision(decision(1)).expect("written");
    let smaller = DOMAINS.replace("\"2cpus\"", "\"other\"");
    let changes = vec![("wakelab.machine", "other".to_owned()), ("wakelab.domains", smaller)];
    folder.change_metadata(changes).expect("written");
    folder.decision(decision(2)).expect("written");
    folder.close_segments().expect("written");
    for (number, topology) in [(1, "2cpus"), (2, "other")] {
        let reader = Reader::open(&path.join(format!("decisions-{number:05}.parquet"))).expect("a recording");
        assert_eq!(reader.topo().topology, topology);
    }
    let keys = pairs(&path.join("decisions-00002.parquet"));
    assert_eq!(keys.iter().filter(|(key, _)| key == "wakelab.machine").count(), 1);
}

/// A recording during which the machine changed, with a segment of each machine, and with or without a name of the
/// recording.
fn changed(folder: &Path, name: Option<&str>) {
    let mut keys = metadata();
    keys.extend(name.map(|name| ("wakelab.recording", name.to_owned())));
    let mut recording = RecordingWriter::new(folder, keys).expect("an empty folder");
    recording.decision(decision(1)).expect("written");
    let smaller = DOMAINS.replace("\"2cpus\"", "\"other\"");
    let changes = vec![("wakelab.machine", "other".to_owned()), ("wakelab.domains", smaller)];
    recording.change_metadata(changes).expect("written");
    recording.decision(decision(2)).expect("written");
    recording.close_segments().expect("written");
}

fn faults(folder: &Path) -> Vec<String> {
    let sources = Source::at(folder).expect("a recording");
    sources.iter().flat_map(Source::faults).map(|error| error.to_string()).collect()
}

#[test]
fn files_of_two_machines_are_one_recording_only_if_they_have_its_name() {
    let temporary = tempfile::tempdir().expect("a folder");
    let of = |name: &str| temporary.path().join(name);
    changed(&of("one"), Some("1"));
    assert_eq!(faults(&of("one")), [""; 0]);
    changed(&of("unnamed"), None);
    let unnamed = faults(&of("unnamed"));
    assert!(unnamed.len() == 1 && unnamed[0].contains("wakelab.machine is other here, and 2cpus there"), "{unnamed:?}");
    changed(&of("two"), Some("2"));
    fs::copy(of("one").join("decisions-00002.parquet"), of("two").join("decisions-00002.parquet")).expect("copied");
    assert!(faults(&of("two"))[0].contains("decisions-00002.parquet: "), "{:?}", faults(&of("two")));
    fs::copy(of("one").join("decisions-00001.parquet"), of("two").join("decisions-00002.parquet")).expect("copied");
    let two = faults(&of("two"));
    assert!(two.len() == 1 && two[0].contains("wakelab.recording is 1 here, and 2 there"), "{two:?}");
}

#[test]
fn what_was_counted_of_a_folder_is_not_said_of_one_of_its_files() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    folder.decision(decision(1)).expect("written");
    folder.write_counts(counts(10, 1, true)).expect("written");
    for (name, choices) in [("", Some(10)), ("decisions-00001.parquet", None)] {
        let Source::Recorded(tables) = &Source::at(&path.join(name)).expect("a recording")[0] else { panic!("{name}") };
        let read = RecorderCounts::of(tables).expect("it reads");
        assert_eq!(read.map(|counts| counts.choices), choices, "{name}");
    }
}

#[test]
fn wake_ups_that_chose_no_cpu_have_their_context() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    folder.decision(decision(1)).expect("written");
    let row = |preempt_count, allowed| WakingRow {
        t_ns: 2000,
        waker_cpu: 0,
        waker_pid: 7,
        waker_comm: "a",
        wakee_pid: 8,
        wakee_comm: "ksoftirqd/1",
        prev_cpu: Some(1),
        dest_cpu: 1,
        preempt_count: Some(preempt_count),
        wakee_policy: Some(0),
        wakee_static_prio: Some(110),
        wakee_flags: Some(0x20_0000),
        wakee_nr_cpus_allowed: Some(allowed),
    };
    // In a task with preemption disabled, in a softirq, and in a hardirq.
    for (preempt_count, allowed) in [(2, 1), (0x102, 2), (0x1_0002, 2)] {
        folder.waking(row(preempt_count, allowed)).expect("written");
    }
    folder.close_segments().expect("written");
    let Source::Recorded(tables) = &Source::at(&path).expect("a recording")[0] else { panic!("it is recorded") };
    let mut causes = WakeCauses::undecided(tables);
    let found: Vec<_> = std::iter::from_fn(|| causes.next_wake().expect("it reads")).collect();
    let contexts: Vec<WakeContext> = found.iter().map(|wake| wake.context).collect();
    assert_eq!(contexts, [WakeContext::Task, WakeContext::Interrupt, WakeContext::Hardirq]);
    let pinned = found[0].wakee.as_ref().expect("it may use one CPU");
    assert_eq!((pinned.nice, pinned.affinity.as_deref(), pinned.kernel_thread), (-10, Some(&[1][..]), true));
    assert_eq!(found[1].wakee, None, "its decisions have which CPUs it may use");
    let mut wakes = Wakes::undecided(tables);
    let wake = wakes.next_wake().expect("it reads").expect("a wake-up");
    assert_eq!((wake.chose, wake.dest_cpu, &*wake.wakee_comm), (Some(false), 1, "ksoftirqd/1"));

    // Of an import they are the wake-ups, of which none is left over.
    let imported = Tables { decisions: Vec::new(), ..(**tables).clone() };
    assert!(WakeCauses::undecided(&imported).next_wake().expect("it reads").is_none());
    assert!(WakeCauses::recorded(&imported).next_wake().expect("it reads").is_some());
}

#[test]
fn counts_that_cannot_be_are_not_added_past_the_largest_number() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    let most = 1 << 62;
    folder
        .write_counts(CountsRow { filtered: most, sampled: most, limited: most, ..counts(1, 0, true) })
        .expect("written");
    let tables = Tables { folder: path, ..Tables::default() };
    let mut sum = RecorderCounts::of(&tables).expect("it reads").expect("counts");
    assert_eq!(sum.left_out, 3 << 62);
    let other = sum;
    sum.add(&other);
    assert_eq!((sum.left_out, sum.choices), (u64::MAX, 2));
}

#[test]
fn a_domain_may_be_like_that_of_another_cpu() {
    let full: Vec<&str> = DOMAINS.split("\"1\": ").collect();
    let of = |like: &str| {
        let mut pairs = metadata();
        pairs.retain(|pair| pair.0 != "wakelab.domains");
        pairs.push(("wakelab.domains", format!("{}\"1\": [{like}]}}}}", full[0])));
        recording(1, pairs)
    };
    let (_folder, path) = of(r#"{"like": 0}"#);
    let (_other, expected) = recording(1, metadata());
    let domains = |path: &Path| Reader::open(path).expect("a recording").topo().domains.clone();
    assert_eq!(format!("{:?}", domains(&path)), format!("{:?}", domains(&expected)));
    for wrong in ["1", "2"] {
        let (_folder, path) = of(&format!(r#"{{"like": {wrong}}}"#));
        let error = error(&path).to_string();
        assert!(error.contains("domains.1[0].like") && error.contains(&format!("found {wrong}")), "{error}");
    }
}

/// A folder of this mode, as `mkdir` and `chmod` make it.
fn folder_of_mode(path: &Path, mode: u32) -> &Path {
    fs::create_dir(path).expect("a folder");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    path
}

#[test]
fn a_folder_in_which_others_can_write_is_refused() {
    let temporary = tempfile::tempdir().expect("a folder");
    for (mode, refused) in [(0o700, false), (0o755, false), (0o775, true), (0o757, true), (0o1777, true)] {
        let path = temporary.path().join(format!("{mode:o}"));
        let recording = RecordingWriter::new(folder_of_mode(&path, mode), metadata());
        let text = recording.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let expected = format!("expected an empty or new folder that only you can write to, found mode {mode:04o}");
        assert_eq!(text.contains(&expected), refused, "{mode:o}: {text}");
        assert_eq!(recording.is_err(), refused, "{mode:o}: {text}");
    }
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = folder_of_mode(&temporary.path().join("theirs"), 0o755).to_owned();
    // Only root can give a folder away. Others have the folders of root.
    let theirs = if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() { path } else { PathBuf::from("/proc") };
    let error = RecordingWriter::new(&theirs, metadata()).err().expect("it is not ours").to_string();
    assert!(error.contains("found one of user "), "{error}");
}

#[test]
fn no_link_is_followed_to_a_folder() {
    let temporary = tempfile::tempdir().expect("a folder");
    let of = |name: &str| temporary.path().join(name);
    fs::create_dir(of("real")).expect("a folder");
    symlink(of("real"), of("link")).expect("a link");
    symlink(of("nowhere"), of("dangling")).expect("a link");
    fs::write(of("file"), "").expect("a file");
    for (name, found) in [
        ("link", "a symbolic link"),
        ("link/", "a symbolic link"),
        ("dangling", "a symbolic link"),
        ("file", "something that is not a folder"),
    ] {
        let error = RecordingWriter::new(&of(name), metadata()).err().expect(name).to_string();
        assert!(error.ends_with(&format!("found {found}")), "{name}: {error}");
    }
    assert!(!of("nowhere").exists() && fs::read_dir(of("real")).expect("a folder").next().is_none());
}

#[test]
fn no_planted_link_is_written_through() {
    let temporary = tempfile::tempdir().expect("a folder");
    let (path, victim) = (temporary.path().join("rec"), temporary.path().join("victim"));
    fs::write(&victim, "untouched").expect("a file");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("a new folder");
    folder.decision(decision(1)).expect("written");
    symlink(&victim, path.join("decisions-00002.part")).expect("a link");
    symlink(&victim, path.join("counts.part")).expect("a link");
    folder.close_segments().expect("the first segment has its own file");
    let error = folder.decision(decision(2)).expect_err("there is a link").to_string();
    assert!(error.contains("decisions-00002.part") && error.contains("exists"), "{error}");
    assert!(folder.write_counts(counts(2, 2, true)).is_err());
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "untouched");
}

#[test]
fn a_folder_that_is_replaced_meanwhile_keeps_its_recording() {
    let temporary = tempfile::tempdir().expect("a folder");
    let of = |name: &str| temporary.path().join(name);
    let mut folder = RecordingWriter::new(&of("rec"), metadata()).expect("a new folder");
    fs::create_dir(of("elsewhere")).expect("a folder");
    fs::rename(of("rec"), of("moved")).expect("renamed");
    symlink(of("elsewhere"), of("rec")).expect("a link");
    folder.decision(decision(1)).expect("written");
    folder.close_segments().expect("written");
    assert!(of("moved").join("decisions-00001.parquet").exists());
    assert!(fs::read_dir(of("elsewhere")).expect("a folder").next().is_none());
}

/// Set in a process that tests start for themselves: where it writes its recording.
const RECORD_TO: &str = "WAKELAB_TEST_RECORD_TO";

/// The test below runs itself with each umask, because the umask is one of a process and not of a thread.
#[test]
fn recordings_are_their_owners_alone_whatever_the_umask() {
    if let Some(path) = std::env::var_os(RECORD_TO) {
        let mut folder = RecordingWriter::new(Path::new(&path), metadata()).expect("a new folder");
        folder.decision(decision(1)).expect("written");
        folder.write_counts(counts(1, 1, true)).expect("written");
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let test = "recording::recordings_are_their_owners_alone_whatever_the_umask";
    for umask in ["000", "077", "277"] {
        let path = temporary.path().join(umask);
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask $0; exec \"$@\"", umask]).arg(std::env::current_exe().expect("this test"));
        let output = shell.args([test, "--exact"]).env(RECORD_TO, &path).output().expect("a shell");
        assert!(output.status.success(), "{output:?}");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o700, "umask {umask}");
        for name in ["decisions-00001.parquet", "counts.parquet"] {
            assert_eq!(mode(&path.join(name)), 0o600, "umask {umask}: {name}");
        }
    }
}

#[test]
fn a_folder_is_read_once_whatever_links_to_it() {
    let temporary = tempfile::tempdir().expect("a folder");
    let at = |name: &str| temporary.path().join(name);
    let mut recording = RecordingWriter::new(&at("rec"), metadata()).expect("an empty folder");
    recording.decision(decision(1)).expect("written");
    recording.close_segments().expect("written");
    let sources = |path: &Path| Source::at(path).map(|sources| sources.len());
    assert_eq!(sources(temporary.path()), Ok(1));
    // Links to the folder, to its parent and to itself.
    symlink("rec", at("link")).expect("a link");
    symlink(".", at("self")).expect("a link");
    symlink("..", at("rec/parent")).expect("a link");
    assert_eq!(sources(temporary.path()), Ok(1));
    assert_eq!(sources(&at("link")), Ok(1), "a link that is named is followed");
    // One file under two names.
    fs::hard_link(at("rec/decisions-00001.parquet"), at("rec/decisions-00002.parquet")).expect("a link");
    symlink("decisions-00001.parquet", at("rec/decisions-00003.parquet")).expect("a link");
    assert_eq!(Source::at(&at("rec")).expect("a recording")[0].decisions().len(), 1);
}

#[test]
fn special_files_and_deep_folders_are_errors() {
    let temporary = tempfile::tempdir().expect("a folder");
    let fifo = temporary.path().join("x.csv");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let error = Source::at(temporary.path()).expect_err("a pipe").to_string();
    assert!(error.contains("x.csv: it has the name of a recording, but is a pipe"), "{error}");
    fs::remove_file(fifo).expect("removed");
    let mut deep = temporary.path().to_owned();
    for _ in 0..13 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).expect("folders");
    let error = Source::at(temporary.path()).expect_err("too deep").to_string();
    assert!(error.contains("folders are nested more than 12 deep"), "{error}");
    fs::remove_dir(deep).expect("removed");
    let error = Source::at(temporary.path()).expect_err("nothing there").to_string();
    assert!(error.contains("no recordings"), "{error}");
}

/// A wake-up preemption on a queue of two tasks with these policies, of which one weighs `weight`.
fn preempt<'a>(policies: &'a [i32], weights: &'a [i64]) -> WakeupPreemptRow<'a> {
    WakeupPreemptRow {
        t_ns: 7,
        cpu: 1,
        waker_cpu: 0,
        stable: true,
        features: "NO_NEXT_BUDDY WAKEUP_PREEMPTION",
        wake_flags: 24,
        in_task: true,
        curr_pid: 8,
        curr_comm: "a",
        wakee_pid: 9,
        wakee_comm: "b",
        clock_task: 5,
        resched: 1,
        resched_after: 3,
        base_slice: Some(700_000),
        migration_cost: Some(500_000),
        wakeup_granularity: None,
        nr_latency: None,
        nr_queued: 2,
        nr_queued_after: 1,
        virtual_time: -3,
        virtual_time_after: -2,
        sum_w_vruntime: Some(-1024),
        sum_weight: Some(1024),
        sum_shift: 0,
        next_pid: 0,
        next_pid_after: 9,
        last_pid: 0,
        last_pid_after: 0,
        curr_exec_start: 5,
        curr_vruntime_after: -2,
        curr_deadline_after: 4,
        curr_slice_after: 6,
        curr_protection_after: 3,
        task_pid: &[8, 9],
        task_policy: policies,
        task_static_prio: &[120, 115],
        task_flags: &[1, 11],
        task_weight: weights,
        task_vruntime: &[-2, -4],
        task_deadline: &[4, 5],
        task_slice: &[6, 7],
        task_vlag: &[-1, 1],
        task_vprot: &[3, 0],
    }
}

fn preempts(row: WakeupPreemptRow<'_>) -> (tempfile::TempDir, WakeupPreempts) {
    let temporary = tempfile::tempdir().expect("a folder");
    let path = temporary.path().join("rec");
    let mut folder = RecordingWriter::new(&path, metadata()).expect("an empty folder");
    folder.wakeup_preempt(row).expect("written");
    folder.close_segments().expect("written");
    let source = Source::at(&path).expect("a recording").remove(0);
    let rows = WakeupPreempts::new(source.preempts().to_vec());
    (temporary, rows)
}

#[test]
fn a_queue_is_read_as_it_was_recorded() {
    let (_folder, mut rows) = preempts(preempt(&[0, 5], &[1024, 3]));
    let (row, topo) = rows.next_preempt().expect("read").expect("a row");
    assert_eq!(topo.preset.name, "v7.2");
    assert_eq!((row.resched, row.nr_queued, row.next_pid), ((1, 3), (2, 1), (0, 9)));
    assert_eq!((row.virtual_time, row.sums), ((-3_i64 as u64, -2_i64 as u64), Some((-1024, 1024))));
    assert_eq!(row.tunables, [Some(700_000), Some(500_000), None, None]);
    let [curr, other] = row.tasks[..] else { panic!("two tasks") };
    assert_eq!((curr.pid, curr.nice, curr.weight, curr.vprot, curr.on_rq), (8, 0, 1024, 3, true));
    assert_eq!((other.vruntime, other.deadline, other.slice, other.vlag), (-4_i64 as u64, 5, 7, 1));
    assert_eq!((other.nice, other.sched_delayed, other.rel_deadline, other.custom_slice), (-5, true, false, true));
    assert!(rows.next_preempt().expect("read").is_none());
}

#[test]
fn a_queue_that_no_kernel_has_is_refused() {
    for (row, column) in [
        (preempt(&[0, 1], &[1024, 1024]), "task_policy"),
        (preempt(&[0], &[1024, 1024]), "task_policy"),
        (preempt(&[0, 0], &[1024, 0]), "task_weight"),
        (WakeupPreemptRow { task_pid: &[], ..preempt(&[0, 0], &[1024, 1024]) }, "task_pid"),
        (WakeupPreemptRow { sum_shift: 11, ..preempt(&[0, 0], &[1024, 1024]) }, "sum_shift"),
        (WakeupPreemptRow { resched: 4, ..preempt(&[0, 0], &[1024, 1024]) }, "resched"),
    ] {
        let error = preempts(row).1.next_preempt().expect_err(column);
        assert!(error.to_string().contains(column), "{error}");
    }
}
