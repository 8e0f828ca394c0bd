//! Arbitrary bytes as a file of another recorder.
#![no_main]

#[path = "../check_import.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::text(bytes);
});
