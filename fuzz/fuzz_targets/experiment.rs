//! Arbitrary bytes as an experiment file.
#![no_main]

#[path = "../check_experiment.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::experiment(bytes);
});
