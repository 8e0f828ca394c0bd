//! Arbitrary bytes as a kernel's types.
#![no_main]

use wakelab_testing::check_bpf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_bpf::types(bytes);
});
