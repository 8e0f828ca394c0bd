//! Arbitrary bytes as a file of another recorder.
#![no_main]

use wakelab_testing::check_import;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_import::text(bytes);
});
