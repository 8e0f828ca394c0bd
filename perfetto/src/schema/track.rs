//! `track_event/*.proto`: tracks, and what happens on them.

use prost::{Enumeration, Message};

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The thread that it is of.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The track that it is under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its number.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
}

/// A counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// What it counts.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// What an event of a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// None of these.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The last slice that began ends.
    SliceEnd = 2,
    /// A moment.
    Instant = 3,
    /// A counter's value.
    Counter = 4,
}

/// An event of a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Arguments.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<Annotation>,
    /// What it is.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its name, by number.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// On which track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Flows that go out from it, or through it.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// An argument.
#[derive(Clone, PartialEq, Message)]
pub struct Annotation {
    /// Its name, by number.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Its value.
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
}
