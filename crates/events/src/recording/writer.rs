//! The writer of a recording: a folder with numbered segments of each table.

use super::SCHEMA_VERSION;
use super::schema::{
    Balance, BalanceRow, Counts, CountsRow, DecisionRow, Decisions, Frequencies, FrequencyRow, IdleStateRow,
    IdleStates, MigrationRow, Migrations, NameRow, Names, SwitchRow, Switches, WakeupPreemptRow, WakeupPreempts,
    WakingRow, Wakings,
};
use crate::error::WriteError;
use crate::folder::Folder;
use crate::limits::MOST_LIST_VALUES;
use crate::table::Table;
use crate::table::writer::TableFile;
use crate::task_groups::{GroupMemberRow, GroupMembers, TaskGroupRow, TaskGroups};
use std::path::Path;
use std::sync::Arc;

/// The most rows of a segment.
const SEGMENT_ROWS: u64 = 1 << 16;
/// The approximate size at which a segment is closed, bytes. With many CPUs a row is large.
const SEGMENT_BYTES: usize = 64 << 20;
/// The size is checked each time this many rows have been added.
const CHECK_ROWS: u64 = 2048;

/// Writes a recording.
pub struct RecordingWriter {
    folder: Arc<Folder>,
    metadata: Metadata,
    counts: EvenlySpaced<CountsRow<'static>>,
    decisions: Segments<Decisions>,
    switches: Segments<Switches>,
    migrations: Segments<Migrations>,
    idle: Segments<IdleStates>,
    frequencies: Segments<Frequencies>,
    wakings: Segments<Wakings>,
    names: Segments<Names>,
    preempts: Segments<WakeupPreempts>,
    balance: Segments<Balance>,
    task_groups: Segments<TaskGroups>,
    group_members: Segments<GroupMembers>,
}

impl RecordingWriter {
    /// Begins a recording in a folder that is made, or that is empty and belongs to the effective user alone. The
    /// folder has mode 0700 if it is made, and its files have mode 0600, whatever the umask is. They are made relative
    /// to the folder's descriptor, and never through a link, so that a recorder of root can write beside folders of
    /// others.
    ///
    /// `metadata` is written to each file. Its keys begin with `wakelab.`; `wakelab.domains` is the description of the
    /// machine, as in a topo file.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, is a link, is not empty or belongs to another user, or if another user can
    /// write to it.
    pub fn new(path: &Path, metadata: Vec<(&'static str, String)>) -> Result<Self, WriteError> {
        let folder = Arc::new(Folder::private(path)?);
        let own = [
            ("wakelab.schema_version", SCHEMA_VERSION.to_owned()),
            ("wakelab.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("wakelab.kind", "recorded".to_owned()),
        ];
        Ok(RecordingWriter {
            folder,
            metadata: Metadata { pairs: own.into_iter().chain(metadata).collect(), closing: Vec::new() },
            counts: EvenlySpaced::default(),
            decisions: Segments::default(),
            switches: Segments::default(),
            migrations: Segments::default(),
            idle: Segments::default(),
            frequencies: Segments::default(),
            wakings: Segments::default(),
            names: Segments::default(),
            preempts: Segments::default(),
            balance: Segments::default(),
            task_groups: Segments::default(),
            group_members: Segments::default(),
        })
    }

    /// Adds a decision.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn decision(&mut self, row: DecisionRow<'_>) -> Result<(), WriteError> {
        // A reader refuses more, because it cannot know before it decodes them that they are not all in one list.
        if (self.decisions.rows + 1).saturating_mul(row.cpu_nr_running.len() as u64) > MOST_LIST_VALUES {
            self.decisions.close(&self.metadata)?;
        }
        self.decisions.push(&self.folder, &self.metadata, row)
    }

    /// Adds a context switch.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn switch(&mut self, row: SwitchRow<'_>) -> Result<(), WriteError> {
        self.switches.push(&self.folder, &self.metadata, row)
    }

    /// Adds a migration.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn migration(&mut self, row: MigrationRow<'_>) -> Result<(), WriteError> {
        self.migrations.push(&self.folder, &self.metadata, row)
    }

    /// Adds a change of an idle state.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn idle(&mut self, row: IdleStateRow<'_>) -> Result<(), WriteError> {
        self.idle.push(&self.folder, &self.metadata, row)
    }

    /// Adds a change of a frequency.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn frequency(&mut self, row: FrequencyRow<'_>) -> Result<(), WriteError> {
        self.frequencies.push(&self.folder, &self.metadata, row)
    }

    /// Adds a wake-up without inputs.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn waking(&mut self, row: WakingRow<'_>) -> Result<(), WriteError> {
        self.wakings.push(&self.folder, &self.metadata, row)
    }

    /// Adds the name of a task.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn name(&mut self, row: NameRow<'_>) -> Result<(), WriteError> {
        self.names.push(&self.folder, &self.metadata, row)
    }

    /// Adds a wake-up preemption.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn wakeup_preempt(&mut self, row: WakeupPreemptRow<'_>) -> Result<(), WriteError> {
        self.preempts.push(&self.folder, &self.metadata, row)
    }

    /// Adds a pass of the load balancer.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn balance(&mut self, row: BalanceRow<'_>) -> Result<(), WriteError> {
        // As of decisions: a reader refuses lists with more values than that.
        if (self.balance.rows + 1).saturating_mul(row.cpu_nr_running.len() as u64) > MOST_LIST_VALUES {
            self.balance.close(&self.metadata)?;
        }
        self.balance.push(&self.folder, &self.metadata, row)
    }

    /// Adds a control group, or what it is now.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn task_group(&mut self, row: TaskGroupRow<'_>) -> Result<(), WriteError> {
        self.task_groups.push(&self.folder, &self.metadata, row)
    }

    /// Adds the group that a task is in.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn group_member(&mut self, row: GroupMemberRow<'_>) -> Result<(), WriteError> {
        self.group_members.push(&self.folder, &self.metadata, row)
    }

    /// Closes all open segments. The rows so far are then safe; the next rows begin new segments.
    ///
    /// # Errors
    /// Fails if a segment cannot be written.
    pub fn close_segments(&mut self) -> Result<(), WriteError> {
        let metadata = &self.metadata;
        self.decisions.close(metadata)?;
        self.switches.close(metadata)?;
        self.migrations.close(metadata)?;
        self.idle.close(metadata)?;
        self.frequencies.close(metadata)?;
        self.wakings.close(metadata)?;
        self.names.close(metadata)?;
        self.preempts.close(metadata)?;
        self.balance.close(metadata)?;
        self.task_groups.close(metadata)?;
        self.group_members.close(metadata)
    }

    /// Closes all open segments and adds this metadata, which was not known when they were begun.
    ///
    /// # Errors
    /// Fails if a segment cannot be written.
    pub fn close_segments_with(&mut self, closing: Vec<(&'static str, String)>) -> Result<(), WriteError> {
        self.metadata.closing = closing;
        self.close_segments()
    }

    /// Closes all open segments with the counts so far in their metadata, and adds a row to the table `counts`, whose
    /// file is replaced. In a long recording it has fewer rows than were added; the last row is always there.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write_counts(&mut self, row: CountsRow<'static>) -> Result<(), WriteError> {
        self.metadata.closing = vec![("wakelab.counts", row.json())];
        self.close_segments()?;
        self.counts.push(row);
        let mut file = TableFile::<Counts>::new(&self.folder, &self.metadata.pairs)?;
        for &row in self.counts.rows() {
            file.push(row)?;
        }
        file.finish()
    }

    /// Begins new segments with other values of these keys, because the machine has changed.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn change_metadata(&mut self, metadata: Vec<(&'static str, String)>) -> Result<(), WriteError> {
        self.close_segments()?;
        let pairs = &mut self.metadata.pairs;
        pairs.retain(|(key, _)| metadata.iter().all(|(new, _)| new != key));
        pairs.extend(metadata);
        Ok(())
    }
}

/// The metadata of the files of all tables.
struct Metadata {
    pairs: Vec<(&'static str, String)>,
    /// Metadata that is known only when a segment is closed, such as the latest counts.
    closing: Vec<(&'static str, String)>,
}

/// A table, of which at most one segment is open.
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
    fn push(&mut self, folder: &Arc<Folder>, metadata: &Metadata, row: T::Row<'_>) -> Result<(), WriteError> {
        let file = match &mut self.open {
            Some(file) => file,
            none => {
                self.number += 1;
                none.insert(TableFile::named(folder, format!("{}-{:05}", T::NAME, self.number), &metadata.pairs)?)
            }
        };
        file.push(row)?;
        self.rows += 1;
        let large = self.rows.is_multiple_of(CHECK_ROWS) && file.bytes() >= SEGMENT_BYTES;
        if large || self.rows == SEGMENT_ROWS { self.close(metadata) } else { Ok(()) }
    }

    fn close(&mut self, metadata: &Metadata) -> Result<(), WriteError> {
        self.rows = 0;
        self.open.take().map_or(Ok(()), |file| file.finish_with(&metadata.closing))
    }
}

/// The most rows that are kept. A recording of up to 85 minutes keeps all; a longer one keeps every second, every
/// fourth ...
const MAX_ROWS: usize = 1024;

/// Keeps a bounded number of a series of rows: rows at equal distances, and the latest.
struct EvenlySpaced<T> {
    rows: Vec<T>,
    /// One row in this many is kept for good.
    distance: u64,
    /// How many rows were added.
    added: u64,
}

impl<T> Default for EvenlySpaced<T> {
    fn default() -> Self {
        EvenlySpaced { rows: Vec::new(), distance: 1, added: 0 }
    }
}

impl<T> EvenlySpaced<T> {
    /// Adds a row.
    fn push(&mut self, row: T) {
        if self.added > 0 && !(self.added - 1).is_multiple_of(self.distance) {
            self.rows.pop();
        }
        self.rows.push(row);
        self.added += 1;
        if self.rows.len() > MAX_ROWS {
            // The latest row has an even index, so it stays.
            let mut at = 0..;
            self.rows.retain(|_| at.next().is_some_and(|at| at % 2 == 0));
            self.distance *= 2;
        }
    }

    /// The rows that are kept, in order.
    fn rows(&self) -> &[T] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rows_are_evenly_spaced_and_include_the_latest() {
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
