//! Reading and writing take the same memory however many rows there are.
//!
//! This is a binary of its own because it replaces the global allocator with one that counts.

mod bombs;
mod reader;
mod writer;

use wakelab_testing::most_memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
