//! Rows of several files, read at a time, and who made their decisions.

use super::decider::{Decider, DeciderError};
use super::progress::{FileOutcome, Progress, ROWS_PER_REPORT};
use super::threads::on_threads;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::{ReadError, Reader, Row, TopoFile};
use wakelab_kernel::Feature;

/// Reads all files, several at a time, each into a value of its own. The outcomes have the order of `files`.
pub(crate) fn read_files<T: Default + Send>(
    files: &[PathBuf],
    decider: &Decider,
    progress: &dyn Progress,
    row: impl Fn(&mut T, &Row, &Arc<TopoFile>) + Sync,
) -> Vec<FileOutcome<T>> {
    let each = || {
        files
            .par_iter()
            .map(|path| {
                let mut value = T::default();
                let error = read_file(path, decider, progress, |r, topo| {
                    row(&mut value, r, topo);
                    true
                })
                .err();
                progress.file(path);
                FileOutcome { path: path.clone(), value, error }
            })
            .collect()
    };
    on_threads(each)
}

/// Reads one file until `row` returns false.
pub(crate) fn read_file(
    path: &Path,
    decider: &Decider,
    progress: &dyn Progress,
    row: impl FnMut(&Row, &Arc<TopoFile>) -> bool,
) -> Result<(), ReadError> {
    read_wanted(path, decider, progress, |_, _| true, row)
}

/// Reads one file until `row` returns false. Rows for which `wanted` returns false, given their time and wakee, may be
/// left out.
pub(crate) fn read_wanted(
    path: &Path,
    decider: &Decider,
    progress: &dyn Progress,
    wanted: impl Fn(u64, i64) -> bool,
    mut row: impl FnMut(&Row, &Arc<TopoFile>) -> bool,
) -> Result<(), ReadError> {
    let mut reader = Reader::open(path)?;
    let topo = reader.topo().clone();
    decider.check(&topo).map_err(|e: DeciderError| ReadError::of_file(path, e.to_string()))?;
    let mut current = Row::new();
    let mut since = 0;
    while reader.read_wanted(&mut current, &wanted)? {
        if let Some(lacking) = decider.lacks(&current, &topo) {
            return Err(not_recorded(path, &current, &lacking));
        }
        if !row(&current, &topo) {
            break;
        }
        since += 1;
        if since == ROWS_PER_REPORT {
            progress.rows(since);
            progress.part(path, reader.progress());
            since = 0;
        }
    }
    progress.rows(since);
    Ok(())
}

/// Returns the error that a row lacks inputs of SIS_PROP.
fn not_recorded(path: &Path, row: &Row, lacking: &str) -> ReadError {
    let whose = format!("reads the waking CPU's {lacking}, which the recording does not hold");
    let assume =
        format!("--assume {}=NS starts from a stated value", lacking.split(" and ").collect::<Vec<_>>().join("=NS,"));
    if row.features.set.has(Feature::SIS_PROP) {
        return ReadError::of_file(path, format!("SIS_PROP is on and {whose}"))
            .at_line(row.line)
            .in_column("features")
            .with_hint(format!("--with NO_SIS_PROP shows what the other features would choose; {assume}"));
    }
    ReadError::of_file(path, format!("SIS_PROP {whose}")).at_line(row.line).with_hint(assume)
}

/// Who made the decisions of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceKinds {
    /// Whether a real kernel made some.
    pub recorded: bool,
    /// Whether the simulator made some.
    pub simulated: bool,
}

impl SourceKinds {
    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Row) {
        self.simulated |= row.simulated;
        self.recorded |= !row.simulated;
    }

    /// Adds the rows that another has seen.
    pub(crate) fn merge(&mut self, other: SourceKinds) {
        self.simulated |= other.simulated;
        self.recorded |= other.recorded;
    }

    /// The name in JSON: `recorded`, `simulated`, or `both`; `None` if there were no rows.
    pub fn name(self) -> Option<&'static str> {
        match (self.recorded, self.simulated) {
            (true, true) => Some("both"),
            (true, false) => Some("recorded"),
            (false, true) => Some("simulated"),
            (false, false) => None,
        }
    }

    /// Who decided, as the subject of a sentence.
    pub fn who(self) -> &'static str {
        match (self.recorded, self.simulated) {
            (true, true) => "the kernel or the simulator",
            (false, true) => "the simulator",
            (_, false) => "the kernel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_said_where_both_were_met() {
        let mut row = Row::new();
        let mut kinds = SourceKinds::default();
        assert_eq!((kinds.name(), kinds.who()), (None, "the kernel"));
        row.simulated = true;
        kinds.add(&row);
        assert_eq!((kinds.name(), kinds.who()), (Some("simulated"), "the simulator"));
        row.simulated = false;
        kinds.add(&row);
        assert_eq!((kinds.name(), kinds.who()), (Some("both"), "the kernel or the simulator"));
    }
}
