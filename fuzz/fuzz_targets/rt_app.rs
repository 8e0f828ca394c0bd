//! Arbitrary bytes as a file of rt-app.
#![no_main]

use wakelab_testing::check_rt_app;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_rt_app::rt_app(bytes);
});
