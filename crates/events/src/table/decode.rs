//! Calls of the crate `parquet`, whose panics become errors.
//!
//! Some of its decoders take for granted that a page is sound: a dictionary's index that is not there, or a page with
//! fewer bytes than its header says, ends in a panic, in a build with overflow checks more often. A checksum keeps
//! damage from getting so far, but files of other programs and old files have none. A reader that has panicked is not
//! used again: its errors end the reading.

use super::metadata::{Builder, damaged, damaged_rows};
use crate::error::ReadError;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use wakelab_input::files;

thread_local! {
    /// Whether this thread is in such a call, whose panics are not printed.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

/// Calls `decode`.
///
/// # Errors
/// Fails if it panics.
pub(crate) fn decode<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !DECODES.get() {
                before(info);
            }
        }));
    });
    DECODES.set(true);
    let decoded = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODES.set(false);
    decoded.map_err(|_| "a page cannot be decoded".to_owned())
}

/// The rows of a file, with one batch of them in memory at a time.
pub(crate) struct Batches {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    /// The number of rows of the batch, and the index in it of the row after the current one.
    rows: usize,
    next: usize,
    /// The number of the current row in the file, from 1.
    pub(crate) row: u64,
}

impl Batches {
    /// Begins to read the rows that `builder` asks for.
    pub(crate) fn open(path: &Path, builder: Builder) -> Result<Self, ReadError> {
        let batches = decode(|| builder.build());
        let batches = batches.map_err(|e| damaged(path, &e))?.map_err(|e| damaged(path, &e.to_string()))?;
        Ok(Batches { path: path.to_owned(), batches, batch: None, rows: 0, next: 0, row: 0 })
    }

    /// Goes to the next row. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, ReadError> {
        while self.next == self.rows {
            let broken = |what: String| damaged_rows(&self.path, self.row + 1, &what);
            files::go_on().map_err(|e| broken(e.to_string()))?;
            let Some(batch) = decode(|| self.batches.next()).map_err(broken)? else { return Ok(false) };
            let batch = batch.map_err(|e| broken(e.to_string()))?;
            (self.rows, self.next) = (batch.num_rows(), 0);
            self.batch = Some(batch);
        }
        self.next += 1;
        self.row += 1;
        Ok(true)
    }

    /// The index of the current row in its batch; `None` before the first.
    #[inline]
    pub(crate) fn at(&self) -> Option<usize> {
        self.next.checked_sub(1)
    }

    /// The batch with the current row, and its index in it; `None` before the first.
    pub(crate) fn current(&self) -> Option<(&RecordBatch, usize)> {
        self.batch.as_ref().zip(self.at())
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn a_panic_is_an_error_and_the_next_call_is_not() {
        assert_eq!(decode(|| -> u32 { panic!("a page") }), Err("a page cannot be decoded".to_owned()));
        assert_eq!(decode(|| 7), Ok(7));
    }
}
