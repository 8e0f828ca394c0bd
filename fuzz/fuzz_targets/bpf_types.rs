//! Arbitrary bytes as a kernel's types.
#![no_main]

#[path = "../check_bpf.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::types(bytes);
});
