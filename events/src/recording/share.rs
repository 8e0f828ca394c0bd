//! How much of a recording has been read.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// So much of so much.
#[derive(Debug, Default)]
pub(super) enum Whole {
    /// Not known: a pipe, or bytes from elsewhere.
    #[default]
    Unknown,
    /// Rows.
    Rows(u64),
    /// Bytes, and how many of them were read.
    Bytes(u64, Arc<AtomicU64>),
}

impl Whole {
    /// The share that was read, 0 to 1; `rows` are read so far.
    pub(super) fn share(&self, rows: u64) -> f64 {
        let (done, all) = match self {
            Whole::Unknown => return 0.0,
            Whole::Rows(all) => (rows, *all),
            Whole::Bytes(all, read) => (read.load(Ordering::Relaxed), *all),
        };
        (done as f64 / all.max(1) as f64).min(1.0)
    }
}

/// Counts the bytes that are read.
pub(super) struct Counted<R> {
    from: R,
    read: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    pub(super) fn new(from: R) -> (Self, Arc<AtomicU64>) {
        let read = Arc::new(AtomicU64::new(0));
        (Counted { from, read: Arc::clone(&read) }, read)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
