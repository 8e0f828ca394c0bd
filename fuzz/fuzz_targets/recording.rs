//! Arbitrary bytes as a recording.
#![no_main]

use wakelab_testing::check_recording;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_recording::recording(bytes);
});
