//! The outer parts of a Perfetto trace, as far as they are read: what is in them is decoded bit by bit. The rest is
//! [`wakelab_perfetto::schema`]'s.

use prost::Message;
use wakelab_perfetto::schema::CompactSched;

/// `FtraceEventBundle.event`.
pub(crate) const EVENT: u64 = 2;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    /// An [`FtraceEventBundle`].
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) ftrace_events: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "50")]
    pub(crate) compressed_packets: Option<Vec<u8>>,
}

/// Without its events (`EVENT`), of which there are many: these are decoded one at a time.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FtraceEventBundle {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) cpu: Option<u32>,
    /// Events before it were lost.
    #[prost(bool, optional, tag = "3")]
    pub(crate) lost_events: Option<bool>,
    #[prost(message, optional, tag = "4")]
    pub(crate) compact_sched: Option<CompactSched>,
}
