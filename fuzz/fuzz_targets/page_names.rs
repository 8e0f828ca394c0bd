//! Arbitrary bytes as the names on a page.
#![no_main]

#[path = "../check_page.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::names(bytes);
});
