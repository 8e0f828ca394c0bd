//! Statistics with what is drawn, comparison and replay of a recording take the same memory, however many rows it has.

#[path = "../../fuzz/most_memory.rs"]
mod most_memory;

use std::fs;
use std::path::{Path, PathBuf};
use wakelab_kernel::{Feature, Switches};
use wakelab_study::Question;
use wakelab_study::conform::conform;
use wakelab_study::files::recordings;
use wakelab_study::replay::replay;
use wakelab_study::stats::{By, sources, stats_and_pictures};

/// Rows of the recording that is there over and over.
const ROWS: u64 = 767;
/// What it may take, bytes.
const MOST: usize = 48 << 20;

/// A recording of so many segments, each the same file.
fn segments(folder: &Path, segments: usize) -> PathBuf {
    let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/data/sis-prop-6.1");
    let to = folder.join(segments.to_string());
    fs::create_dir(&to).expect("made");
    for table in ["decisions", "switches", "migrations"] {
        let first = to.join(format!("{table}-00001.parquet"));
        fs::copy(of.join(format!("{table}-00001.parquet")), &first).expect("copied");
        for segment in 2..=segments {
            fs::hard_link(&first, to.join(format!("{table}-{segment:05}.parquet"))).expect("linked");
        }
    }
    to
}

/// The most memory that it took, bytes.
fn most(what: impl FnOnce()) -> usize {
    let memory = most_memory::begin();
    what();
    memory.most()
}

fn count(folder: &Path, rows: u64) {
    let (found, errors) = sources(&[folder.to_owned()]);
    assert_eq!(errors, []);
    let (stats, outcomes) = stats_and_pictures(&found, &By::ALL, &());
    assert!(outcomes.iter().all(|outcome| outcome.error.is_none()));
    assert_eq!(stats.values().map(|tally| tally.all.wakeups).sum::<u64>(), rows);
}

fn compare_and_replay(folder: &Path, rows: u64) {
    let (files, _) = recordings(&[folder.to_owned()]);
    let (conformance, _) = conform(&files, &Question::as_recorded(), 20, &());
    assert_eq!(conformance.total().rows + conformance.unstable, rows);
    let with: Switches = [(Feature::SIS_UTIL, true), (Feature::SIS_PROP, false)].into_iter().collect();
    let (replay, _) = replay(&files, &Question::with(with).expect("a question"), &()).expect("features");
    assert_eq!(replay.rows + replay.unscored, rows);
}

#[test]
fn a_million_rows_take_no_more_memory_than_some_thousands() {
    let folder = tempfile::tempdir().expect("a folder");
    let (few, many) = (segments(folder.path(), 20), segments(folder.path(), 1310));
    let rows = [20 * ROWS, 1310 * ROWS];
    assert!(rows[1] > 1_000_000);
    let (small, large) = (most(|| count(&few, rows[0])), most(|| count(&many, rows[1])));
    // The names of the files are kept.
    assert!(large < small + small / 4 + (4 << 20), "{small} bytes, then {large}");
    assert!(large < MOST, "{large} bytes");
    // Files are read at once here, as many as there are cores.
    let more = segments(folder.path(), 200);
    let (few, many) = (most(|| compare_and_replay(&few, rows[0])), most(|| compare_and_replay(&more, 200 * ROWS)));
    assert!(many < 2 * few + (8 << 20), "{few} bytes, then {many}");
}
