//! Arbitrary bytes as the build script of a scheduler.
#![no_main]

use wakelab_testing::check_scheduler_source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_scheduler_source::build_script(bytes);
});
