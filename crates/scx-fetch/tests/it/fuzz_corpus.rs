//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

use wakelab_testing::changes::{change_binary, check_changed, check_corpus, corpus, sum_of_changed};
use wakelab_testing::check_scheduler_source;

/// Words that mean something in a build script.
const WORDS: &[&str] = &[
    "enable_skel",
    "add_source",
    "add_include_path",
    "add_cflag",
    "BpfBuilder",
    "RustLandBuilder",
    "\"-D\"",
    "\"-mllvm\"",
    "\"@x\"",
    "\"-fplugin=x\"",
    "if x {",
    "for x in y {",
    "match x {",
    "}",
    "(",
    ")",
    "[",
    "!",
    "&",
    "|x|",
    "r#\"",
    "\"",
    "//",
    "/*",
    "as u8",
    ".unwrap()",
    "?",
    ";",
    "fn",
    "'a",
    "'a'",
    "b\"x\"",
    "0x",
    "1e9",
];

#[test]
fn build_scripts_of_the_corpus_are_read_or_refused() {
    check_corpus("build_script", check_scheduler_source::build_script);
}

#[test]
fn changed_build_scripts_are_read_or_refused() {
    let sound = check_changed("build_script", check_scheduler_source::build_script, 60, WORDS);
    assert!(sound > 50, "{sound} were sound");
}

#[test]
fn archives_of_the_corpus_are_unpacked_or_refused() {
    check_corpus("vmlinux_tar", check_scheduler_source::vmlinux_tar);
}

#[test]
fn changed_archives_are_unpacked_or_refused() {
    let sound = sum_of_changed(
        &corpus("vmlinux_tar"),
        |bytes| usize::from(check_scheduler_source::vmlinux_tar(bytes)),
        100,
        &change_binary,
    );
    assert!(sound > 100, "{sound} were sound");
}
