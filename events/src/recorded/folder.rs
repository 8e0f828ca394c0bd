//! The folder of a recording, and its segments.

use super::thinned::Thinned;
use super::{
    Counts, CountsRow, DecisionRow, Decisions, Frequencies, FrequencyRow, IdleStateRow, IdleStates, RECORDED_VERSION,
    RecordedMigrationRow, RecordedMigrations, RecordedSwitchRow, RecordedSwitches, WakingRow, Wakings,
};
use crate::record::RecordError;
use crate::record::table::Table;
use crate::record::table_file::TableFile;
use std::fs;
use std::path::{Path, PathBuf};

/// A segment of a table has at most so many rows.
const SEGMENT_ROWS: u64 = 1 << 16;
/// And about so many bytes, looked at after so many rows: with many CPUs a row is large.
const SEGMENT_BYTES: usize = 64 << 20;
const LOOK_ROWS: u64 = 2048;

/// A recording that is being written.
pub struct RecordedFolder {
    path: PathBuf,
    about: About,
    counts: Thinned<CountsRow<'static>>,
    decisions: Segments<Decisions>,
    switches: Segments<RecordedSwitches>,
    migrations: Segments<RecordedMigrations>,
    idle: Segments<IdleStates>,
    frequencies: Segments<Frequencies>,
    wakings: Segments<Wakings>,
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
            about: About { metadata: own.into_iter().chain(metadata).collect(), counts: None },
            counts: Thinned::default(),
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
    pub fn decision(&mut self, row: DecisionRow<'_>) -> Result<(), RecordError> {
        self.decisions.push(&self.path, &self.about, row)
    }

    /// Adds a context switch.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn switch(&mut self, row: RecordedSwitchRow<'_>) -> Result<(), RecordError> {
        self.switches.push(&self.path, &self.about, row)
    }

    /// Adds a migration.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn migration(&mut self, row: RecordedMigrationRow<'_>) -> Result<(), RecordError> {
        self.migrations.push(&self.path, &self.about, row)
    }

    /// Adds a change of an idle state.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn idle(&mut self, row: IdleStateRow<'_>) -> Result<(), RecordError> {
        self.idle.push(&self.path, &self.about, row)
    }

    /// Adds a change of a frequency.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn frequency(&mut self, row: FrequencyRow<'_>) -> Result<(), RecordError> {
        self.frequencies.push(&self.path, &self.about, row)
    }

    /// Adds a wake-up without inputs.
    ///
    /// # Errors
    /// As [`RecordedFolder::decision`].
    pub fn waking(&mut self, row: WakingRow<'_>) -> Result<(), RecordError> {
        self.wakings.push(&self.path, &self.about, row)
    }

    /// Closes all segments that are open: what has come so far is safe, and the next rows begin new ones.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn close_segments(&mut self) -> Result<(), RecordError> {
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
    /// As [`RecordedFolder::close_segments`].
    pub fn count(&mut self, row: CountsRow<'static>) -> Result<(), RecordError> {
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
    /// As [`RecordedFolder::close_segments`].
    pub fn describe(&mut self, metadata: Vec<(&'static str, String)>) -> Result<(), RecordError> {
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
    fn push(&mut self, folder: &Path, about: &About, row: T::Row<'_>) -> Result<(), RecordError> {
        let file = match &mut self.open {
            Some(file) => file,
            none => {
                self.number += 1;
                none.insert(TableFile::named(folder, format!("{}-{:05}", T::NAME, self.number), &about.metadata)?)
            }
        };
        file.push(row)?;
        self.rows += 1;
        let large = self.rows.is_multiple_of(LOOK_ROWS) && file.bytes() >= SEGMENT_BYTES;
        if large || self.rows == SEGMENT_ROWS { self.close(about) } else { Ok(()) }
    }

    fn close(&mut self, about: &About) -> Result<(), RecordError> {
        self.rows = 0;
        let counts: Vec<_> = about.counts.iter().map(|counts| ("wakelab.counts", counts.clone())).collect();
        self.open.take().map_or(Ok(()), |file| file.finish_with(&counts))
    }
}
