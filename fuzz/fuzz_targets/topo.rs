//! Arbitrary bytes as the description of a machine.
#![no_main]

use wakelab_testing::check_recording;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_recording::topo(bytes);
});
