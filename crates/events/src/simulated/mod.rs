//! Every event of a run as Parquet: a folder for each run, a file for each table. docs/formats.md has the schema.
//!
//! Rows are gathered in batches, and batches in row groups of a fixed size, so that a run takes the same memory however
//! long it is. A run's folder appears when the run is over and all its files are whole.

mod captured;
mod decision_inputs;
mod folder;
mod recorder;
mod schema;
mod wakeups;

pub use captured::{CapturedWakeup, PendingDecisions};
pub(crate) use folder::arch;
pub use folder::{EventFolder, RunInfo, folder_part};
pub use recorder::Recorder;

use crate::table::{ColumnInfo, Table};
use crate::task_groups::{GroupMembers, TaskGroups};
use schema::{
    Available, Balance, Enqueues, Frequencies, Hints, Idle, IdleStates, Migrations, Power, Scx, Switches, Tasks,
    Transactions,
};
pub(crate) use wakeups::Wakeups;

/// The version of the schema (`wakelab.schema_version` of every file). docs/formats.md describes which changes increase
/// which number.
pub const SCHEMA_VERSION: &str = "1.6";

/// All tables with their columns, in the order of docs/formats.md.
pub fn tables() -> [(&'static str, &'static [ColumnInfo]); 16] {
    fn of<T: Table>() -> (&'static str, &'static [ColumnInfo]) {
        (T::NAME, T::COLUMNS)
    }
    [
        of::<Wakeups>(),
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
        of::<TaskGroups>(),
        of::<GroupMembers>(),
        of::<Scx>(),
    ]
}

/// The number of `SCHED_IDLE` or `SCHED_NORMAL`.
fn policy(idle: bool) -> i32 {
    if idle { 5 } else { 0 }
}
