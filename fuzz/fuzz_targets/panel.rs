//! Arbitrary bytes as a panel.
#![no_main]

#[path = "../check_study.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::panel(bytes);
});
