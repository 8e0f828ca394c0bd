//! Arbitrary bytes as the archive of a builder's types.
#![no_main]

use wakelab_testing::check_scheduler_source;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_scheduler_source::vmlinux_tar(bytes);
});
