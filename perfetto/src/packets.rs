//! Packets on their way to a file.

use crate::event::{Event, message};
use crate::schema::{InternedData, TracePacket};
use prost::Message;
use std::io::{self, Write};

/// So many bytes go out at a time.
const FULL: usize = 1 << 16;

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// Writes packets as they come; holds [`FULL`] bytes of them, and one packet more.
pub(crate) struct Packets<W> {
    out: W,
    held: Vec<u8>,
    packet: Vec<u8>,
    written: Written,
}

impl<W: Write> Packets<W> {
    pub(crate) fn new(out: W) -> Self {
        Packets { out, held: Vec::new(), packet: Vec::new(), written: Written::default() }
    }

    pub(crate) fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.packet.clear();
        packet.encode_raw(&mut self.packet);
        message(&self.packet, &mut self.held);
        self.pass()
    }

    /// Writes an event of a track, with what makes the number of its name known, the first time.
    pub(crate) fn event(&mut self, t_ns: u64, event: &Event<'_>, names: Option<&InternedData>) -> io::Result<()> {
        let names = names.map_or_else(Vec::new, Message::encode_to_vec);
        event.packet(t_ns, &names, &mut self.held);
        self.pass()
    }

    fn pass(&mut self) -> io::Result<()> {
        self.written.packets += 1;
        if self.held.len() < FULL { Ok(()) } else { self.empty() }
    }

    fn empty(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.written.bytes += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<(W, Written)> {
        self.empty()?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}
