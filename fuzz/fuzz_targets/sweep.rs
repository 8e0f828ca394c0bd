//! Arbitrary bytes as a sweep.
#![no_main]

#[path = "../check_study.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::sweep(bytes);
});
