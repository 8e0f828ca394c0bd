//! The messages of `protos/perfetto/trace/` in Perfetto's sources that are read or written, with the same names and
//! numbers.

use prost::{Enumeration, Message};

/// A trace file (`trace.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// The packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet of a trace (`trace_packet.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Events of the kernel on one CPU.
    #[prost(message, optional, tag = "1")]
    pub ftrace_events: Option<FtraceEventBundle>,
    /// Names of tasks.
    #[prost(message, optional, tag = "2")]
    pub process_tree: Option<ProcessTree>,
    /// When, ns of CLOCK_BOOTTIME if no other clock is given.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The sequence of packets that it belongs to. Names are interned by sequence.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event of a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names to which later packets of the sequence refer by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// `SequenceFlags`: 1 clears interned names, 2 means that they are needed.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// The description of a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// Processes with their threads, of which the names are read or written (`process_tree.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct ProcessTree {
    /// The threads.
    #[prost(message, repeated, tag = "2")]
    pub threads: Vec<ProcessThread>,
}

/// A thread of a process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessThread {
    /// The task.
    #[prost(int32, optional, tag = "1")]
    pub tid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// Interned names (`interned_data.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Names of slices.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of arguments.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// An interned name with its number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// The number, from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// The description of a track (`track_descriptor.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// The number of the track.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The thread, if it is the track of a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// The counter, if it is the track of a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// The id of the process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// The id of the thread.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
}

/// A counter.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit of its values.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// The type of a track event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// No type.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The last slice that began ends.
    SliceEnd = 2,
    /// An instant.
    Instant = 3,
    /// The value of a counter.
    Counter = 4,
}

/// An event of a track (`track_event.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// The arguments.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<Annotation>,
    /// The type, an [`EventType`].
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The number of its name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The number of its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// The flows that begin at the event or pass through it.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// The flows that end at the event.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// An argument (`debug_annotation.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct Annotation {
    /// The number of its name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// The value.
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
}

/// Events of one CPU (`ftrace_event_bundle.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEventBundle {
    /// The CPU.
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    /// The events, one by one.
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
    /// Switches and wake-ups, column by column.
    #[prost(message, optional, tag = "4")]
    pub compact_sched: Option<CompactSched>,
}

/// An event of the kernel (`ftrace_event.proto`).
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    /// When, ns.
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    /// The task that was running.
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    /// A context switch.
    #[prost(message, optional, tag = "4")]
    pub sched_switch: Option<SchedSwitch>,
    /// `cpu_frequency`; `state` is kHz.
    #[prost(message, optional, tag = "11")]
    pub cpu_frequency: Option<CpuState>,
    /// `cpu_idle`; `state` is 4294967295 if the CPU leaves its idle state.
    #[prost(message, optional, tag = "13")]
    pub cpu_idle: Option<CpuState>,
    /// The wakee is on its run queue.
    #[prost(message, optional, tag = "17")]
    pub sched_wakeup: Option<SchedWakeup>,
    /// A wake-up begins.
    #[prost(message, optional, tag = "20")]
    pub sched_waking: Option<SchedWakeup>,
    /// A new task is on its run queue.
    #[prost(message, optional, tag = "114")]
    pub sched_wakeup_new: Option<SchedWakeup>,
    /// A task migrates.
    #[prost(message, optional, tag = "491")]
    pub sched_migrate_task: Option<SchedMigrateTask>,
}

/// `sched_switch`.
#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    /// The name of the task that ran.
    #[prost(string, optional, tag = "1")]
    pub prev_comm: Option<String>,
    /// The task that ran.
    #[prost(int32, optional, tag = "2")]
    pub prev_pid: Option<i32>,
    /// Its priority, 120 for nice 0.
    #[prost(int32, optional, tag = "3")]
    pub prev_prio: Option<i32>,
    /// 0 if it is runnable, else the `TASK_*` in which it sleeps.
    #[prost(int64, optional, tag = "4")]
    pub prev_state: Option<i64>,
    /// The name of the task that runs now.
    #[prost(string, optional, tag = "5")]
    pub next_comm: Option<String>,
    /// The task that runs now.
    #[prost(int32, optional, tag = "6")]
    pub next_pid: Option<i32>,
    /// Its priority.
    #[prost(int32, optional, tag = "7")]
    pub next_prio: Option<i32>,
}

/// `sched_waking`, `sched_wakeup`, `sched_wakeup_new`.
#[derive(Clone, PartialEq, Message)]
pub struct SchedWakeup {
    /// The name of the wakee.
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    /// The wakee.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    /// Its priority.
    #[prost(int32, optional, tag = "3")]
    pub prio: Option<i32>,
    /// The CPU that it goes to; for `sched_waking`, the CPU on which it ran last.
    #[prost(int32, optional, tag = "5")]
    pub target_cpu: Option<i32>,
}

/// `sched_migrate_task`.
#[derive(Clone, PartialEq, Message)]
pub struct SchedMigrateTask {
    /// Its name.
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    /// The task.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    /// Its priority.
    #[prost(int32, optional, tag = "3")]
    pub prio: Option<i32>,
    /// The CPU that it leaves.
    #[prost(int32, optional, tag = "4")]
    pub orig_cpu: Option<i32>,
    /// The CPU that it goes to.
    #[prost(int32, optional, tag = "5")]
    pub dest_cpu: Option<i32>,
}

/// The idle state or the frequency of a CPU.
#[derive(Clone, PartialEq, Message)]
pub struct CpuState {
    /// The state, or kHz.
    #[prost(uint32, optional, tag = "1")]
    pub state: Option<u32>,
    /// The CPU.
    #[prost(uint32, optional, tag = "2")]
    pub cpu_id: Option<u32>,
}

/// Switches and wake-ups of a bundle, column by column. Each time is the difference to the one before.
#[derive(Clone, PartialEq, Message)]
pub struct CompactSched {
    /// When, ns.
    #[prost(uint64, repeated, tag = "1")]
    pub switch_timestamp: Vec<u64>,
    /// The state of the task that ran.
    #[prost(int64, repeated, tag = "2")]
    pub switch_prev_state: Vec<i64>,
    /// The task that runs now.
    #[prost(int32, repeated, tag = "3")]
    pub switch_next_pid: Vec<i32>,
    /// Its priority.
    #[prost(int32, repeated, tag = "4")]
    pub switch_next_prio: Vec<i32>,
    /// The names of tasks.
    #[prost(string, repeated, tag = "5")]
    pub intern_table: Vec<String>,
    /// The index of its name in the table.
    #[prost(uint32, repeated, tag = "6")]
    pub switch_next_comm_index: Vec<u32>,
    /// When, ns.
    #[prost(uint64, repeated, tag = "7")]
    pub waking_timestamp: Vec<u64>,
    /// The wakee.
    #[prost(int32, repeated, tag = "8")]
    pub waking_pid: Vec<i32>,
    /// `target_cpu` of the event.
    #[prost(int32, repeated, tag = "9")]
    pub waking_target_cpu: Vec<i32>,
    /// Its priority.
    #[prost(int32, repeated, tag = "10")]
    pub waking_prio: Vec<i32>,
    /// The index of its name in the table.
    #[prost(uint32, repeated, tag = "11")]
    pub waking_comm_index: Vec<u32>,
    /// `common_flags` of the event: interrupts off, in an interrupt.
    #[prost(uint32, repeated, tag = "12")]
    pub waking_common_flags: Vec<u32>,
}
