//! Arbitrary bytes as the XML of lstopo.
#![no_main]

use wakelab_testing::check_machine;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_machine::lstopo(bytes);
});
