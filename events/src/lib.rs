//! What happened: wake-ups that a real kernel decided, with everything the decision read.
//!
//! [`stream`] reads wake-ups, switches and migrations of recordings and of simulated runs as streams.
//!
//! [`recording`] reads them from CSV files, row by row in bounded memory, and offers each row to the decision code as
//! a [`View`](wakelab_sched::select::View) of the system at that moment.

mod digest;
mod parquet_file;
pub mod record;
pub mod recorded;
pub mod recording;
pub mod sim;
pub mod stream;

pub use digest::Digest;
pub use recording::{ReadError, Reader, Row, Snapshot, TopoFile};
