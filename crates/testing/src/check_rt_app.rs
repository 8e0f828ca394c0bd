//! What must hold for whatever bytes as a file of rt-app: no panic, errors that say where, and workloads that are
//! sound.

use std::path::Path;
use wakelab_workload::{About, NR_CPUS_MAX, RtApp, WorkloadError};

/// Reads the bytes as a file of rt-app, strictly and leniently; how many threads there are.
pub fn rt_app(bytes: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    let lines = 1 + text.bytes().filter(|&byte| byte == b'\n').count();
    let read = |lenient| RtApp::parse(Path::new("fuzzed.json"), text, lenient);
    let (strict, lenient) = (read(false), read(true));
    match (strict, lenient) {
        (Ok((file, warnings)), lenient) => {
            // Nothing is let pass; what hardly anybody wants is said either way.
            let (also, leniently) = lenient.expect("what is right strictly is right leniently");
            assert_eq!(warnings, leniently, "what is right strictly is read leniently as it is");
            warnings.iter().for_each(|warning| check(warning, lines));
            let (a, b) = (file.copies(1).expect("one"), also.copies(1).expect("one"));
            assert_eq!(a, b, "both are the same");
            assert_eq!(a.validate(NR_CPUS_MAX), Ok(()));
            a.tasks.len()
        }
        (Err(error), Ok((file, warnings))) => {
            check(&error, lines);
            assert!(!warnings.is_empty(), "something was let pass: {error}");
            warnings.iter().for_each(|warning| check(warning, lines));
            file.copies(1).expect("one").tasks.len()
        }
        (Err(error), Err(lenient)) => {
            check(&error, lines);
            check(&lenient, lines);
            0
        }
    }
}

/// An error has a line of the file.
fn check(error: &WorkloadError, lines: usize) {
    let About::File { line: Some(line), .. } = error.about else { panic!("no line: {error}") };
    assert!((1..=lines).contains(&line), "line {line} of {lines}: {error}");
    assert!(!error.what.is_empty());
}
