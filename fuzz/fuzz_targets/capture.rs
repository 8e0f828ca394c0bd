//! Arbitrary bytes as a text trace that is imported and captured.
#![no_main]

use wakelab_testing::check_capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_capture::capture(bytes);
});
