//! Arbitrary bytes as a program that calls helpers and kernel functions.
#![no_main]

use wakelab_testing::check_bpf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_bpf::program(bytes);
});
