//! Arbitrary bytes as the numbers of a kept run.
#![no_main]

use wakelab_testing::check_study;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_study::cache_entry(bytes);
});
