//! What a recorder of a real kernel writes: the recording format as Parquet, in segments that are whole at any time.
//!
//! A recording is a folder. Each table is a row of files in it, `decisions-00001.parquet` and on: a file gets its name
//! when it is whole, so that a recorder that is killed leaves all but its last segment. docs/recording.md has the
//! schema.

mod counts;
mod decisions;
mod events;
mod folder;
mod thinned;

pub use counts::{Counts, CountsRow};
pub use decisions::{DecisionRow, Decisions};
pub use events::{
    Frequencies, FrequencyRow, IdleStateRow, IdleStates, RecordedMigrationRow, RecordedMigrations, RecordedSwitchRow,
    RecordedSwitches, WakingRow, Wakings,
};
pub use folder::RecordedFolder;

use crate::record::ColumnInfo;
use crate::record::table::Table;

/// The version of the schema of recordings: a new first number where something is no longer what it was, a new second
/// one where something is added.
pub const RECORDED_VERSION: &str = "1.3";

/// All tables of a recording with their columns, in the order of docs/recording.md.
pub fn recorded_tables() -> [(&'static str, &'static [ColumnInfo]); 7] {
    fn of<T: Table>() -> (&'static str, &'static [ColumnInfo]) {
        (T::NAME, T::COLUMNS)
    }
    [
        of::<Decisions>(),
        of::<RecordedSwitches>(),
        of::<RecordedMigrations>(),
        of::<IdleStates>(),
        of::<Frequencies>(),
        of::<Wakings>(),
        of::<Counts>(),
    ]
}
