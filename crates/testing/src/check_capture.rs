//! What must hold for whatever text trace is imported and captured: a file that a comparison accepts, or a clean error;
//! and of its waits, that they are found without a fault.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_events::stream::Source;
use wakelab_study::capture::{CaptureOptions, capture as captured};
use wakelab_study::recordings::waits::{Options, waits};
use wakelab_workload::from_toml;

/// Imports the bytes as a trace, and captures it as a model and as recorded; how many tasks the model has.
pub fn capture(bytes: &[u8]) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, to) = (folder.path().join("trace.txt"), folder.path().join("imported"));
    fs::write(&file, bytes).expect("a file");
    let imported = wakelab_import::import(&[file], None, &to, &|_, _| {}, &AtomicBool::new(false));
    if imported.is_err() {
        return 0;
    }
    let source = Source::at(&to).expect("it was imported").pop().expect("one recording");
    let (_, outcomes) = waits(std::slice::from_ref(&source), Options { over_ns: 0, slowest: 4 }, &());
    outcomes.iter().filter_map(|outcome| outcome.error.as_ref()).for_each(|error| check(&error.to_string()));
    let machine = wakelab_machine::get("test-2c").expect("a machine");
    let mut tasks = 0;
    for (machine, exact) in [(None, false), (Some(&machine), false), (None, true)] {
        let options = CaptureOptions { machine, from_ns: None, window_ns: None, exact };
        match captured(&source, &options, &()) {
            Ok(found) => {
                let workload = from_toml(&found.toml, Path::new("captured.toml"), found.load);
                let workload = workload.unwrap_or_else(|error| panic!("{error}\n{}", found.toml));
                tasks += workload.tasks.len();
                let rates = [found.check.recorded, found.check.model];
                assert!(
                    rates.iter().all(|of| of.wakeups.is_finite() && (0.0..=1.0 + 1e-6).contains(&of.busy)),
                    "{rates:?}"
                );
            }
            Err(error) => check(&error.to_string()),
        }
    }
    tasks
}

fn check(error: &str) {
    assert!(!error.is_empty() && error.len() < 4096 && !error.contains('\0'), "{error:?}");
}
