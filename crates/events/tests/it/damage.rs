//! Files with changed bytes: the checksum notices each changed bit, and files without one are still read.

use std::fs;
use std::path::Path;
use wakelab_events::ReadError;
use wakelab_events::recording::{DecisionRow, RecordingWriter, SwitchRow};
use wakelab_testing::check_events::{decisions, switches};
use wakelab_testing::recording_rows::{decision, metadata};

/// Writes a recording of three thousand decisions and as many switches, with values that differ.
fn write(folder: &Path) {
    let mut writer = RecordingWriter::new(folder, metadata()).expect("an empty folder");
    for seq in 1..=3000 {
        let util = seq * 7919 % 1024;
        let row =
            DecisionRow { dur_ns: seq * 104_729 % 9973, util_avg: util, cpu_util_avg: &[util, 5], ..decision(seq) };
        writer.decision(row).expect("written");
        let next_pid = (seq * 31 % 977) as i32;
        let switch = SwitchRow { t_ns: seq * 1013, cpu: 0, prev_pid: 0, prev_sleeps: false, next_pid };
        writer.switch(switch).expect("written");
    }
    writer.close_segments().expect("written");
}

/// Where `created_by` is: a file of another program has no checksum, so that a changed name of the program is not
/// noticed. It holds no data.
fn created_by(bytes: &[u8]) -> std::ops::Range<usize> {
    let name = format!("wakelab {}", env!("CARGO_PKG_VERSION"));
    let at = bytes.windows(name.len()).rposition(|window| window == name.as_bytes()).expect("the name of the program");
    at..at + name.len()
}

type ReadAll = fn(&Path) -> Result<usize, ReadError>;

#[test]
fn each_changed_bit_is_noticed() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("rec");
    write(&folder);
    for (name, read) in [("decisions-00001.parquet", decisions as ReadAll), ("switches-00001.parquet", switches)] {
        let path = folder.join(name);
        assert_eq!(read(&path), Ok(3000));
        let bytes = fs::read(&path).expect("a file");
        let spared = created_by(&bytes);
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..300 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (at, bit) = ((random >> 8) as usize % bytes.len(), random % 8);
            if spared.contains(&at) {
                continue;
            }
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, changed).expect("written");
            let error = read(&path).expect_err("the bit is noticed");
            assert!(error.hint.is_some() && error.to_string().len() < 4096, "byte {at}, bit {bit}: {error}");
        }
    }
}

#[test]
fn a_checksum_that_is_missing_or_changed_is_noticed() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("rec");
    write(&folder);
    let path = folder.join("decisions-00001.parquet");
    let bytes = fs::read(&path).expect("a file");
    let at = bytes.windows(16).rposition(|window| window == b"wakelab.checksum").expect("a checksum");
    for byte in at..at + 32 {
        let mut changed = bytes.clone();
        changed[byte] ^= 1;
        fs::write(&path, changed).expect("written");
        assert!(decisions(&path).is_err(), "byte {byte}");
    }
}

#[test]
fn files_of_other_programs_and_of_older_versions_have_no_checksum() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("rec");
    write(&folder);
    let path = folder.join("decisions-00001.parquet");
    let bytes = fs::read(&path).expect("a file");

    // Another program wrote the rows anew and kept the metadata.
    let mut copied = bytes.clone();
    copied[created_by(&bytes)][..7].copy_from_slice(b"pyarrow");
    fs::write(&path, &copied).expect("written");
    assert_eq!(decisions(&path), Ok(3000));

    // The version before the first with checksums.
    let mut old = bytes.clone();
    let version = b"wakelab.schema_version\x18\x041.10";
    let at = old.windows(version.len()).rposition(|window| window == version).expect("a version");
    old[at + version.len() - 2..at + version.len()].copy_from_slice(b"03");
    let key = old.windows(16).rposition(|window| window == b"wakelab.checksum").expect("a checksum");
    old[key + 8..key + 16].copy_from_slice(b"nothing!");
    fs::write(&path, &old).expect("written");
    assert_eq!(decisions(&path), Ok(3000));
}
