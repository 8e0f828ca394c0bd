//! Arbitrary bytes as a table of events or a recording in Parquet.
#![no_main]

#[path = "../check_events.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::events(bytes);
});
