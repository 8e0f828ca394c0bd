//! Arbitrary bytes as a tree of sysfs.
#![no_main]

use wakelab_testing::check_machine;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_machine::sysfs(bytes);
});
