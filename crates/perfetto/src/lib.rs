//! Perfetto's messages as far as wakelab reads or writes them, and a [`Trace`] that is written while events occur.
//!
//! Switches and wake-ups are written as Perfetto's compact scheduler events, from which its user interface and its SQL
//! tables derive CPU tracks, thread states and wakers. The search for a CPU becomes a slice of the waker, with a flow
//! to the instant at which the wakee runs.
//!
//! It may use prost. It knows no recording and no simulator, and never reads a file.

mod packets;
mod sched;
pub mod schema;
mod trace;
mod tracks;

pub use packets::Written;
pub use trace::{Search, Trace};
pub use tracks::{Argument, Counter};
