//! Text and JSON of what the studies found. Nothing is computed here.
//!
//! It may use what has results (`study`, `statistics`, and the rooms whose types they hold) and `page`. It reads no
//! file, prints nothing, and never changes a number but to round it.

pub mod ablation;
pub mod balance_passes;
pub mod calibrate;
pub mod capture;
pub mod compare;
pub mod conform;
mod csv_cells;
pub mod diff;
pub mod explain;
pub mod fit;
pub mod html;
pub mod kernel;
pub mod machine;
pub mod numbers;
pub mod replay;
pub mod reproduce;
pub mod score;
pub mod scx_check;
pub mod scx_wakeups;
pub mod stats;
pub mod summary;
pub mod survey;
mod table;
pub mod verify;
pub mod waits;
pub mod wakeup_preempt;
pub mod workload;

pub use table::fit_tables;

/// The program's version, as all JSON carries it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
