//! Numbers and texts out of a slice, none beyond its end.

/// What is left of a slice.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    left: &'a [u8],
    len: usize,
    big: bool,
}

impl<'a> Bytes<'a> {
    /// Of a slice, with the highest byte of numbers first or last.
    pub(crate) fn new(bytes: &'a [u8], big: bool) -> Self {
        Bytes { left: bytes, len: bytes.len(), big }
    }

    /// How far it was read.
    pub(crate) fn at(&self) -> u64 {
        (self.len - self.left.len()) as u64
    }

    pub(crate) fn big_endian(&mut self, big: bool) {
        self.big = big;
    }

    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n)?;
        self.left = left;
        Some(taken)
    }

    /// A number of 1 to 8 bytes.
    pub(crate) fn number(&mut self, size: usize) -> Option<u64> {
        let bytes = self.take(size)?;
        number(bytes, self.big)
    }

    /// A text with a 0 at its end.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.left.iter().position(|&b| b == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }
}

/// A number of 1 to 8 bytes.
pub(crate) fn number(bytes: &[u8], big: bool) -> Option<u64> {
    let add = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
    match (bytes.len(), big) {
        (1..=8, true) => Some(bytes.iter().fold(0, add)),
        (1..=8, false) => Some(bytes.iter().rev().fold(0, add)),
        _ => None,
    }
}
