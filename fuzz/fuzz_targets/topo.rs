//! Arbitrary bytes as the description of a machine.
#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::topo(bytes);
});
