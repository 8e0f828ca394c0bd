//! What happened: wake-ups that a kernel decided, with everything that the decision read.
//!
//! Events have two origins. The simulator reports them to a [`sim::Sink`]; [`simulated`] writes them as Parquet. A
//! recorder of a real kernel writes them with [`recording`].
//!
//! They are read in two ways. [`decisions`] reads each decision with all its inputs, in bounded memory, and offers each
//! row to the decision code as a [`View`](wakelab_sched::select::View) of the system at that moment. [`stream`] reads
//! wake-ups, switches, migrations and states of CPUs without those inputs, for statistics and drawings.
//!
//! In a browser there is only [`sim`]: all else reads or writes files.

#[cfg(not(target_family = "wasm"))]
pub mod decisions;
#[cfg(not(target_family = "wasm"))]
mod error;
#[cfg(not(target_family = "wasm"))]
mod folder;
#[cfg(not(target_family = "wasm"))]
pub mod limits;
#[cfg(not(target_family = "wasm"))]
pub mod recording;
pub mod sim;
#[cfg(not(target_family = "wasm"))]
pub mod simulated;
#[cfg(not(target_family = "wasm"))]
pub mod stream;
#[cfg(not(target_family = "wasm"))]
mod table;
#[cfg(not(target_family = "wasm"))]
mod task_groups;

#[cfg(not(target_family = "wasm"))]
pub use decisions::{Reader, Row, Snapshot, TopoFile};
#[cfg(not(target_family = "wasm"))]
pub use error::{ReadError, WriteError};
pub use sim::Digest;
#[cfg(not(target_family = "wasm"))]
pub use table::ColumnInfo;
