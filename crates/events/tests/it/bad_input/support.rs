//! Recordings that are changed in one place, and assertions on their errors.

use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use wakelab_events::{ReadError, Reader, Row};

/// Eight rows on the machine of [`TOPO`].
pub const SAMPLE: &str = include_str!("../data/6.12-A.csv");
/// The description of a machine of eight CPUs.
pub const TOPO: &str = include_str!("../../../../../data/recordings/topo-6.12-A.json");
/// The file name of [`TOPO`].
pub const TOPO_NAME: &str = "topo-6.12-A.json";
/// The row of the sample that is a fork, counted from 0.
pub const FORK: usize = 6;
/// The row of the sample that is an exec.
pub const EXEC: usize = 7;

pub fn header() -> &'static str {
    SAMPLE.lines().next().expect("a header")
}

/// A row of the sample.
pub fn row(n: usize) -> &'static str {
    SAMPLE.lines().nth(n + 1).expect("a row")
}

/// The index of a column.
pub fn place(column: &str) -> usize {
    header().split(',').position(|name| name == column).expect("a column")
}

/// A row of the sample with another value in one column.
pub fn changed(n: usize, column: &str, value: &str) -> String {
    let mut cells: Vec<_> = row(n).split(',').collect();
    cells[place(column)] = value;
    cells.join(",")
}

/// A recording whose first row is valid and whose second row, in line 3, has another value in one column.
pub fn with_value(n: usize, column: &str, value: &str) -> String {
    format!("{}\n{}\n{}\n", header(), row(0), changed(n, column, value))
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).expect("memory can be written");
    gzip.finish().expect("memory can be written")
}

/// A folder with a recording `r.csv` and the description of its machine.
pub fn folder(recording: &[u8], topo: &str) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("r.csv"), recording).expect("a file");
    fs::write(dir.path().join(TOPO_NAME), topo).expect("a file");
    dir
}

/// Reads the recording in a folder to its end. Returns the number of rows.
pub fn read(dir: &Path) -> Result<usize, ReadError> {
    let mut reader = Reader::open(&dir.join("r.csv"))?;
    let (mut row, mut rows) = (Row::new(), 0);
    while reader.read(&mut row)? {
        rows += 1;
    }
    Ok(rows)
}

/// The text of the error, without the path of the folder.
pub fn error_of(dir: &Path) -> String {
    let error = read(dir).expect_err("an error");
    error.to_string().replace(&format!("{}/", dir.display()), "")
}

/// Asserts the error of the recording in a folder.
#[track_caller]
pub fn error_in_folder_is(dir: &Path, expected: &str) {
    assert_eq!(error_of(dir), expected);
}

/// Asserts the error of a recording on the machine of [`TOPO`].
#[track_caller]
pub fn error_is(recording: impl AsRef<[u8]>, expected: &str) {
    let dir = folder(recording.as_ref(), TOPO);
    error_in_folder_is(dir.path(), expected);
}

/// Asserts the error of [`SAMPLE`] with another description of its machine.
#[track_caller]
pub fn topo_error_is(topo: &str, expected: &str) {
    let dir = folder(SAMPLE.as_bytes(), topo);
    error_in_folder_is(dir.path(), expected);
}

/// Asserts how many rows are read.
#[track_caller]
pub fn reads(recording: impl AsRef<[u8]>, rows: usize) {
    let dir = folder(recording.as_ref(), TOPO);
    assert_eq!(read(dir.path()), Ok(rows));
}
