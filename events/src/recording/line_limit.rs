//! A bound on the length of a line, so that a file without line ends cannot take all memory.

use std::io::{self, Read};

/// The longest line that is read, in bytes. A row of a machine with 8192 CPUs is about 1 MiB.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Passes bytes through until a line gets too long.
pub(super) struct LineLimit<R> {
    inner: R,
    since_newline: usize,
}

impl<R> LineLimit<R> {
    pub(super) fn new(inner: R) -> Self {
        LineLimit { inner, since_newline: 0 }
    }
}

impl<R: Read> Read for LineLimit<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.since_newline = match buf[..n].iter().rposition(|&b| b == b'\n') {
            Some(at) => n - at - 1,
            None => self.since_newline + n,
        };
        if self.since_newline > MAX_LINE {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line is longer than {} MiB", MAX_LINE >> 20),
            ));
        }
        Ok(n)
    }
}
