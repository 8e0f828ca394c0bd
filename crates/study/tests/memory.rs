//! The memory that studies use does not grow with the recording or the run.
//!
//! A program of its own because its allocator counts the bytes that all threads use: other tests would be counted too.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wakelab_kernel::{Feature, Switches};
use wakelab_study::Decider;
use wakelab_study::compare::compare;
use wakelab_study::experiment::Spec;
use wakelab_study::recordings::conform::conform;
use wakelab_study::recordings::replay::replay;
use wakelab_study::recordings::stats::{By, stats_and_pictures};
use wakelab_study::recordings::{decision_files, sources};
use wakelab_study::runners::{Pictured, Simulator};
use wakelab_testing::most_memory::{self, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
            fs::copy(&first, to.join(format!("{table}-{segment:05}.parquet"))).expect("copied");
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
    let (files, _) = decision_files(&[folder.to_owned()]);
    let (conformance, _) = conform(&files, &Decider::as_recorded(), 20, &());
    assert_eq!(conformance.total().rows + conformance.unstable, rows);
    let with: Switches = [(Feature::SIS_UTIL, true), (Feature::SIS_PROP, false)].into_iter().collect();
    let (replay, _) = replay(&files, &Decider::with(with).expect("a decider"), &()).expect("features");
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

/// Simulates `time_ms` with pictures: the most memory that it used, in bytes, and the wake-ups in all pictures.
fn draw(time_ms: u64) -> (usize, u64) {
    let text = format!(
        r#"
        machine = "test-2llc"
        kernel = "v5.19-rc1"
        repeats = 2
        settle = "20ms"
        time = "{time_ms}ms"
        workload = [{{ name = "netperf:TCP_RR", load = "4,12", params = {{ ramp = 5000000 }} }}]
        variants = {{ base = "SIS_PROP", with = "SIS_UTIL" }}
    "#
    );
    let spec = Spec::parse(Path::new("small.toml"), &text).expect("an experiment");
    let memory = most_memory::begin();
    let pictured = Pictured::new(&Simulator, None);
    let experiment = spec.resolve_two_sides().expect("an experiment");
    let found = compare(&pictured, &experiment, 1, &(), &AtomicBool::new(false)).expect("it runs");
    let pictures = pictured.found();
    let most = memory.most();
    let sides = found.rows.iter().flat_map(|row| [false, true].map(|with| pictures.of(row, with).expect("a picture")));
    (most, sides.map(|picture| picture.waits.n).sum())
}

#[test]
fn drawing_a_longer_run_takes_no_more_memory() {
    let ((short, few), (long, many)) = (draw(20), draw(400));
    assert!(many > 10 * few, "{few} and {many} wake-ups");
    assert!(long < short + short / 4 + (1 << 20), "{short} bytes, then {long}");
}
