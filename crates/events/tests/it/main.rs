//! Tests of recordings and of simulated events, by their public interface.

mod bad_input;
mod damage;
mod decisions;
mod fuzz_corpus;
mod recording;
mod simulated;
mod support;
