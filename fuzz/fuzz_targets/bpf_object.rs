//! Arbitrary bytes as an object of BPF, whose functions are run.
#![no_main]

use wakelab_testing::check_bpf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_bpf::object(bytes);
});
