//! The tests of what is read of schedulers' crates, in one program.

#[path = "../../../fuzz/changes.rs"]
mod changes;
mod fuzz_corpus;
