//! Whether the files of a folder are one recording, and all of it.

use super::source::{Tables, number};
use crate::parquet_file::ParquetFile;
use crate::recording::{ReadError, clipped};
use std::fs::File;
use std::path::{Path, PathBuf};

/// What all files of a recording say alike.
const ALIKE: [&str; 8] = [
    "wakelab.kernel",
    "wakelab.release",
    "wakelab.workload",
    "wakelab.variant",
    "wakelab.source",
    "wakelab.machine",
    "wakelab.domains",
    RECORDING,
];
/// The recorder's own name for one recording. Recordings before 1.3 have none.
const RECORDING: &str = "wakelab.recording";
/// What changes in one recording when CPUs come and go.
const CHANGES: [&str; 2] = ["wakelab.machine", "wakelab.domains"];

impl Tables {
    /// What is wrong with the files of a folder taken together: one is missing between others, or two are of different
    /// recordings. Files that cannot be read are left to those who read them.
    pub fn faults(&self) -> Vec<ReadError> {
        let tables = [&self.decisions, &self.wakings, &self.switches, &self.migrations];
        let mut faults: Vec<ReadError> = tables.into_iter().filter_map(|files| missing(files)).collect();
        let mut first: Option<(&Path, [Option<String>; ALIKE.len()])> = None;
        for path in tables.into_iter().flatten() {
            let Some(says) = says(path) else { continue };
            let Some((other, expected)) = &first else {
                first = Some((path, says));
                continue;
            };
            if let Some(at) = differs(&says, expected) {
                let value = |says: &[Option<String>]| clipped(says[at].as_deref().unwrap_or("nothing"));
                let name = other.file_name().unwrap_or_default().to_string_lossy();
                let what = format!(
                    "expected a file of the same recording as {name}: {} is {}, and there {}",
                    ALIKE[at],
                    value(&says),
                    value(expected)
                );
                faults.push(ReadError::of_file(path, what).with_hint("keep each recording in a folder of its own"));
            }
        }
        faults
    }

    /// The machines of the decisions, each once, in the order of the files: CPUs may have come and gone.
    pub fn machines(&self) -> Vec<String> {
        let mut names = Vec::new();
        for path in &self.decisions {
            let Some(name) = opened(path).and_then(|about| about.says(CHANGES[0]).map(str::to_owned)) else { continue };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The first key by which two files are not of one recording.
fn differs(says: &[Option<String>; ALIKE.len()], other: &[Option<String>; ALIKE.len()]) -> Option<usize> {
    let own = ALIKE.len() - 1;
    let one = says[own].as_deref().is_some_and(|name| !name.is_empty()) && says[own] == other[own];
    (0..ALIKE.len()).find(|&at| says[at] != other[at] && !(one && CHANGES.contains(&ALIKE[at])))
}

/// The recorder numbers a table's files from 1, without a gap.
fn missing(files: &[PathBuf]) -> Option<ReadError> {
    let numbers: Vec<usize> = files.iter().filter_map(|path| number(path)?.try_into().ok()).collect();
    let (gap, &found) = (1..).zip(&numbers).find(|(expected, found)| expected != *found)?;
    let path = files.get(gap - 1)?;
    let table = path.file_name()?.to_str()?.split_once('-')?.0;
    (found > gap).then(|| {
        ReadError::of_file(path, format!("expected {table}-{gap:05}.parquet before it, found none"))
            .with_hint("copy the whole folder; files that are named one by one are read as they are")
    })
}

fn opened(path: &Path) -> Option<ParquetFile> {
    Some(ParquetFile::open(path, File::open(path).ok()?).ok()?.0)
}

fn says(path: &Path) -> Option<[Option<String>; ALIKE.len()]> {
    let about = opened(path)?;
    Some(ALIKE.map(|key| about.says(key).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(numbers: &[u32]) -> Option<String> {
        let files: Vec<_> = numbers.iter().map(|n| PathBuf::from(format!("rec/switches-{n:05}.parquet"))).collect();
        missing(&files).map(|error| error.to_string())
    }

    #[test]
    fn a_gap_is_named_with_the_file_behind_it() {
        assert_eq!(gap(&[1, 2, 3]), None);
        assert_eq!(gap(&[]), None);
        for (numbers, lacks) in [(&[2][..], "switches-00001"), (&[1, 2, 5], "switches-00003")] {
            let error = gap(numbers).expect("a gap");
            assert!(error.contains(lacks) && error.contains("hint"), "{error}");
        }
    }
}
