//! Reads decisions of `select_task_rq_fair()` with all their inputs: from a CSV file (plain or gzip) with the machine's
//! domains in `topo-<kernel>-<topology>.json` beside it, from Parquet, which holds both, or from a simulated run.
//!
//! docs/formats.md describes the format.

mod csv;
mod csv_rows;
mod fields;
mod parquet_rows;
mod parse_row;
mod reader;
mod row;
mod simulated_rows;
mod snapshot;
mod topo;

pub use reader::Reader;
pub use row::{PerCpu, Row, RowFeatures, ScanState, SlowPathState, TaskState, WakerState};
pub use snapshot::Snapshot;
pub use topo::TopoFile;
