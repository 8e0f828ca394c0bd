//! Small files that hold much: they take no more memory than a sound file of their size, and are refused.

use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use wakelab_events::recording::{DecisionRow, RecordingWriter, WakingRow};
use wakelab_events::stream::{Source, Wakes};
use wakelab_events::{ReadError, Reader, Row};
use wakelab_testing::most_memory::{self, Measured};
use wakelab_testing::recording_rows::{decision, metadata};

const MIB: usize = 1 << 20;

/// Reads all decisions. Returns the error, and the most memory that reading took, bytes.
fn read(path: &Path, measured: &mut Measured) -> (Option<ReadError>, usize) {
    measured.restart();
    let rows = || -> Result<(), ReadError> {
        let mut reader = Reader::open(path)?;
        let mut row = Row::new();
        while reader.read(&mut row)? {}
        Ok(())
    };
    let error = rows().err();
    (error, measured.most())
}

fn recording(rows: usize, row: DecisionRow<'_>) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RecordingWriter::new(folder.path(), metadata()).expect("an empty folder");
    (0..rows).for_each(|_| writer.decision(row).expect("written"));
    writer.close_segments().expect("written");
    folder
}

#[track_caller]
fn is_refused(measured: &mut Measured, folder: &TempDir, file: &str, most: usize, says: &str) {
    let path = folder.path().join(file);
    let size = fs::metadata(&path).expect("a file").len() as usize;
    let (error, used) = read(&path, measured);
    let error = error.expect("it is refused").to_string();
    assert!(error.contains(says), "{error}");
    assert!(error.len() < 4096, "{} bytes", error.len());
    assert!(used < most, "{used} bytes were used for a file of {size}");
}

#[test]
fn a_long_list_is_refused_before_it_is_decoded() {
    let mut measured = most_memory::begin();
    let zeros = vec![0; 4 * MIB];
    let folder = recording(1, DecisionRow { cpu_load_avg: &zeros, ..decision(1) });
    is_refused(
        &mut measured,
        &folder,
        "decisions-00001.parquet",
        4 * MIB,
        "column cpu_load_avg: expected at most what a kernel",
    );
}

#[test]
fn long_names_are_not_copied_for_each_row() {
    let mut measured = most_memory::begin();
    let name = "A".repeat(MIB / 4);
    for (row, column) in [
        (DecisionRow { wakee_comm: &name, ..decision(1) }, "wakee_comm"),
        (DecisionRow { waker_comm: &name, ..decision(1) }, "waker_comm"),
        (DecisionRow { features: &name, ..decision(1) }, "features"),
        // No decision reads it.
        (DecisionRow { wake_flags_text: &name, ..decision(1) }, ""),
    ] {
        let folder = recording(700, row);
        if column.is_empty() {
            let (error, used) = read(&folder.path().join("decisions-00001.parquet"), &mut measured);
            assert!(error.is_none() && used < 16 * MIB, "{used} bytes: {error:?}");
        } else {
            is_refused(&mut measured, &folder, "decisions-00001.parquet", 16 * MIB, column);
        }
    }
}

#[test]
fn long_names_of_imported_wake_ups_are_not_copied_either() {
    let mut measured = most_memory::begin();
    let name = "A".repeat(MIB / 4);
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = RecordingWriter::new(folder.path(), metadata()).expect("an empty folder");
    let (waker_comm, wakee_comm) = (name.as_str(), "a");
    for t_ns in 0..700 {
        let row = WakingRow {
            t_ns,
            waker_cpu: 0,
            waker_pid: 1,
            waker_comm,
            wakee_pid: 2,
            wakee_comm,
            prev_cpu: None,
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
    let Source::Recorded(tables) = &Source::at(folder.path()).expect("a recording")[0] else {
        panic!("it is recorded")
    };
    measured.restart();
    let error = Wakes::recorded(tables).next_wake().expect_err("it is refused").to_string();
    assert!(error.contains("column waker_comm: expected at most 63 bytes, found 262144"), "{error}");
    assert!(measured.most() < 16 * MIB, "{} bytes", measured.most());
}

#[test]
fn long_names_of_a_gzip_file_are_refused() {
    let mut measured = most_memory::begin();
    let (header, rows) = crate::reader::SAMPLE.split_once('\n').expect("a header");
    let at = header.split(',').position(|name| name == "wakee_comm").expect("a column");
    let mut cells: Vec<_> = rows.lines().next().expect("a row").split(',').collect();
    let name = "A".repeat(15 * MIB);
    cells[at] = &name;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("topo-6.12-A.json"), crate::reader::TOPO).expect("written");
    let file = fs::File::create(folder.path().join("r.csv.gz")).expect("a file");
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    let row = cells.join(",");
    gzip.write_all(format!("{header}\n{row}\n{row}\n{row}\n").as_bytes()).expect("written");
    gzip.finish().expect("written");
    is_refused(
        &mut measured,
        &folder,
        "r.csv.gz",
        64 * MIB,
        "r.csv.gz:2: column wakee_comm: expected at most 63 bytes",
    );
}
