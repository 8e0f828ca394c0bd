//! Arbitrary bytes as a scheduler's object, under which a run is simulated.
#![no_main]

use wakelab_testing::check_scheduler;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_scheduler::scheduler(bytes);
});
