//! What must hold for whatever bytes are read as a panel, a sweep, a published table, a result or an entry of the
//! cache: one clear error, or something that can be used.

use std::path::Path;
use std::sync::OnceLock;
use wakelab_study::diff::{ResultFile, diff_results};
use wakelab_study::experiment::{Panel, SweepSpec};
use wakelab_study::reproduce::tables_at;
use wakelab_study::runs::cache::Store;
use wakelab_study::runs::{Key, Program};
use wakelab_study::sweep::Sweep;

const FILE: &str = "fuzzed.toml";
/// The longest message: it repeats no file.
const MESSAGE_MAX: usize = 4096;
/// What looking up many machines, kernels and sides takes is bounded by how many are given; what is checked here is
/// what is read.
const COMBINATIONS_MAX: u64 = 64;

fn refused(message: &str) -> bool {
    assert!(!message.is_empty() && message.len() < MESSAGE_MAX, "the error repeats the file: {} bytes", message.len());
    false
}

/// Reads the bytes as a panel, and looks up what its parts name; whether all was found.
pub fn panel(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let panel = match Panel::parse(Path::new(FILE), text) {
        Ok(panel) => panel,
        Err(error) => return refused(&error.to_string()),
    };
    assert!(!panel.parts.is_empty());
    panel.parts.iter().all(|part| match part.spec("NO_TTWU_QUEUE", &panel.fast, panel.seed).resolve() {
        Ok(matrix) => !matrix.blocks.is_empty(),
        Err(error) => refused(&error.to_string()),
    })
}

/// Reads the bytes as a sweep, and looks up what it names; whether all was found.
pub fn sweep(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let spec = match SweepSpec::parse(Path::new(FILE), text) {
        Ok(spec) => spec,
        Err(error) => return refused(&error.to_string()),
    };
    let of_grid =
        |grid: &wakelab_study::experiment::Grid| (grid.machines.len() * grid.kernels.len() * grid.sides.len()) as u64;
    if spec.grids.iter().map(of_grid).sum::<u64>() > COMBINATIONS_MAX {
        return false;
    }
    match Sweep::new(spec) {
        Ok(sweep) => {
            assert!(sweep.points() > 0 && sweep.points() <= sweep.space() && sweep.parts() > 0);
            true
        }
        Err(error) => refused(&error.to_string()),
    }
}

/// The line between the two files of a published table.
const ROWS: &str = "=== rows.csv\n";

/// Reads the bytes as the `table.toml` of a published table and, after a line, its `rows.csv`; whether it is a table.
pub fn published_table(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let (about, rows) = text.split_once(ROWS).unwrap_or((text, ""));
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("table.toml"), about).expect("written");
    std::fs::write(folder.path().join("rows.csv"), rows).expect("written");
    match tables_at(folder.path()) {
        Ok(tables) => tables.iter().all(|table| !table.rows.is_empty()),
        Err(error) => refused(&error.to_string()),
    }
}

/// Reads the bytes as the JSON of a result, and sets it beside itself; whether it is one.
pub fn result(bytes: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice(bytes) else { return false };
    match ResultFile::of(Path::new("fuzzed.json"), &value) {
        Ok(file) => {
            let same = diff_results(&file, &file);
            assert!(same.settings.is_empty(), "a result is run as itself");
            true
        }
        Err(error) => refused(&error),
    }
}

/// Reads the bytes as the numbers of a kept run, below a checksum that fits; whether they are a run.
pub fn cache_entry(bytes: &[u8]) -> bool {
    static STORE: OnceLock<(tempfile::TempDir, Store)> = OnceLock::new();
    let (_, store) = STORE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path(), Program::named("fuzz"), false).expect("a cache");
        (folder, store)
    });
    let key = Key::named(&format!("{:?}", std::thread::current().id()));
    store.put_bytes(&key, bytes).expect("written");
    store.get(&key).is_some()
}
