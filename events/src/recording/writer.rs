//! The writer of a recording: a folder with numbered segments of each table.

use super::SCHEMA_VERSION;
use super::schema::{
    Counts, CountsRow, DecisionRow, Decisions, Frequencies, FrequencyRow, IdleStateRow, IdleStates, MigrationRow,
    Migrations, SwitchRow, Switches, WakingRow, Wakings,
};
use crate::error::WriteError;
use crate::table::Table;
use crate::table::writer::TableFile;
use std::fs;
use std::path::{Path, PathBuf};

/// A segment of a table has at most so many rows.
const SEGMENT_ROWS: u64 = 1 << 16;
/// And about so many bytes, looked at after so many rows: with many CPUs a row is large.
const SEGMENT_BYTES: usize = 64 << 20;
const CHECK_ROWS: u64 = 2048;

/// A recording that is being written.
pub struct RecordingWriter {
    path: PathBuf,
    about: About,
    counts: EvenlySpaced<CountsRow<'static>>,
    decisions: Segments<Decisions>,
    switches: Segments<Switches>,
    migrations: Segments<Migrations>,
    idle: Segments<IdleStates>,
    frequencies: Segments<Frequencies>,
    wakings: Segments<Wakings>,
}

impl RecordingWriter {
    /// Begins a recording in a folder that is made, or is empty. `metadata` goes to each file: its keys begin with
    /// `wakelab.`; `wakelab.domains` is the description of the machine, as a topo file has it.
    ///
    /// # Errors
    /// Where the folder cannot be made, or something is in it.
    pub fn new(path: &Path, metadata: Vec<(&'static str, String)>) -> Result<Self, WriteError> {
        let found = |e| WriteError::io(path, &e);
        if path.exists() && fs::read_dir(path).map_err(found)?.next().is_some() {
            return Err(WriteError::new(
                path,
                "expected a folder that is empty or not there yet, found something in it",
            ));
        }
        fs::create_dir_all(path).map_err(found)?;
        let own = [
            ("wakelab.schema_version", SCHEMA_VERSION.to_owned()),
            ("wakelab.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("wakelab.kind", "recorded".to_owned()),
        ];
        Ok(RecordingWriter {
            path: path.to_owned(),
            about: About { metadata: own.into_iter().chain(metadata).collect(), counts: None },
            counts: EvenlySpaced::default(),
            decisions: Segments::default(),
            switches: Segments::default(),
            migrations: Segments::default(),
            idle: Segments::default(),
            frequencies: Segments::default(),
            wakings: Segments::default(),
        })
    }

    /// Adds a decision.
    ///
    /// # Errors
    /// Where it cannot be written; so do those below.
    pub fn decision(&mut self, row: DecisionRow<'_>) -> Result<(), WriteError> {
        self.decisions.push(&self.path, &self.about, row)
    }

    /// Adds a context switch.
    ///
    /// # Errors
    /// As [`RecordingWriter::decision`].
    pub fn switch(&mut self, row: SwitchRow<'_>) -> Result<(), WriteError> {
        self.switches.push(&self.path, &self.about, row)
    }

    /// Adds a migration.
    ///
    /// # Errors
    /// As [`RecordingWriter::decision`].
    pub fn migration(&mut self, row: MigrationRow<'_>) -> Result<(), WriteError> {
        self.migrations.push(&self.path, &self.about, row)
    }

    /// Adds a change of an idle state.
    ///
    /// # Errors
    /// As [`RecordingWriter::decision`].
    pub fn idle(&mut self, row: IdleStateRow<'_>) -> Result<(), WriteError> {
        self.idle.push(&self.path, &self.about, row)
    }

    /// Adds a change of a frequency.
    ///
    /// # Errors
    /// As [`RecordingWriter::decision`].
    pub fn frequency(&mut self, row: FrequencyRow<'_>) -> Result<(), WriteError> {
        self.frequencies.push(&self.path, &self.about, row)
    }

    /// Adds a wake-up without inputs.
    ///
    /// # Errors
    /// As [`RecordingWriter::decision`].
    pub fn waking(&mut self, row: WakingRow<'_>) -> Result<(), WriteError> {
        self.wakings.push(&self.path, &self.about, row)
    }

    /// Closes all segments that are open: what has come so far is safe, and the next rows begin new ones.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn close_segments(&mut self) -> Result<(), WriteError> {
        let about = &self.about;
        self.decisions.close(about)?;
        self.switches.close(about)?;
        self.migrations.close(about)?;
        self.idle.close(about)?;
        self.frequencies.close(about)?;
        self.wakings.close(about)
    }

    /// Closes all segments with what was counted by now, and adds that to the counts, whose file is replaced as a whole. Of
    /// a long recording the file has fewer rows than were added; the last one is always there.
    ///
    /// # Errors
    /// As [`RecordingWriter::close_segments`].
    pub fn write_counts(&mut self, row: CountsRow<'static>) -> Result<(), WriteError> {
        self.about.counts = Some(row.json());
        self.close_segments()?;
        self.counts.push(row);
        let mut file = TableFile::<Counts>::new(&self.path, &self.about.metadata)?;
        for &row in self.counts.rows() {
            file.push(row)?;
        }
        file.finish()
    }

    /// Begins new segments with other values of these keys: the machine is no longer what it was.
    ///
    /// # Errors
    /// As [`RecordingWriter::close_segments`].
    pub fn change_metadata(&mut self, metadata: Vec<(&'static str, String)>) -> Result<(), WriteError> {
        self.close_segments()?;
        let told = &mut self.about.metadata;
        told.retain(|(key, _)| metadata.iter().all(|(new, _)| new != key));
        told.extend(metadata);
        Ok(())
    }
}

/// What the files of all tables say of themselves.
struct About {
    metadata: Vec<(&'static str, String)>,
    /// What was counted last, as JSON.
    counts: Option<String>,
}

/// One table, of which one segment at most is open.
struct Segments<T> {
    open: Option<TableFile<T>>,
    rows: u64,
    number: u32,
}

impl<T> Default for Segments<T> {
    fn default() -> Self {
        Segments { open: None, rows: 0, number: 0 }
    }
}

impl<T: Table + Default> Segments<T> {
    fn push(&mut self, folder: &Path, about: &About, row: T::Row<'_>) -> Result<(), WriteError> {
        let file = match &mut self.open {
            Some(file) => file,
            none => {
                self.number += 1;
                none.insert(TableFile::named(folder, format!("{}-{:05}", T::NAME, self.number), &about.metadata)?)
            }
        };
        file.push(row)?;
        self.rows += 1;
        let large = self.rows.is_multiple_of(CHECK_ROWS) && file.bytes() >= SEGMENT_BYTES;
        if large || self.rows == SEGMENT_ROWS { self.close(about) } else { Ok(()) }
    }

    fn close(&mut self, about: &About) -> Result<(), WriteError> {
        self.rows = 0;
        let counts: Vec<_> = about.counts.iter().map(|counts| ("wakelab.counts", counts.clone())).collect();
        self.open.take().map_or(Ok(()), |file| file.finish_with(&counts))
    }
}

/// So many at most: of a recording of 85 minutes or less all, of a longer one every second, every fourth ...
const MAX_ROWS: usize = 1024;

/// Rows at equal distances, and the newest one.
struct EvenlySpaced<T> {
    rows: Vec<T>,
    /// One row in so many is kept for good.
    every: u64,
    /// How many have come.
    came: u64,
}

impl<T> Default for EvenlySpaced<T> {
    fn default() -> Self {
        EvenlySpaced { rows: Vec::new(), every: 1, came: 0 }
    }
}

impl<T> EvenlySpaced<T> {
    /// Adds the newest.
    fn push(&mut self, row: T) {
        if self.came > 0 && !(self.came - 1).is_multiple_of(self.every) {
            self.rows.pop();
        }
        self.rows.push(row);
        self.came += 1;
        if self.rows.len() > MAX_ROWS {
            // The newest has an even place, and stays.
            let mut at = 0..;
            self.rows.retain(|_| at.next().is_some_and(|at| at % 2 == 0));
            self.every *= 2;
        }
    }

    /// What is kept, in order.
    fn rows(&self) -> &[T] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_far_apart_as_their_number_needs_and_the_newest_is_there() {
        let mut rows = EvenlySpaced::default();
        for number in 0..100_000_u64 {
            rows.push(number);
            assert!(rows.rows().len() <= MAX_ROWS && rows.rows().last() == Some(&number), "{number}");
        }
        let (_, kept) = rows.rows().split_last().expect("rows");
        assert!(kept.len() > MAX_ROWS / 2 - 1);
        assert!((0..).zip(kept).all(|(at, &number)| number == at * 128), "{kept:?}");
    }
}
