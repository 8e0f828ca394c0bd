//! Reading takes the memory of one row, however many there are.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use wakelab_events::{Reader, Row, TopoFile};
use wakelab_testing::most_memory::allocations_of_this_thread;

pub const SAMPLE: &str = include_str!("../it/data/6.12-A.csv");
pub const TOPO: &str = include_str!("../../../../data/recordings/topo-6.12-A.json");
const ROWS: u64 = 1_000_000;

/// The rows of the sample, again and again.
struct Endless {
    rows: &'static [u8],
    at: usize,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rows.len() {
            self.left = self.left.saturating_sub(1);
            self.at = 0;
        }
        if self.left == 0 {
            return Ok(0);
        }
        let len = buf.len().min(self.rows.len() - self.at);
        buf[..len].copy_from_slice(&self.rows[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

#[test]
fn a_million_rows_take_no_more_memory_than_a_few() {
    let (header, rows) = SAMPLE.split_at(SAMPLE.find('\n').expect("a header") + 1);
    let count = rows.lines().count() as u64;
    // Rows of wake-ups free what only forks have. Without forks nothing must be allocated.
    let wakeups: &'static str = rows.lines().take(6).map(|row| format!("{row}\n")).collect::<String>().leak();
    assert_eq!(count, 8);
    let source = header.as_bytes().chain(Endless { rows: wakeups.as_bytes(), at: 0, left: ROWS.div_ceil(6) });
    let topo = TopoFile::parse(Path::new("topo.json"), TOPO).expect("a machine");
    let mut reader = Reader::new(Path::new("endless"), source, |_, _| Ok(Arc::new(topo))).expect("a recording");
    let mut row = Row::new();
    for _ in 0..100 {
        assert_eq!(reader.read(&mut row), Ok(true));
    }
    let before = allocations_of_this_thread();
    let mut read = 100;
    while reader.read(&mut row).expect("a row") {
        read += 1;
    }
    assert!(read >= ROWS, "{read} rows");
    assert_eq!(allocations_of_this_thread(), before, "rows were allocated for");
}
