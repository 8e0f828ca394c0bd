//! Objects and programs that ask for all there is get what the limits say, and no more of the host.
//!
//! This is a binary of its own because it replaces the global allocator with one that counts. Nothing here looks at a
//! clock: what has no end does not come back, and what is done is counted.

#[path = "../it/machine/asm.rs"]
mod asm;
#[path = "../../../fuzz/changes.rs"]
mod changes;
#[path = "../../../fuzz/check_bpf.rs"]
mod check;
mod corpus;
#[path = "../it/machine/kernel.rs"]
#[allow(dead_code, reason = "these tests use a part of it")]
mod kernel;
mod loading;
#[path = "../../../fuzz/most_memory.rs"]
mod most_memory;
mod running;
