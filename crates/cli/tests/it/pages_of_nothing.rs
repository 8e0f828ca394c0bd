//! Where nothing could be read or nothing was asked for, there is no page, and what was there before stays.

use crate::support::wakelab;
use std::fs;
use std::path::Path;

/// A recording as a later version would write it.
fn newer(folder: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sis-prop-6.1/decisions-00001.parquet");
    let mut bytes = fs::read(data).expect("a recording");
    let key = b"wakelab.schema_version";
    let at = bytes.windows(key.len()).position(|window| window == key).expect("a version") + key.len();
    let digit = at + bytes[at..].iter().position(u8::is_ascii_digit).expect("a number");
    bytes[digit] = b'9';
    fs::create_dir(folder.join("newer")).expect("a folder");
    fs::write(folder.join("newer/decisions-00001.parquet"), bytes).expect("written");
}

#[test]
fn a_recording_of_a_newer_schema_is_an_error_and_makes_no_page() {
    let here = tempfile::tempdir().expect("a folder");
    newer(here.path());
    fs::write(here.path().join("page.html"), "what was there").expect("written");
    for command in [
        &["stats", "newer", "--html", "page.html"][..],
        &["explain", "newer", "--html", "page.html"],
        &["conform", "newer", "--html", "page.html"],
        &["replay", "newer", "--with", "NO_SIS_UTIL", "--html", "page.html"],
        &["trace", "newer", "--perfetto", "page.html"],
    ] {
        let refused = wakelab(here.path(), command);
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{command:?}: {errors}");
        assert!(errors.contains("expected schema version") && errors.contains("found 9"), "{command:?}: {errors}");
        assert!(errors.contains("hint: another version of wakelab wrote it"), "{command:?}: {errors}");
        assert_eq!(fs::read_to_string(here.path().join("page.html")).expect("the file"), "what was there");
    }
    assert_eq!(crate::support::names(here.path()), ["newer", "page.html"]);
}

#[test]
fn an_empty_result_is_said_and_makes_no_page() {
    let here = tempfile::tempdir().expect("a folder");
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/6.12-C-hb.csv.gz");
    let recording = recording.to_str().expect("UTF-8");
    let none = wakelab(here.path(), &["explain", recording, "--pid", "999999", "--html", "page.html"]);
    let said = String::from_utf8_lossy(&none.stderr);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("no row matches") && said.contains("no page was written"), "{said}");
    assert_eq!(crate::support::names(here.path()), Vec::<String>::new());
}
