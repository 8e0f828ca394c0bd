//! What must hold for whatever bytes are read as a workload: one clear error, or a workload that can be built.

use std::path::Path;
use wakelab_workload::{NR_CPUS_MAX, from_toml};

const FILE: &str = "fuzzed.toml";

/// Reads the bytes as a workload file; whether it was one.
pub fn workload(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match from_toml(text, Path::new(FILE), 1) {
        Ok(workload) => {
            assert_eq!(workload.validate(NR_CPUS_MAX), Ok(()), "what was read is right");
            assert!(!workload.tasks.is_empty() && !workload.programs.is_empty());
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with(FILE), "the error does not name the file: {message}");
            assert!(
                !error.what.is_empty() && message.len() < 4096,
                "the error repeats the file: {} bytes",
                message.len()
            );
            false
        }
    }
}
