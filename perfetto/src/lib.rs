//! Perfetto's messages as far as wakelab reads or writes them, and a [`Trace`] that is written as it happens.
//!
//! Switches and wake-ups become Perfetto's compact scheduler events, which its user interface and its SQL make CPU
//! tracks, thread states and wakers of. What a search for a CPU looked at becomes a slice of the waker, with a flow to
//! the moment at which the wakee runs.

mod event;
mod packets;
mod sched;
pub mod schema;
mod trace;
mod tracks;

pub use packets::Written;
pub use trace::{Search, Trace};
pub use tracks::{Argument, Counter};
