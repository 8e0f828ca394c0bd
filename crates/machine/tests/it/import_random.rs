//! Damaged `/sys` trees: a machine that reads back, or an error that names a file of the tree. Never a panic.

use proptest::prelude::*;
use wakelab_machine::{Files, MachineFile, import_files};
use wakelab_testing::sysfs::{Sysfs, TREES};

/// What a file is changed to; nothing for a file that is gone.
const CONTENTS: &[Option<&str>] = &[
    None,
    Some(""),
    Some("-1"),
    Some("0"),
    Some("1"),
    Some("2"),
    Some("3"),
    Some("10"),
    Some("65535"),
    Some("8191"),
    Some("18446744073709551616"),
    Some("-9223372036854775809"),
    Some("0-1"),
    Some("0-3"),
    Some("0-15"),
    Some("1,3"),
    Some("0-8191"),
    Some("0-3:1/2"),
    Some("3-0"),
    Some(",,"),
    Some("10 20"),
    Some("20 10"),
    Some("Data"),
    Some("48K"),
    Some("0K"),
    Some("99999999999999999999K"),
    Some("\0\0"),
    Some("ä"),
    Some("\"\\\n]]"),
    Some(" "),
];

/// Imports it; whether that gave a machine.
fn holds(files: &Files) -> Result<bool, TestCaseError> {
    match import_files(files, "mine") {
        Ok(imported) => {
            let read = MachineFile::from_toml(&imported.to_toml(), "mine.toml");
            prop_assert_eq!(read.as_ref(), Ok(&imported.file));
            prop_assert!(imported.file.machine.topology.validate().is_ok());
            Ok(true)
        }
        Err(error) => {
            prop_assert!(error.path.starts_with("devices/"), "{}", error);
            prop_assert!(error.hint.as_ref().is_some_and(|hint| !hint.contains("report")), "{}", error);
            Ok(false)
        }
    }
}

proptest! {
    #[test]
    fn damaged_trees_are_a_machine_or_an_error_of_a_file(
        tree in 0..TREES.len(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), prop::sample::select(CONTENTS)), 20),
    ) {
        // What is refused is mended before the next damage, which it would hide; what is not stays.
        let mut files = Sysfs::of(TREES[tree].0).0;
        for (file, content) in damage {
            let path = file.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
            let before = files.remove(&path).expect("one of its files");
            if let Some(content) = content {
                files.insert(path.clone(), content.as_bytes().to_vec());
            }
            if !holds(&files)? {
                files.insert(path, before);
            }
        }
        prop_assert!(holds(&files)?);
    }
}
