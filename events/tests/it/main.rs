//! Tests of recordings and of simulated events, by their public interface.

mod bad_input;
mod fuzz_corpus;
mod record;
mod recorded;
mod sample;
mod support;
