//! Reading takes memory for one row, however many there are.
#![allow(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use wakelab_events::{Reader, Row, TopoFile};

/// The system's allocator, which counts each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is passed on to the system's allocator; the count does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

fn count() {
    // A thread that ends has no counter any more, and nothing to count.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SAMPLE: &str = include_str!("data/6.12-A.csv");
const TOPO: &str = include_str!("../../recordings/topo-6.12-A.json");
const ROWS: u64 = 1_000_000;

/// The sample's rows, over and over.
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
    // A row that is no fork lets go of what only forks have; without them nothing at all is to be allocated.
    let wakeups: &'static str = rows.lines().take(6).map(|row| format!("{row}\n")).collect::<String>().leak();
    assert_eq!(count, 8);
    let source = header.as_bytes().chain(Endless { rows: wakeups.as_bytes(), at: 0, left: ROWS.div_ceil(6) });
    let topo = TopoFile::parse(Path::new("topo.json"), TOPO).expect("a machine");
    let mut reader = Reader::new(Path::new("endless"), source, |_, _| Ok(Arc::new(topo))).expect("a recording");
    let mut row = Row::new();
    for _ in 0..100 {
        assert_eq!(reader.read(&mut row), Ok(true));
    }
    let before = ALLOCATIONS.get();
    let mut read = 100;
    while reader.read(&mut row).expect("a row") {
        read += 1;
    }
    assert!(read >= ROWS, "{read} rows");
    assert_eq!(ALLOCATIONS.get(), before, "rows were allocated for");
}
