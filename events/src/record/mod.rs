//! Every event of a run as Parquet: a folder for each run, a file for each table. docs/events.md has the schema.
//!
//! Rows are gathered in batches, and batches in row groups of a fixed size, so that a run takes the same memory however
//! long it is. A run's folder appears when the run is over and all its files are whole.

pub(crate) mod cell;
mod error;
mod folder;
mod info;
mod kept;
mod names;
mod properties;
mod recorder;
mod snapshot;
pub(crate) mod table;
pub(crate) mod table_file;
mod tables;
mod wakeups;
mod write_wakeup;

pub use error::RecordError;
pub use folder::EventFolder;
pub(crate) use info::arch;
pub use info::{RunInfo, folder_part};
pub use kept::{Choices, Kept};
pub use recorder::Recorder;
pub use table::ColumnInfo;

use table::Table;

/// The version of the schema, as every file has it under `wakelab.schema_version`. docs/events.md says when which part of
/// it changes.
pub const SCHEMA_VERSION: &str = "1.3";

/// All tables with their columns, in the order of docs/events.md.
pub fn tables() -> [(&'static str, &'static [ColumnInfo]); 13] {
    use tables::{
        Available, Balance, Enqueues, Frequencies, Hints, Idle, IdleStates, Migrations, Power, Switches, Tasks,
        Transactions,
    };
    fn of<T: Table>() -> (&'static str, &'static [ColumnInfo]) {
        (T::NAME, T::COLUMNS)
    }
    [
        of::<wakeups::Wakeups>(),
        of::<Enqueues>(),
        of::<Switches>(),
        of::<Migrations>(),
        of::<Balance>(),
        of::<Idle>(),
        of::<IdleStates>(),
        of::<Frequencies>(),
        of::<Power>(),
        of::<Available>(),
        of::<Hints>(),
        of::<Transactions>(),
        of::<Tasks>(),
    ]
}

/// `SCHED_NORMAL` or `SCHED_IDLE`.
fn policy(idle: bool) -> i32 {
    if idle { 5 } else { 0 }
}
