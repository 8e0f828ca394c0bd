//! Arbitrary bytes as a workload file.
#![no_main]

use wakelab_testing::check_workload;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_workload::workload(bytes);
});
