//! The checksum of a file: a CRC-32 of all its bytes, in its metadata.
//!
//! Parquet has checksums of pages, but the crate `parquet` does not write them, and they leave out the footer. The
//! checksum is computed as the file is written, with zeros in its own place, and is then written there.

use crate::error::ReadError;
use crc32fast::Hasher;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The key in the metadata. It must be added last: the last pair of this key is the checksum.
pub(crate) const KEY: &str = "wakelab.checksum";
/// The value until the checksum is known.
pub(crate) const UNKNOWN: &str = "crc32 00000000";
/// The bytes before the digits, as Thrift's compact protocol writes them: the key, the type of the next field, the
/// length of the value, and its beginning.
const BEFORE: &[u8] = b"wakelab.checksum\x18\x0ecrc32 ";
const DIGITS: usize = 8;
/// The checksum is within this many bytes of the end: the metadata of the file's columns that follow it are short.
const TAIL: usize = 1 << 14;

/// A file that is summed as it is written.
pub(super) struct SummedFile {
    file: File,
    sum: Hasher,
    length: u64,
    /// The last bytes that were written, at least [`TAIL`] if there are as many.
    tail: Vec<u8>,
}

impl SummedFile {
    pub(super) fn new(file: File) -> Self {
        SummedFile { file, sum: Hasher::new(), length: 0, tail: Vec::new() }
    }

    /// Writes the checksum in its place, and waits until the file is on the disk.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(at) = place(&self.tail) {
            let from_end = (self.tail.len() - at) as u64;
            self.file.seek(SeekFrom::Start(self.length - from_end))?;
            self.file.write_all(format!("{:08x}", self.sum.finalize()).as_bytes())?;
        }
        self.file.sync_all()
    }
}

impl Write for SummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        let written = &bytes[..n];
        self.sum.update(written);
        self.length += n as u64;
        if self.tail.len() > 4 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
        self.tail.extend_from_slice(&written[n.saturating_sub(TAIL)..]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the digits of the checksum are in the last bytes of a file.
fn place(tail: &[u8]) -> Option<usize> {
    let before = tail.windows(BEFORE.len()).rposition(|window| window == BEFORE)?;
    let at = before + BEFORE.len();
    (tail.len() >= at + DIGITS).then_some(at)
}

/// Compares a file with its checksum. Returns false if it has none.
///
/// # Errors
/// Fails if the file cannot be read, or its bytes are not those that were written.
pub(super) fn verify(path: &Path, mut file: &File) -> Result<bool, ReadError> {
    let io = |e: io::Error| ReadError::of_file(path, e.to_string()).with_hint("the system failed to read on");
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL as u64))).map_err(io)?;
    file.take(TAIL as u64).read_to_end(&mut tail).map_err(io)?;
    let Some(at) = place(&tail) else { return Ok(false) };
    let expected = str::from_utf8(&tail[at..at + DIGITS]).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let at = length - (tail.len() - at) as u64;

    file.seek(SeekFrom::Start(0)).map_err(io)?;
    let (mut sum, mut from, mut piece) = (Hasher::new(), 0, vec![0; 1 << 16]);
    loop {
        let n = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(io(e)),
        };
        for digit in at.max(from)..(at + DIGITS as u64).min(from + n as u64) {
            piece[(digit - from) as usize] = b'0';
        }
        sum.update(&piece[..n]);
        from += n as u64;
    }
    if expected == Some(sum.finalize()) { Ok(true) } else { Err(differs(path)) }
}

/// The error of a file whose bytes are not those that were written.
pub(super) fn differs(path: &Path) -> ReadError {
    ReadError::of_file(path, "the file is damaged: its bytes do not match the checksum with which it was written")
        .with_hint(
            "copy it again; if the original has the same fault, the other files of the folder may still be whole",
        )
}
