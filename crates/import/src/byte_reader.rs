//! Reads numbers and strings from a slice, never beyond its end.

/// The part of a slice that has not been read yet.
#[derive(Clone, Copy)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
    len: usize,
    big_endian: bool,
}

impl<'a> ByteReader<'a> {
    /// Begins to read a slice. `big_endian` is the byte order of its numbers.
    pub(crate) fn new(bytes: &'a [u8], big_endian: bool) -> Self {
        ByteReader { rest: bytes, len: bytes.len(), big_endian }
    }

    /// How many bytes have been read.
    pub(crate) fn offset(&self) -> u64 {
        (self.len - self.rest.len()) as u64
    }

    /// Sets the byte order of the numbers that follow.
    pub(crate) fn set_big_endian(&mut self, big_endian: bool) {
        self.big_endian = big_endian;
    }

    /// The next `n` bytes; `None`, and nothing read, if there are fewer.
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    /// An unsigned number of 1 to 8 bytes.
    pub(crate) fn number(&mut self, size: usize) -> Option<u64> {
        let bytes = self.take(size)?;
        number(bytes, self.big_endian)
    }

    /// A string up to its NUL, which is read, too.
    pub(crate) fn c_string(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&b| b == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }
}

/// An unsigned number of 1 to 8 bytes; `None` for any other length.
pub(crate) fn number(bytes: &[u8], big_endian: bool) -> Option<u64> {
    let add = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
    match (bytes.len(), big_endian) {
        (1..=8, true) => Some(bytes.iter().fold(0, add)),
        (1..=8, false) => Some(bytes.iter().rev().fold(0, add)),
        _ => None,
    }
}
