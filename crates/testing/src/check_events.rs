//! What must hold for whatever bytes are read as a table of events or a recording in Parquet: no panic, and errors that
//! say where and what to do.

use std::fs;
use std::path::Path;
use wakelab_events::stream::{
    CpuValues, Migrations, SdSharedWrites, Source, Switches, TaskLives, TaskMoments, WakeCauses, Wakes,
};
use wakelab_events::{ReadError, Reader, Row};

/// Reads the bytes by each reader of Parquet tables; how many rows they gave.
///
/// A file's checksum would have nearly all changed files refused before anything else of them is read. Files of other
/// programs, and those from before there were checksums, have none: the bytes are made such a file.
pub fn events(bytes: &[u8]) -> usize {
    let mut bytes = bytes.to_vec();
    rename(&mut bytes, b"wakelab.checksum", b"another.checksum");
    rename(&mut bytes, b"wakelab 0.", b"another 0.");
    let folder = tempfile::tempdir().expect("a folder");
    let mut rows = 0;
    for name in [
        "wakeups.parquet",
        "switches.parquet",
        "migrations.parquet",
        "hints.parquet",
        "tasks.parquet",
        "enqueues.parquet",
        "transactions.parquet",
        "idle.parquet",
        "decisions-00001.parquet",
        "wakings-00001.parquet",
    ] {
        let path = folder.path().join(name);
        fs::write(&path, &bytes).expect("a file");
        for read in [switches, migrations, wakes, causes, lives, decisions, writes] {
            match read(&path) {
                Ok(found) => rows += found,
                Err(error) => check(&error),
            }
        }
        fs::remove_file(&path).expect("the file");
    }
    rows
}

fn rename(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

fn check(error: &ReadError) {
    let text = error.to_string();
    assert!(!error.what.is_empty() && text.len() < 4096, "{text}");
    assert!(!text.contains('\0') && !text.contains('\u{1b}'), "{text:?}");
}

fn folder(path: &Path) -> &Path {
    path.parent().expect("a folder")
}

/// The rows of a table of context switches.
pub fn switches(path: &Path) -> Result<usize, ReadError> {
    let (mut of_files, mut rows) = (Switches::new(vec![path.to_owned()]), 0);
    while of_files.next_switch()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

fn migrations(path: &Path) -> Result<usize, ReadError> {
    let (mut of_files, mut rows) = (Migrations::new(vec![path.to_owned()]), 0);
    while of_files.next_migration()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

fn wakes(path: &Path) -> Result<usize, ReadError> {
    let mut rows = 0;
    for source in Source::at(path)? {
        let mut wakes = match &source {
            Source::Recorded(tables) => Wakes::recorded(tables),
            Source::Simulated(folder) => Wakes::simulated(folder),
            Source::Csv(_) => continue,
        };
        while wakes.next_wake()?.is_some() {
            rows += 1;
        }
    }
    Ok(rows)
}

fn causes(path: &Path) -> Result<usize, ReadError> {
    let mut rows = 0;
    for source in Source::at(path)? {
        let mut causes = match &source {
            Source::Recorded(tables) => WakeCauses::recorded(tables),
            Source::Simulated(folder) => WakeCauses::simulated(folder),
            Source::Csv(_) => continue,
        };
        while causes.next_wake()?.is_some() {
            rows += 1;
        }
    }
    Ok(rows)
}

/// The rows of what else is followed of a simulated run.
fn lives(path: &Path) -> Result<usize, ReadError> {
    let (mut lives, mut done) = (TaskLives::simulated(folder(path)), TaskMoments::transactions(folder(path)));
    let (mut enqueues, mut idle) = (TaskMoments::enqueues(folder(path)), CpuValues::simulated_idle(folder(path)));
    let mut rows = 0;
    while lives.next_life()?.is_some()
        || done.next_moment()?.is_some()
        || enqueues.next_moment()?.is_some()
        || idle.next_value()?.is_some()
    {
        rows += 1;
    }
    Ok(rows)
}

/// The rows of a table of decisions.
pub fn decisions(path: &Path) -> Result<usize, ReadError> {
    let mut reader = Reader::open(path)?;
    let (mut row, mut rows) = (Row::new(), 0);
    while reader.read(&mut row)? {
        rows += 1;
    }
    Ok(rows)
}

fn writes(path: &Path) -> Result<usize, ReadError> {
    let (mut writes, mut rows) = (SdSharedWrites::simulated(folder(path)), 0);
    while writes.next_write()?.is_some() {
        rows += 1;
    }
    Ok(rows)
}
