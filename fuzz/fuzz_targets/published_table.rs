//! Arbitrary bytes as a published table.
#![no_main]

#[path = "../check_study.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::published_table(bytes);
});
