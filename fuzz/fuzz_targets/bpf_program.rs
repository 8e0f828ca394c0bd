//! Arbitrary bytes as a program that calls helpers and kernel functions.
#![no_main]

#[path = "../check_bpf.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::program(bytes);
});
