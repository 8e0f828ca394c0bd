//! Recordings that are unusual but valid.

use super::support::*;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use wakelab_events::{Reader, Row, TopoFile};

fn rows(text: &str) -> Vec<Row> {
    let dir = folder(text.as_bytes(), TOPO);
    let mut reader = Reader::open(&dir.path().join("r.csv")).expect("a recording");
    let (mut row, mut rows) = (Row::new(), Vec::new());
    while reader.read(&mut row).expect("a row") {
        rows.push(row.clone());
    }
    rows
}

#[test]
fn the_sample() {
    reads(SAMPLE, 8);
    reads(gzip(SAMPLE.as_bytes()), 8);
    reads(SAMPLE.trim_end(), 8);
}

#[test]
fn a_gzip_file_of_several_members() {
    let (first, second) = SAMPLE.split_at(SAMPLE.len() / 2);
    reads([gzip(first.as_bytes()), gzip(b""), gzip(second.as_bytes())].concat(), 8);
}

#[test]
fn line_ends_of_other_systems_and_empty_lines() {
    reads(SAMPLE.replace('\n', "\r\n"), 8);
    let text = format!("\u{feff}{}\r\n\r\n\n{}\r\n{}\r\n", header(), row(0), row(1));
    assert_eq!(rows(&text).iter().map(|row| row.line).collect::<Vec<_>>(), [4, 5]);
    let wrong = format!("{}\r\n\r\n{}\r\n{}\r\n", header(), row(0), changed(1, "seq", "x"));
    error_is(
        &wrong,
        "r.csv:4: column seq: expected a number from 0 to 1125899906842624, found \"x\"\n  hint: no kernel produces \
         such a value; was the file edited or damaged?",
    );
}

#[test]
fn columns_in_another_order_and_more_of_them() {
    let turned = |line: &str| line.split(',').rev().chain(["more"]).collect::<Vec<_>>().join(",");
    reads(SAMPLE.lines().map(turned).collect::<Vec<_>>().join("\n"), 8);
}

#[test]
fn names_of_tasks() {
    let text = with_value(1, "waker_comm", "\"a, \"\"b\"\"\nc\"");
    let after = format!("{text}{}\n", row(2));
    let rows = rows(&after);
    assert_eq!(rows[1].waker.comm, "a, \"b\"\nc");
    assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3, 5]);
}

#[test]
fn names_that_are_not_utf8() {
    let mut text = with_value(1, "wakee_comm", "@@@").into_bytes();
    let at = text.windows(3).position(|w| w == b"@@@").expect("the name");
    text[at..at + 3].copy_from_slice(b"a\xff\xfe");
    reads(&text, 2);
}

/// It is the difference between two counts that are read one after the other while they change.
#[test]
fn a_negative_number_of_delayed_tasks() {
    let rows = rows(&with_value(1, "cpu_h_nr_delayed", "0 -2 0 0 0 0 0 0"));
    assert_eq!(rows[1].cpus.h_nr_delayed, [0, -2, 0, 0, 0, 0, 0, 0]);
}

/// A pipe may return one byte at a time, and be interrupted.
#[test]
fn a_slow_pipe() {
    struct Slow(io::Cursor<Vec<u8>>, bool);
    impl Read for Slow {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let len = buf.len().min(1);
            self.0.read(&mut buf[..len])
        }
    }
    for bytes in [SAMPLE.as_bytes().to_vec(), gzip(SAMPLE.as_bytes())] {
        let topo = TopoFile::parse(Path::new(TOPO_NAME), TOPO).expect("a machine");
        let slow = Slow(io::Cursor::new(bytes), false);
        let mut reader = Reader::new(Path::new("pipe"), slow, |_, _| Ok(Arc::new(topo))).expect("a recording");
        let (mut row, mut rows) = (Row::new(), 0);
        while reader.read(&mut row).expect("a row") {
            rows += 1;
        }
        assert_eq!(rows, 8);
    }
}
