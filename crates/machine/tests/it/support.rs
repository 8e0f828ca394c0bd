//! Machine files for tests.

use wakelab_machine::{InputError, Machine};

/// A file with the costs of a built-in machine; its `[topology]` begins in line 4.
pub fn with_topology(topology: &str) -> String {
    format!("name = \"m\"\ndescription = \"d\"\ncosts_of = \"intel-1s56c112t\"\n{topology}")
}

/// Reads a file that is called `m.toml`.
pub fn read(text: &str) -> Result<Machine, InputError> {
    Machine::from_toml(text, "m.toml")
}

/// Holds that a file is refused at that line with messages that contain these texts.
#[track_caller]
pub fn refused(text: &str, line: impl Into<Option<usize>>, parts: &[&str]) {
    let error = read(text).expect_err("the file should be refused");
    let message = error.to_string();
    assert_eq!(error.line, line.into(), "{message}");
    assert!(message.starts_with("m.toml"), "{message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}
