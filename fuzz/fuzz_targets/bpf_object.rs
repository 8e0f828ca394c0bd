//! Arbitrary bytes as an object of BPF, whose functions are run.
#![no_main]

#[path = "../check_bpf.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::object(bytes);
});
