//! The output of a recorder of a real kernel: the recording format as Parquet, in segments that are complete at any
//! time.
//!
//! A recording is a folder. Each table is a series of files in it, `decisions-00001.parquet` and on. A file gets its
//! name when it is whole, so that a recorder that is killed leaves all but its last segment. docs/formats.md has the
//! schema.

mod schema;
mod writer;

pub use crate::task_groups::{GroupMemberRow, GroupMembers, TaskGroupRow, TaskGroups, cpu_words};
pub use schema::{
    Balance, BalanceRow, Counts, CountsRow, DecisionRow, Decisions, Frequencies, FrequencyRow, IdleStateRow,
    IdleStates, MigrationRow, Migrations, NameRow, Names, SwitchRow, Switches, WakeupPreemptRow, WakeupPreempts,
    WakingRow, Wakings,
};
pub use writer::RecordingWriter;

use crate::table::{ColumnInfo, Table};

/// The version of the schema of recordings. Its first number grows if something changes its meaning or goes, the second
/// if something is added.
pub const SCHEMA_VERSION: &str = "1.10";

/// All tables of a recording with their columns, in the order of docs/formats.md.
pub fn tables() -> [(&'static str, &'static [ColumnInfo]); 12] {
    fn of<T: Table>() -> (&'static str, &'static [ColumnInfo]) {
        (T::NAME, T::COLUMNS)
    }
    [
        of::<Decisions>(),
        of::<Switches>(),
        of::<Migrations>(),
        of::<IdleStates>(),
        of::<Frequencies>(),
        of::<Wakings>(),
        of::<Names>(),
        of::<WakeupPreempts>(),
        of::<Balance>(),
        of::<TaskGroups>(),
        of::<GroupMembers>(),
        of::<Counts>(),
    ]
}
