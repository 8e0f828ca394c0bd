//! Arbitrary bytes as a table of events or a recording in Parquet.
#![no_main]

use wakelab_testing::check_events;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_events::events(bytes);
});
