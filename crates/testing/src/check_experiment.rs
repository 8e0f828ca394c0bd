//! What must hold for whatever bytes are read as an experiment: one clear error with its place, or an experiment.

use std::path::Path;
use wakelab_study::experiment::{Place, Spec};

/// Beside the experiments, whose published tables are named from there.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/experiments/fuzzed.toml");

/// Reads the bytes as an experiment file and looks up what it names; whether all was found.
pub fn experiment(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let found = Spec::parse(Path::new(FILE), text).and_then(|spec| spec.resolve_two_sides());
    match found {
        Ok(experiment) => {
            assert!(!experiment.cases.is_empty() && experiment.repeats > 0 && experiment.time_ns > 0);
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!matches!(error.place, Place::Flag(_)), "no flag was given: {message}");
            assert!(
                !error.what.is_empty() && message.len() < 4096,
                "the error repeats the file: {} bytes",
                message.len()
            );
            false
        }
    }
}
