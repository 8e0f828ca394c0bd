//! Arbitrary bytes as the numbers of a kept run.
#![no_main]

#[path = "../check_study.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::cache_entry(bytes);
});
