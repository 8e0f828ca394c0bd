//! Packets on their way to a file.

use crate::schema::TracePacket;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use std::io::{self, Write};

/// The number of `Trace.packet`.
const PACKET: u32 = 1;

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// Writes packets as they come; holds one at a time.
pub(crate) struct Packets<W> {
    out: W,
    buffer: Vec<u8>,
    written: Written,
}

impl<W: Write> Packets<W> {
    pub(crate) fn new(out: W) -> Self {
        Packets { out, buffer: Vec::new(), written: Written::default() }
    }

    pub(crate) fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.buffer.clear();
        encode_key(PACKET, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(packet.encoded_len() as u64, &mut self.buffer);
        packet.encode_raw(&mut self.buffer);
        self.out.write_all(&self.buffer)?;
        self.written.bytes += self.buffer.len() as u64;
        self.written.packets += 1;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<(W, Written)> {
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}
