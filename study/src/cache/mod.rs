//! Results that are kept: a run that was made once is not made again.
//!
//! Each finished run is kept at once under the hash of all its inputs ([`Key`]), the program's own bytes among them, in a
//! file that appears whole or not at all. So an interrupted experiment goes on where it stopped, and one that is repeated
//! reads what it would compute. [`Cached`] is the one place where runs are looked up: everything that makes runs takes a
//! [`Runner`](crate::compare::Runner).

mod cached;
mod entry;
mod key;
mod program;
mod prune;
mod store;

pub use cached::Cached;
pub use key::Key;
pub use program::Program;
pub use store::{LIMIT_BYTES, Store, StoreError};
