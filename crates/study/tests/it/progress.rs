//! How far work on recordings is, is told while it is done.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wakelab_study::recordings::explain::{Filter, explain_file};
use wakelab_study::recordings::sources;
use wakelab_study::recordings::stats::{slowest, stats};
use wakelab_study::{Decider, Progress};

/// What was told, in order.
#[derive(Default)]
struct Told {
    rows: Mutex<u64>,
    parts: Mutex<Vec<(PathBuf, f64)>>,
    files: Mutex<Vec<PathBuf>>,
}

impl Progress for Told {
    fn rows(&self, rows: u64) {
        *self.rows.lock().unwrap() += rows;
    }
    fn part(&self, path: &Path, share: f64) {
        self.parts.lock().unwrap().push((path.to_owned(), share));
    }
    fn file(&self, path: &Path) {
        self.files.lock().unwrap().push(path.to_owned());
    }
}

impl Told {
    /// Every part is one, of these files, and does not go back; so many rows.
    fn check(self, files: &[PathBuf], rows: u64) {
        let (parts, told) = (self.parts.into_inner().unwrap(), self.rows.into_inner().unwrap());
        assert!(parts.iter().all(|(file, share)| files.contains(file) && (0.0..=1.0).contains(share)), "{parts:?}");
        for file in files {
            let of: Vec<f64> = parts.iter().filter(|(of, _)| of == file).map(|(_, share)| *share).collect();
            assert!(of.is_sorted(), "{of:?}");
        }
        assert_eq!(told, rows);
    }
}

#[test]
fn each_pass_over_recordings_tells_rows_parts_and_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/data/sis-prop-6.1");
    let (found, _) = sources(&[folder]);
    let files = found[0].wakeups();
    for pass in 0..2 {
        let told = Told::default();
        match pass {
            0 => _ = stats(&found, &[], &told),
            _ => _ = slowest(&found[0], 3, &Filter::default(), &Decider::as_recorded(), &told).expect("waits"),
        }
        assert_eq!(*told.files.lock().unwrap(), files);
        let last = told.parts.lock().unwrap().last().cloned();
        assert_eq!(last, Some((files[0].clone(), 1.0)));
        told.check(&files, 767);
    }

    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/6.12-C-hb.csv.gz");
    let told = Told::default();
    let mut rows = 0;
    explain_file(&recording, &Decider::as_recorded(), &Filter::default(), &told, |_| {
        rows += 1;
        true
    })
    .expect("read");
    told.check(&[recording], rows);
}
