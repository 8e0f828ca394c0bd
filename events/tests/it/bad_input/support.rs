//! Recordings that are changed in one place, and what comes of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use wakelab_events::{ReadError, Reader, Row};

/// Eight rows on the machine of [`TOPO`].
pub const SAMPLE: &str = include_str!("../data/6.12-A.csv");
/// The description of a machine of eight CPUs.
pub const TOPO: &str = include_str!("../../../../recordings/topo-6.12-A.json");
/// The name under which [`TOPO`] is looked for.
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

/// The place of a column.
pub fn place(column: &str) -> usize {
    header().split(',').position(|name| name == column).expect("a column")
}

/// The sample's row with another value in one column.
pub fn changed(n: usize, column: &str, value: &str) -> String {
    let mut cells: Vec<_> = row(n).split(',').collect();
    cells[place(column)] = value;
    cells.join(",")
}

/// A recording whose first row is sound and whose second one, in line 3, has another value in one column.
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

/// Reads the folder's recording to its end: the number of rows.
pub fn read(dir: &Path) -> Result<usize, ReadError> {
    let mut reader = Reader::open(&dir.join("r.csv"))?;
    let (mut row, mut rows) = (Row::new(), 0);
    while reader.read(&mut row)? {
        rows += 1;
    }
    Ok(rows)
}

/// The error's text, with the folder left out.
pub fn error_of(dir: &Path) -> String {
    let error = read(dir).expect_err("an error");
    error.to_string().replace(&format!("{}/", dir.display()), "")
}

/// Asserts what is said of the folder's recording.
#[track_caller]
pub fn says_in(dir: &Path, expected: &str) {
    assert_eq!(error_of(dir), expected);
}

/// Asserts what is said of a recording on the usual machine.
#[track_caller]
pub fn says(recording: impl AsRef<[u8]>, expected: &str) {
    let dir = folder(recording.as_ref(), TOPO);
    says_in(dir.path(), expected);
}

/// Asserts what is said of a description of the usual recording's machine.
#[track_caller]
pub fn says_of_topo(topo: &str, expected: &str) {
    let dir = folder(SAMPLE.as_bytes(), topo);
    says_in(dir.path(), expected);
}

/// Asserts how many rows are read.
#[track_caller]
pub fn reads(recording: impl AsRef<[u8]>, rows: usize) {
    let dir = folder(recording.as_ref(), TOPO);
    assert_eq!(read(dir.path()), Ok(rows));
}
