//! `trace_packet.proto`, and what of it is not about one event.

use super::{FtraceEventBundle, TrackDescriptor, TrackEvent};
use prost::Message;

/// `trace.proto`: a file.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Events of the kernel, of one CPU.
    #[prost(message, optional, tag = "1")]
    pub ftrace_events: Option<FtraceEventBundle>,
    /// When, ns of CLOCK_BOOTTIME if no other clock is named.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Which sequence of packets it belongs to; names are interned by sequence.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event of a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that later packets of the sequence give by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// 1: what was interned before is gone. 2: it is needed.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// `interned_data.proto`.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Names of slices.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of arguments.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// A name and its number, from 1.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// The number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
