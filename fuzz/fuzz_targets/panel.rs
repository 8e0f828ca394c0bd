//! Arbitrary bytes as a panel.
#![no_main]

use wakelab_testing::check_study;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_study::panel(bytes);
});
