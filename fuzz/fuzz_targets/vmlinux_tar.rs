//! Arbitrary bytes as the archive of a builder's types.
#![no_main]

#[path = "../check_scheduler_source.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::vmlinux_tar(bytes);
});
