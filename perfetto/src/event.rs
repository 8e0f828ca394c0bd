//! Events of tracks as bytes. They are most of a trace, so that they are written field by field: prost goes over a message once
//! for each message that it is in, to find its length.

use crate::schema::EventType;
use crate::tracks::{Argument, SEQUENCE};

/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS: u64 = 2;

/// How `Trace.packet` begins: field 1, with a length.
pub(crate) const PACKET: u64 = key(1, BYTES);
/// Bytes that a packet's key and length have at most.
const LONGEST: usize = 20;

/// A field's key: its number and how its value is written.
const fn key(number: u64, kind: u64) -> u64 {
    number << 3 | kind
}
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

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
        let names = if interned.is_empty() { 0 } else { 1 + length(interned.len() as u64) + interned.len() };
        let whole = [t_ns, SEQUENCE.into(), event as u64, NEEDS].into_iter().map(|value| 1 + length(value));
        let whole = whole.sum::<usize>() + event + names;
        to.reserve(whole + LONGEST);
        varint(to, PACKET);
        varint(to, whole as u64);
        field(to, 8, t_ns);
        field(to, 10, SEQUENCE.into());
        varint(to, key(11, BYTES));
        varint(to, event as u64);
        self.write(to);
        if !interned.is_empty() {
            varint(to, key(12, BYTES));
            varint(to, interned.len() as u64);
            to.extend_from_slice(interned);
        }
        field(to, 13, NEEDS);
    }

    fn length(&self) -> usize {
        let arguments: usize = self.arguments.iter().map(|argument| 2 + of_argument(argument)).sum();
        let varints = [Some(self.kind as u64), self.name, Some(self.track)].into_iter().flatten();
        let value = self.value.map_or(0, |value| 2 + length(value as u64));
        let flows = [self.begins, self.ends].into_iter().flatten().count() * (2 + size_of::<u64>());
        arguments + varints.map(|value| 1 + length(value)).sum::<usize>() + value + flows
    }

    fn write(&self, to: &mut Vec<u8>) {
        for argument @ (name, value) in self.arguments {
            varint(to, key(4, BYTES));
            varint(to, of_argument(argument) as u64);
            field(to, 1, name.iid());
            field(to, 4, *value as u64);
        }
        field(to, 9, self.kind as u64);
        self.name.into_iter().for_each(|name| field(to, 10, name));
        field(to, 11, self.track);
        self.value.into_iter().for_each(|value| field(to, 30, value as u64));
        for (number, flow) in [(47, self.begins), (48, self.ends)] {
            if let Some(flow) = flow {
                varint(to, key(number, FIXED64));
                to.extend_from_slice(&flow.to_le_bytes());
            }
        }
    }
}

/// The length of a `DebugAnnotation`.
fn of_argument((name, value): &(Argument, i64)) -> usize {
    2 + length(name.iid()) + length(*value as u64)
}

fn field(to: &mut Vec<u8>, number: u64, value: u64) {
    varint(to, key(number, VARINT));
    varint(to, value);
}

/// Bytes of a varint.
fn length(value: u64) -> usize {
    ((64 - (value | 1).leading_zeros()) as usize).div_ceil(7)
}

/// Seven bits a byte, the lowest first; the highest bit says that more come.
#[inline]
pub(crate) fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
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
            varint(&mut expected, PACKET);
            message.encode_length_delimited(&mut expected).expect("room");
            let mut found = Vec::new();
            event.packet(1 << 50, &interned.map_or(Vec::new(), |data| data.encode_to_vec()), &mut found);
            assert_eq!(found, expected, "{event:?}");
        }
    }
}
