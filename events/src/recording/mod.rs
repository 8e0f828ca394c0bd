//! Recordings of select_task_rq_fair(): a CSV file (plain or gzip) of decisions with their inputs, and beside it the
//! machine's domains in `topo-<kernel>-<topology>.json`; or Parquet, which holds both.
//!
//! The format is described in `docs/recording-format.md`.

mod columns;
mod error;
mod features;
mod fields;
mod fill;
mod header;
mod limits;
mod parquet_rows;
mod reader;
mod records;
mod row;
mod share;
mod simulated_rows;
mod snapshot;
mod source;
mod topo;
mod topo_entry;

pub use error::ReadError;
pub(crate) use error::clipped;
pub use features::RowFeatures;
pub use reader::Reader;
pub use row::{PerCpu, Row, ScanState, SlowPathState, TaskState, WakerState};
pub use snapshot::Snapshot;
pub use topo::TopoFile;
