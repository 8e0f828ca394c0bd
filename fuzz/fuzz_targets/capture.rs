//! Arbitrary bytes as a text trace that is imported and captured.
#![no_main]

#[path = "../check_capture.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::capture(bytes);
});
