//! Arbitrary bytes as a machine file.
#![no_main]

#[path = "../check_machine.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::machine(bytes);
});
