//! Arbitrary bytes as the JSON of a result.
#![no_main]

#[path = "../check_study.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::result(bytes);
});
