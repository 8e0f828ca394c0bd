//! Arbitrary bytes as a tree of sysfs.
#![no_main]

#[path = "../check_machine.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::sysfs(bytes);
});
