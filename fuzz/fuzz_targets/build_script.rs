//! Arbitrary bytes as the build script of a scheduler.
#![no_main]

#[path = "../check_scheduler_source.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::build_script(bytes);
});
