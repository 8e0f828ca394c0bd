//! The bytes of a kept run: a line that names the format, a checksum, and the numbers.

use super::Key;
use wakelab_measure::RunStats;

const FORMAT: &[u8] = b"wakelab run 1\n";

/// The bytes of what `key` gave.
pub(super) fn encode(key: &Key, stats: &RunStats) -> Vec<u8> {
    let numbers = postcard::to_stdvec(stats).expect("plain data can be written to memory");
    [FORMAT, checksum(key, &numbers).as_bytes(), &numbers].concat()
}

/// What `key` gave; `None` where the bytes are not whole, or are those of another run.
pub(super) fn decode(key: &Key, bytes: &[u8]) -> Option<RunStats> {
    let (sum, numbers) = bytes.strip_prefix(FORMAT)?.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    // Of whole bytes that were written under this key, nothing is left over.
    (checksum(key, numbers).as_bytes() == sum).then(|| postcard::from_bytes(numbers).ok())?
}

/// The key is part of it: a file under another name is not what that name stands for.
fn checksum(key: &Key, numbers: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(key.bytes()).update(numbers).finalize()
}
