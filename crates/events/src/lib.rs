//! Events: wake-ups that a kernel decided, with everything that the decision read.
//!
//! Events have two origins. The simulator reports them to a [`sim::Sink`]; [`simulated`] writes them as Parquet. A
//! recorder of a real kernel writes them with [`recording`].
//!
//! They are read in two ways. [`decisions`] reads each decision with all its inputs, in bounded memory, and offers each
//! row to the decision code as a [`View`](wakelab_sched::select::View) of the system at that moment. [`stream`] reads
//! wake-ups, switches, migrations and states of CPUs without those inputs, for statistics and drawings.
//!
//! In a browser there is only [`sim`]: all else reads or writes files, and is the feature `files`.

#[cfg(feature = "files")]
pub mod decisions;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
mod folder;
#[cfg(feature = "files")]
pub mod limits;
#[cfg(feature = "files")]
pub mod recording;
pub mod sim;
#[cfg(feature = "files")]
pub mod simulated;
#[cfg(feature = "files")]
pub mod stream;
#[cfg(feature = "files")]
mod table;
#[cfg(feature = "files")]
mod task_groups;

#[cfg(feature = "files")]
pub use decisions::{Reader, Row, Snapshot, TopoFile};
#[cfg(feature = "files")]
pub use error::{ReadError, WriteError};
pub use sim::Digest;
#[cfg(feature = "files")]
pub use table::ColumnInfo;
