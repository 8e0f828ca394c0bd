//! From the ring buffer to the writer, a bounded piece of work at a time.

use crate::writer::Message;
use anyhow::{Result, bail};
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, TrySendError};

/// A piece of so many bytes is handed over.
const PIECE: usize = 1 << 20;
/// Records that are taken before the piece is looked at.
const RECORDS: usize = 64;
/// And how often, before the caller is back.
const TURNS: usize = 256;

/// Takes records out of the ring buffer.
pub struct Drain<'a> {
    ring: RingBuffer<'a>,
    piece: Rc<RefCell<Vec<u64>>>,
    to: SyncSender<Message>,
}

impl<'a> Drain<'a> {
    /// Of this ring buffer, to this writer.
    pub fn new(ring: &'a dyn MapCore, to: SyncSender<Message>) -> Result<Self> {
        let piece = Rc::new(RefCell::new(Vec::new()));
        let gather = Rc::clone(&piece);
        let mut builder = RingBufferBuilder::new();
        builder.add(ring, move |bytes| {
            append(&mut gather.borrow_mut(), bytes);
            0
        })?;
        Ok(Drain { ring: builder.build()?, piece, to })
    }

    /// Takes what is there, up to a limit, and only while the writer has room. False if there was nothing to do.
    pub fn some(&self) -> Result<bool> {
        for turn in 0..TURNS {
            if size_of_val(self.piece.borrow().as_slice()) >= PIECE && !self.hand_over()? {
                return Ok(turn > 0);
            }
            let taken = self.ring.consume_raw_n(RECORDS);
            if taken < 0 {
                bail!("the ring buffer cannot be read: {}", std::io::Error::from_raw_os_error(-taken));
            }
            if taken == 0 {
                // What little there is waits no longer than this.
                return Ok(!self.piece.borrow().is_empty() && self.hand_over()? && turn > 0);
            }
        }
        Ok(true)
    }

    /// Takes all that is left, however long the writer needs.
    pub fn all(&self) -> Result<()> {
        loop {
            let taken = self.ring.consume_raw_n(RECORDS);
            if taken <= 0 || size_of_val(self.piece.borrow().as_slice()) >= PIECE {
                self.to.send(Message::Records(self.piece.take())).or_else(|_| ended())?;
            }
            if taken <= 0 {
                return Ok(());
            }
        }
    }

    fn hand_over(&self) -> Result<bool> {
        match self.to.try_send(Message::Records(self.piece.take())) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(Message::Records(piece))) => {
                self.piece.replace(piece);
                Ok(false)
            }
            Err(_) => ended().map(|()| false),
        }
    }
}

/// The writer is gone: it has an error of its own, which its end tells.
pub fn ended() -> Result<()> {
    Err(WriterEnded.into())
}

/// That error.
#[derive(Debug)]
pub struct WriterEnded;

impl std::fmt::Display for WriterEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the writer has ended")
    }
}

impl std::error::Error for WriterEnded {}

/// Adds a record after its length; records begin at multiples of eight bytes, as in the ring buffer.
fn append(piece: &mut Vec<u64>, bytes: &[u8]) {
    piece.push(bytes.len() as u64);
    let at = piece.len();
    piece.resize(at + bytes.len().div_ceil(8), 0);
    bytemuck::cast_slice_mut(&mut piece[at..])[..bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::append;

    #[test]
    fn records_of_odd_lengths_are_found_again() {
        let mut piece = Vec::new();
        append(&mut piece, &[1, 2, 3]);
        append(&mut piece, &[9; 16]);
        assert_eq!((piece[0], piece[2], piece.len()), (3, 16, 5));
        assert_eq!(bytemuck::cast_slice::<u64, u8>(&piece[1..2])[..3], [1, 2, 3]);
    }
}
