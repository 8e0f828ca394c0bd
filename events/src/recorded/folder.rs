//! The folder of a recording, and its segments.

use super::{
    DecisionRow, Decisions, Frequencies, FrequencyRow, IdleStateRow, IdleStates, RECORDED_VERSION,
    RecordedMigrationRow, RecordedMigrations, RecordedSwitchRow, RecordedSwitches,
};
use crate::record::RecordError;
use crate::record::table::Table;
use crate::record::table_file::TableFile;
use std::fs;
use std::path::{Path, PathBuf};

/// A segment of a table has at most so many rows.
const SEGMENT_ROWS: u64 = 1 << 16;

/// A recording that is being written.
pub struct RecordedFolder {
    path: PathBuf,
    metadata: Vec<(&'static str, String)>,
    decisions: Segments<Decisions>,
    switches: Segments<RecordedSwitches>,
    migrations: Segments<RecordedMigrations>,
    idle: Segments<IdleStates>,
    frequencies: Segments<Frequencies>,
}

impl RecordedFolder {
    /// Begins a recording in a folder that is made, or is empty. `metadata` goes to each file: its keys begin with
    /// `wakelab.`; `wakelab.domains` is the description of the machine, as a topo file has it.
    ///
    /// # Errors
    /// Where the folder cannot be made, or something is in it.
    pub fn new(path: &Path, metadata: Vec<(&'static str, String)>) -> Result<Self, RecordError> {
        let found = |e| RecordError::io(path, &e);
        if path.exists() && fs::read_dir(path).map_err(found)?.next().is_some() {
            return Err(RecordError::new(
                path,
                "expected a folder that is empty or not there yet, found something in it",
            ));
        }
        fs::create_dir_all(path).map_err(found)?;
        let own = [
            ("wakelab.schema_version", RECORDED_VERSION.to_owned()),
            ("wakelab.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("wakelab.kind", "recorded".to_owned()),
        ];
        Ok(RecordedFolder {
            path: path.to_owned(),
            metadata: own.into_iter().chain(metadata).collect(),
            decisions: Segments::default(),
            switches: Segments::default(),
            migrations: Segments::default(),
            idle: Segments::default(),
            frequencies: Segments::default(),
        })
    }

    /// Adds a decision.
    ///
    /// # Errors
    /// Where it cannot be written; so do those below.
    pub fn decision(&mut self, row: DecisionRow<'_>) -> Result<(), RecordError> {
        self.decisions.push(&self.path, &self.metadata, row)
    }

    /// Adds a context switch.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn switch(&mut self, row: RecordedSwitchRow<'_>) -> Result<(), RecordError> {
        self.switches.push(&self.path, &self.metadata, row)
    }

    /// Adds a migration.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn migration(&mut self, row: RecordedMigrationRow<'_>) -> Result<(), RecordError> {
        self.migrations.push(&self.path, &self.metadata, row)
    }

    /// Adds a change of an idle state.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn idle(&mut self, row: IdleStateRow<'_>) -> Result<(), RecordError> {
        self.idle.push(&self.path, &self.metadata, row)
    }

    /// Adds a change of a frequency.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn frequency(&mut self, row: FrequencyRow<'_>) -> Result<(), RecordError> {
        self.frequencies.push(&self.path, &self.metadata, row)
    }

    /// Closes all segments that are open: what has come so far is safe, and the next rows begin new ones.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn close_segments(&mut self) -> Result<(), RecordError> {
        self.decisions.close()?;
        self.switches.close()?;
        self.migrations.close()?;
        self.idle.close()?;
        self.frequencies.close()
    }
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
    fn push(&mut self, folder: &Path, metadata: &[(&'static str, String)], row: T::Row<'_>) -> Result<(), RecordError> {
        let file = match &mut self.open {
            Some(file) => file,
            none => {
                self.number += 1;
                none.insert(TableFile::named(folder, format!("{}-{:05}", T::NAME, self.number), metadata)?)
            }
        };
        file.push(row)?;
        self.rows += 1;
        if self.rows == SEGMENT_ROWS { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), RecordError> {
        self.rows = 0;
        self.open.take().map_or(Ok(()), TableFile::finish)
    }
}
