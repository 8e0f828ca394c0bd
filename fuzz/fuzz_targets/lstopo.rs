//! Arbitrary bytes as the XML of lstopo.
#![no_main]

#[path = "../check_machine.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::lstopo(bytes);
});
