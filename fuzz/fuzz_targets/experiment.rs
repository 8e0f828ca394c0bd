//! Arbitrary bytes as an experiment file.
#![no_main]

use wakelab_testing::check_experiment;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_experiment::experiment(bytes);
});
