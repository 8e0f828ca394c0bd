//! Arbitrary bytes as a workload file.
#![no_main]

#[path = "../check_workload.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::workload(bytes);
});
