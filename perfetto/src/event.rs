//! Events of tracks as bytes. They are most of a trace, so that they are written field by field: prost goes over a
//! message once for each message that it is in, to find its length.

use crate::schema::EventType;
use crate::tracks::{Argument, SEQUENCE};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, fixed64, int64, uint64};

/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS: u64 = 2;

/// The number of `Trace.packet`.
const PACKET: u32 = 1;
/// Bytes that a packet's key and length have at most.
const LONGEST: usize = 20;

/// What happens on a track, as `TrackEvent` has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    pub(crate) kind: EventType,
    pub(crate) track: u64,
    /// Its name, by number.
    pub(crate) name: Option<u64>,
    pub(crate) arguments: &'a [(Argument, i64)],
    /// The flow that goes out from it.
    pub(crate) begins: Option<u64>,
    /// The flow that ends here.
    pub(crate) ends: Option<u64>,
    /// The value of a counter.
    pub(crate) value: Option<i64>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(kind: EventType, track: u64) -> Self {
        Event { kind, track, name: None, arguments: &[], begins: None, ends: None, value: None }
    }

    /// As a packet of a trace, with its length before it.
    pub(crate) fn packet(&self, t_ns: u64, interned: &[u8], to: &mut Vec<u8>) {
        let event = self.length();
        let names =
            if interned.is_empty() { 0 } else { 1 + encoded_len_varint(interned.len() as u64) + interned.len() };
        let whole = [t_ns, SEQUENCE.into(), event as u64, NEEDS].into_iter().map(|value| 1 + encoded_len_varint(value));
        let whole = whole.sum::<usize>() + event + names;
        to.reserve(whole + LONGEST);
        begin(to, PACKET, whole);
        uint64::encode(8, &t_ns, to);
        uint64::encode(10, &SEQUENCE.into(), to);
        begin(to, 11, event);
        self.write(to);
        if !interned.is_empty() {
            begin(to, 12, interned.len());
            to.extend_from_slice(interned);
        }
        uint64::encode(13, &NEEDS, to);
    }

    fn length(&self) -> usize {
        let arguments: usize = self.arguments.iter().map(|argument| 2 + of_argument(argument)).sum();
        let varints = [Some(self.kind as u64), self.name, Some(self.track)].into_iter().flatten();
        let value = self.value.map_or(0, |value| int64::encoded_len(30, &value));
        let flows = [self.begins, self.ends].into_iter().flatten().count() * (2 + size_of::<u64>());
        arguments + varints.map(|value| 1 + encoded_len_varint(value)).sum::<usize>() + value + flows
    }

    fn write(&self, to: &mut Vec<u8>) {
        for argument @ (name, value) in self.arguments {
            begin(to, 4, of_argument(argument));
            uint64::encode(1, &name.iid(), to);
            int64::encode(4, value, to);
        }
        uint64::encode(9, &(self.kind as u64), to);
        self.name.into_iter().for_each(|name| uint64::encode(10, &name, to));
        uint64::encode(11, &self.track, to);
        self.value.into_iter().for_each(|value| int64::encode(30, &value, to));
        for (number, flow) in [(47, self.begins), (48, self.ends)] {
            flow.into_iter().for_each(|flow| fixed64::encode(number, &flow, to));
        }
    }
}

/// The length of a `DebugAnnotation`.
fn of_argument((name, value): &(Argument, i64)) -> usize {
    uint64::encoded_len(1, &name.iid()) + int64::encoded_len(4, value)
}

/// The key of a message, and its length.
fn begin(to: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, to);
    encode_varint(length as u64, to);
}

/// A packet of `Trace` that is a message already.
pub(crate) fn message(packet: &[u8], to: &mut Vec<u8>) {
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
            (Event { name: Some(300), arguments: &arguments, begins: Some(u64::MAX), ..plain }, Some(names)),
            (Event { kind: EventType::Instant, track: 1 << 40, ends: Some(5), ..plain }, None),
            (Event { kind: EventType::Counter, value: Some(-3), ..plain }, None),
        ] {
            let annotation =
                |&(name, value): &(Argument, i64)| Annotation { name_iid: Some(name.iid()), int_value: Some(value) };
            let message = TracePacket {
                timestamp: Some(1 << 50),
                trusted_packet_sequence_id: Some(SEQUENCE),
                sequence_flags: Some(NEEDS as u32),
                track_event: Some(TrackEvent {
                    debug_annotations: event.arguments.iter().map(annotation).collect(),
                    r#type: Some(event.kind.into()),
                    name_iid: event.name,
                    track_uuid: Some(event.track),
                    counter_value: event.value,
                    flow_ids: event.begins.into_iter().collect(),
                    terminating_flow_ids: event.ends.into_iter().collect(),
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
