//! Arbitrary bytes as a scheduler's object, under which a run is simulated.
#![no_main]

#[path = "../check_scheduler.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::scheduler(bytes);
});
