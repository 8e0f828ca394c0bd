//! What happened: wake-ups that a kernel decided, with everything that the decision read.
//!
//! Events have two origins. The simulator reports them to a [`sim::Sink`]; [`simulated`] writes them as Parquet. A
//! recorder of a real kernel writes them with [`recording`].
//!
//! They are read in two ways. [`decisions`] reads each decision with all its inputs, in bounded memory, and offers each
//! row to the decision code as a [`View`](wakelab_sched::select::View) of the system at that moment. [`stream`] reads
//! wake-ups, switches, migrations and states of CPUs without those inputs, for statistics and drawings.

pub mod decisions;
mod error;
mod folder;
pub mod limits;
pub mod recording;
pub mod sim;
pub mod simulated;
pub mod stream;
mod table;

pub use decisions::{Reader, Row, Snapshot, TopoFile};
pub use error::{ReadError, WriteError};
pub use sim::Digest;
pub use table::ColumnInfo;
