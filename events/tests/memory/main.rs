//! Reading and writing take the same memory however many rows there are.
//!
//! This is a binary of its own because it replaces the global allocator with one that counts.

mod bombs;
#[path = "../../../fuzz/most_memory.rs"]
mod most_memory;
mod reader;
#[path = "../it/support/rows.rs"]
mod rows;
#[path = "../it/support/run.rs"]
mod run;
mod writer;
