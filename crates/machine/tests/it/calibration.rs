//! Measured costs, and how they were measured.

use crate::support::read;
use std::collections::BTreeMap;
use wakelab_machine::{Calibration, MachineFile, Origin};

fn file() -> MachineFile {
    let mut file = MachineFile::get("test-2c").expect("a machine");
    file.machine.costs.ipi.origin = Origin::Measured("2026-11-23 14:05, pipe ping-pong: 1,200 ns".to_owned());
    file.calibration = Some(Calibration {
        date: "2026-11-23 14:05".to_owned(),
        kernel: "6.18.44".to_owned(),
        preset: "v6.12".to_owned(),
        hz: 250,
        noise: "load average 0.1 before, steal time \"0\"%".to_owned(),
        work: BTreeMap::from([("tcp".to_owned(), 5_200), ("pipes".to_owned(), 0)]),
    });
    file
}

#[test]
fn what_was_measured_reads_back_equal() {
    let file = file();
    let text = file.to_toml();
    assert!(text.contains("measured = \"2026-11-23 14:05, pipe ping-pong: 1,200 ns\""), "{text}");
    assert_eq!(MachineFile::from_toml(&text, "mine.toml").expect("a machine"), file);
}

/// An error about a file that has `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    let text = file().to_toml();
    assert!(text.contains(from), "{text}");
    read(&text.replacen(from, to, 1)).expect_err("it is wrong").to_string()
}

#[test]
fn errors_name_the_key_and_what_was_expected() {
    let both = error("measured = ", "assumed = \"a\"\nmeasured = ");
    assert!(both.contains("give only one of `source`, `measured` and `assumed`"), "{both}");
    let work = error("tcp = 5200", "tcp = -1");
    assert!(work.contains("`calibration.work.tcp`"), "{work}");
    let hz = error("hz = 250", "hz = 0");
    assert!(hz.contains("`calibration.hz`") && hz.contains("1 to 10000"), "{hz}");
    let none = error("[calibration.work]\npipes = 0\ntcp = 5200\n", "");
    assert!(none.contains("calibration.work"), "{none}");
    let unknown = error("hz = 250", "hz = 250\nsped = 1");
    assert!(unknown.contains("`calibration.sped`"), "{unknown}");
}
