//! Objects and programs that ask for all there is get what the limits say, and no more of the host.
//!
//! This is a binary of its own because it replaces the global allocator with one that counts. Nothing here looks at a
//! clock: what has no end does not come back, and what is done is counted.

mod corpus;
mod loading;
mod running;

use wakelab_testing::most_memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
