//! Arbitrary bytes as a file of rt-app.
#![no_main]

#[path = "../checks_rt_app.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::rt_app(bytes);
});
