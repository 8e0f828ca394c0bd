//! Arbitrary bytes as the names on a page.
#![no_main]

use wakelab_testing::check_page;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check_page::names(bytes);
});
