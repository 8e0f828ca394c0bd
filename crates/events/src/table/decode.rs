//! Calls of the crate `parquet`, whose panics become errors.
//!
//! Some of its decoders take for granted that a page is sound: a dictionary's index that is not there, or a page with
//! fewer bytes than its header says, ends in a panic, in a build with overflow checks more often. A checksum keeps
//! damage from getting so far, but files of other programs and old files have none. A reader that has panicked is not
//! used again: its errors end the reading.

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
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

/// The next batch of rows; `None` at the end.
pub(crate) fn next_batch(batches: &mut ParquetRecordBatchReader) -> Option<Result<RecordBatch, String>> {
    if let Err(error) = files::go_on() {
        return Some(Err(error.to_string()));
    }
    match decode(|| batches.next()) {
        Ok(batch) => batch.map(|batch| batch.map_err(|e| e.to_string())),
        Err(panicked) => Some(Err(panicked)),
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
