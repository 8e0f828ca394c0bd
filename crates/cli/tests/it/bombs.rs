//! Small files that stand for much: each is refused with a reason, or read, in 1 GiB of address space.

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use wakelab_events::recording::{RecordingWriter, WakingRow};

/// Runs the program with at most 1 GiB of address space.
fn in_a_gib(folder: &Path, args: &[&str]) -> Output {
    let program = assert_cmd::cargo::cargo_bin("wakelab");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1048576 && exec \"$0\" \"$@\""]).arg(program).args(args);
    command.current_dir(folder).env("XDG_CACHE_HOME", folder.join("cache")).env("RAYON_NUM_THREADS", "2");
    command.output().expect("it runs")
}

#[track_caller]
fn is_refused(folder: &Path, args: &[&str], says: &str) {
    let output = in_a_gib(folder, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
    assert!(errors.contains(says), "{args:?}: {errors}");
    assert!(errors.len() < 5000, "{args:?}: {} bytes", errors.len());
}

#[track_caller]
fn is_read(folder: &Path, args: &[&str]) {
    let output = in_a_gib(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A field of a protocol buffer with these bytes.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut all = varint(number << 3 | 2);
    all.extend(varint(bytes.len() as u64));
    all.extend(bytes);
    all
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A compressed trace of so many switches to tasks with the first of these names.
fn perfetto(names: &[u8], switches: usize) -> Vec<u8> {
    let mut compact = field(1, &vec![1; switches]);
    compact.extend(field(2, &vec![0; switches]));
    compact.extend(field(3, &vec![10; switches]));
    compact.extend(names);
    compact.extend(field(6, &vec![0; switches]));
    let mut bundle = vec![1 << 3, 1];
    bundle.extend(field(4, &compact));
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(&field(1, &field(1, &bundle))).expect("memory can be written");
    field(1, &field(50, &zlib.finish().expect("memory can be written")))
}

#[test]
fn perfetto_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::write(path.join("name.pftrace"), perfetto(&field(5, &vec![b'A'; 16 << 20]), 1000)).expect("written");
    is_read(path, &["import", "name.pftrace", "-o", "name"]);
    fs::write(path.join("names.pftrace"), perfetto(&field(5, b"").repeat(15_000_000), 1000)).expect("written");
    is_refused(path, &["import", "names.pftrace", "-o", "names"], "more than 262144 names");
}

#[test]
fn parquet_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    let rec = folder.path().join("rec");
    let metadata = [("wakelab.workload", "w"), ("wakelab.variant", "default"), ("wakelab.snapshot", "none")];
    let metadata = metadata.map(|(key, value)| (key, value.to_owned())).to_vec();
    let mut writer = RecordingWriter::new(&rec, metadata).expect("an empty folder");
    let (name, wakee_comm) = ("A".repeat(1 << 20), "a");
    for t_ns in 0..300 {
        let (waker_comm, prev_cpu) = (name.as_str(), None);
        let row = WakingRow {
            t_ns,
            waker_cpu: 0,
            waker_pid: 1,
            waker_comm,
            wakee_pid: 2,
            wakee_comm,
            prev_cpu,
            dest_cpu: 0,
            preempt_count: None,
            wakee_policy: None,
            wakee_static_prio: None,
            wakee_flags: None,
            wakee_nr_cpus_allowed: None,
        };
        writer.waking(row).expect("written");
    }
    writer.close_segments().expect("written");
    is_refused(folder.path(), &["stats", "rec"], "column waker_comm: expected at most 63 bytes, found 1048576");
}

#[test]
fn gzip_recordings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sample = fs::read_to_string(root.join("crates/events/tests/it/data/6.12-A.csv")).expect("a recording");
    let (header, rows) = sample.split_once('\n').expect("a header");
    let at = header.split(',').position(|name| name == "wakee_comm").expect("a column");
    let mut cells: Vec<&str> = rows.lines().next().expect("a row").split(',').collect();
    let name = "A".repeat(15 << 20);
    cells[at] = &name;
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(root.join("data/recordings/topo-6.12-A.json"), folder.path().join("topo-6.12-A.json")).expect("copied");
    let file = File::create(folder.path().join("r.csv.gz")).expect("a file");
    let mut gzip = GzEncoder::new(file, Compression::fast());
    writeln!(gzip, "{header}").expect("written");
    for _ in 0..8 {
        writeln!(gzip, "{}", cells.join(",")).expect("written");
    }
    gzip.finish().expect("written");
    for args in [&["stats", "r.csv.gz", "--by", "comm"][..], &["explain", "r.csv.gz"]] {
        is_refused(folder.path(), args, "column wakee_comm: expected at most 63 bytes, found 15728640");
    }
}

#[test]
fn files_that_people_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let most = 8 << 20;
    fs::write(path.join("large.toml"), format!("name = \"{}\"\n", "x".repeat(most))).expect("written");
    fs::write(path.join("large.json"), "1".repeat(most + 1)).expect("written");
    for args in [
        &["machine", "show", "large.toml"][..],
        &["workload", "show", "large.toml"],
        &["workload", "show", "large.json"],
        &["run", "large.toml"],
    ] {
        is_refused(path, args, "it has more than 8 MiB");
    }
    // As many values as there is room for.
    let list = format!("name = [{}]\n", "0,".repeat(most / 2 - 100));
    fs::write(path.join("list.toml"), list).expect("written");
    fs::write(path.join("list.json"), format!("{{\"tasks\": [{}0]}}", "0,".repeat(most / 2 - 100))).expect("written");
    is_refused(path, &["machine", "show", "list.toml"], "list.toml:1: `name`: ");
    is_refused(path, &["workload", "show", "list.toml"], "list.toml");
    is_refused(path, &["workload", "show", "list.json"], "list.json:1: `tasks`: ");
}
