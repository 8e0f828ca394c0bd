//! The tests of what is read of schedulers' crates, in one program.

mod fuzz_corpus;
