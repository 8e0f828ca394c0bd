//! Arbitrary bytes as the JSON of a result.
#![no_main]

use wakelab_testing::check_study;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_study::result(bytes);
});
