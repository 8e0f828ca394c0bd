//! Packets of a trace, as bytes on their way to a file.

use crate::schema::{EventType, InternedData, TracePacket};
use crate::tracks::{Argument, SEQUENCE};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, fixed64, int64, uint64};
use std::io::{self, Write};

/// The bytes that are written at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The bytes written.
    pub bytes: u64,
    /// The packets written.
    pub packets: u64,
}

/// Writes packets. It buffers [`BUFFER_BYTES`] bytes and one packet.
pub(crate) struct Packets<W> {
    out: W,
    buffer: Vec<u8>,
    packet: Vec<u8>,
    written: Written,
}

impl<W: Write> Packets<W> {
    pub(crate) fn new(out: W) -> Self {
        Packets { out, buffer: Vec::new(), packet: Vec::new(), written: Written::default() }
    }

    pub(crate) fn write(&mut self, packet: &TracePacket) -> io::Result<()> {
        self.packet.clear();
        packet.encode_raw(&mut self.packet);
        append_packet(&self.packet, &mut self.buffer);
        self.packet_added()
    }

    /// Writes an event of a track. `names` has its name if it is used for the first time.
    pub(crate) fn event(&mut self, t_ns: u64, event: &Event<'_>, names: Option<&InternedData>) -> io::Result<()> {
        let names = names.map_or_else(Vec::new, Message::encode_to_vec);
        event.packet(t_ns, &names, &mut self.buffer);
        self.packet_added()
    }

    fn packet_added(&mut self) -> io::Result<()> {
        self.written.packets += 1;
        if self.buffer.len() < BUFFER_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<(W, Written)> {
        self.flush()?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }
}

/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_INCREMENTAL_STATE: u64 = 2;

/// The field number of `Trace.packet`.
const PACKET: u32 = 1;
/// The most bytes of a packet's key and length.
const MAX_HEADER: usize = 20;

/// An event of a track (`TrackEvent`). Most packets of a trace are such events, so they are encoded field by field:
/// prost would compute the length of a message again for each message that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) kind: EventType,
    pub(crate) track: u64,
    /// The number of its name.
    pub(crate) name: Option<u64>,
    pub(crate) arguments: &'a [(Argument, i64)],
    /// The flow that begins at the event.
    pub(crate) flow_out: Option<u64>,
    /// The flow that ends at the event.
    pub(crate) flow_in: Option<u64>,
    /// The value of a counter.
    pub(crate) value: Option<i64>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(kind: EventType, track: u64) -> Self {
        Event { kind, track, name: None, arguments: &[], flow_out: None, flow_in: None, value: None }
    }

    /// Appends the event as a packet, with its key and length.
    pub(crate) fn packet(&self, t_ns: u64, interned: &[u8], to: &mut Vec<u8>) {
        let event = self.length();
        let names =
            if interned.is_empty() { 0 } else { 1 + encoded_len_varint(interned.len() as u64) + interned.len() };
        let fields = [t_ns, SEQUENCE.into(), event as u64, NEEDS_INCREMENTAL_STATE]
            .into_iter()
            .map(|value| 1 + encoded_len_varint(value));
        let length = fields.sum::<usize>() + event + names;
        to.reserve(length + MAX_HEADER);
        begin(to, PACKET, length);
        uint64::encode(8, &t_ns, to);
        uint64::encode(10, &SEQUENCE.into(), to);
        begin(to, 11, event);
        self.write(to);
        if !interned.is_empty() {
            begin(to, 12, interned.len());
            to.extend_from_slice(interned);
        }
        uint64::encode(13, &NEEDS_INCREMENTAL_STATE, to);
    }

    fn length(&self) -> usize {
        let arguments: usize = self.arguments.iter().map(|argument| 2 + argument_length(argument)).sum();
        let varints = [Some(self.kind as u64), self.name, Some(self.track)].into_iter().flatten();
        let value = self.value.map_or(0, |value| int64::encoded_len(30, &value));
        let flows = [self.flow_out, self.flow_in].into_iter().flatten().count() * (2 + size_of::<u64>());
        arguments + varints.map(|value| 1 + encoded_len_varint(value)).sum::<usize>() + value + flows
    }

    fn write(&self, to: &mut Vec<u8>) {
        for argument @ (name, value) in self.arguments {
            begin(to, 4, argument_length(argument));
            uint64::encode(1, &name.iid(), to);
            int64::encode(4, value, to);
        }
        uint64::encode(9, &(self.kind as u64), to);
        self.name.into_iter().for_each(|name| uint64::encode(10, &name, to));
        uint64::encode(11, &self.track, to);
        self.value.into_iter().for_each(|value| int64::encode(30, &value, to));
        for (number, flow) in [(47, self.flow_out), (48, self.flow_in)] {
            flow.into_iter().for_each(|flow| fixed64::encode(number, &flow, to));
        }
    }
}

/// The length of an argument (`DebugAnnotation`).
fn argument_length((name, value): &(Argument, i64)) -> usize {
    uint64::encoded_len(1, &name.iid()) + int64::encoded_len(4, value)
}

/// Appends the key of a message and its length.
fn begin(to: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, to);
    encode_varint(length as u64, to);
}

/// Appends an encoded packet to a `Trace`.
fn append_packet(packet: &[u8], to: &mut Vec<u8>) {
    begin(to, PACKET, packet.len());
    to.extend_from_slice(packet);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Annotation, InternedData, InternedName, TracePacket, TrackEvent};
    use prost::Message;

    #[test]
    fn the_bytes_are_those_of_the_message() {
        let values = [0, 1, 127, 128, 300, i64::MAX, -1, i64::MIN];
        let arguments: Vec<_> = values.into_iter().map(|value| (Argument::Scanned, value)).collect();
        let names = InternedData {
            event_names: vec![InternedName { iid: Some(300), name: Some("scan".into()) }],
            ..InternedData::default()
        };
        let plain = Event::new(EventType::SliceEnd, 7);
        for (event, interned) in [
            (plain, None),
            (Event { name: Some(300), arguments: &arguments, flow_out: Some(u64::MAX), ..plain }, Some(names)),
            (Event { kind: EventType::Instant, track: 1 << 40, flow_in: Some(5), ..plain }, None),
            (Event { kind: EventType::Counter, value: Some(-3), ..plain }, None),
        ] {
            let annotation =
                |&(name, value): &(Argument, i64)| Annotation { name_iid: Some(name.iid()), int_value: Some(value) };
            let message = TracePacket {
                timestamp: Some(1 << 50),
                trusted_packet_sequence_id: Some(SEQUENCE),
                sequence_flags: Some(NEEDS_INCREMENTAL_STATE as u32),
                track_event: Some(TrackEvent {
                    debug_annotations: event.arguments.iter().map(annotation).collect(),
                    r#type: Some(event.kind.into()),
                    name_iid: event.name,
                    track_uuid: Some(event.track),
                    counter_value: event.value,
                    flow_ids: event.flow_out.into_iter().collect(),
                    terminating_flow_ids: event.flow_in.into_iter().collect(),
                }),
                interned_data: interned.clone(),
                ..TracePacket::default()
            };
            let mut expected = Vec::new();
            encode_key(PACKET, WireType::LengthDelimited, &mut expected);
            message.encode_length_delimited(&mut expected).expect("room");
            let mut found = Vec::new();
            event.packet(1 << 50, &interned.map_or(Vec::new(), |data| data.encode_to_vec()), &mut found);
            assert_eq!(found, expected, "{event:?}");
        }
    }
}
