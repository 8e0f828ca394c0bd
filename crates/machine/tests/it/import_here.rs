//! The machine that the test runs on. Its `/sys` may be odd, as in a container: then the error names the file.

use std::path::Path;
use wakelab_machine::import;

#[test]
fn this_machine_is_imported_or_the_error_names_a_file() {
    match import(Path::new("/sys"), "here") {
        Ok(imported) => {
            let counts = imported.file.machine.counts();
            // The process may be kept off CPUs, never run on more than are online.
            if let Ok(usable) = std::thread::available_parallelism() {
                assert!(usable.get() <= counts.cpus, "{usable} of {counts:?}");
            }
            assert!(counts.packages <= counts.cores && counts.cores <= counts.cpus, "{counts:?}");
        }
        Err(error) => {
            assert!(error.path.starts_with("/sys/devices/"), "{error}");
            assert!(error.what.contains("expected") && error.hint.is_some(), "{error}");
        }
    }
}
