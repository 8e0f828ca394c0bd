//! Tracks and names, which have numbers so that events can refer to them.

use crate::schema::{CounterDescriptor, InternedData, InternedName, ThreadDescriptor, TracePacket, TrackDescriptor};
use rustc_hash::FxHashMap;

/// An argument of a search's slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// The wakee.
    Wakee,
    /// Where the wakee ran last.
    PrevCpu,
    /// The CPU that was chosen.
    ChosenCpu,
    /// `sis_domain_search`.
    DomainSearch,
    /// `sis_scanned`.
    Scanned,
    /// `sis_failed`.
    Failed,
}

impl Argument {
    const ALL: [(Argument, &str); 6] = [
        (Argument::Wakee, "wakee"),
        (Argument::PrevCpu, "prev_cpu"),
        (Argument::ChosenCpu, "chosen_cpu"),
        (Argument::DomainSearch, "sis_domain_search"),
        (Argument::Scanned, "sis_scanned"),
        (Argument::Failed, "sis_failed"),
    ];

    pub(crate) fn iid(self) -> u64 {
        self as u64 + 1
    }
}

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// The summed utilization of an LLC, percent of its CPUs. The LLC is given by its lowest CPU.
    LlcUtil(u32),
    /// `nr_idle_scan` of an LLC, which is given by its lowest CPU.
    NrIdleScan(u32),
    /// `has_idle_cores` of an LLC, which is given by its lowest CPU.
    HasIdleCores(u32),
    /// The mean power of a package with its cores and clusters until the next value, mW. The package is given by its
    /// number.
    Power(u32),
    /// The tasks on a dispatch queue that a scheduler of sched_ext made, which is given by its ID.
    Dsq(u64),
    /// The tasks on the global dispatch queue of a node.
    GlobalDsq(u32),
}

impl Counter {
    fn name(self) -> (String, &'static str) {
        match self {
            Counter::LlcUtil(llc) => (format!("LLC of cpu {llc}: utilisation"), "%"),
            Counter::NrIdleScan(llc) => (format!("LLC of cpu {llc}: nr_idle_scan"), "CPUs"),
            Counter::HasIdleCores(llc) => (format!("LLC of cpu {llc}: has_idle_cores"), ""),
            Counter::Power(package) => (format!("power of package {package}"), "mW"),
            Counter::Dsq(id) => (format!("DSQ {id:#x}"), "tasks"),
            Counter::GlobalDsq(node) => (format!("global DSQ of node {node}"), "tasks"),
        }
    }
}

/// A track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Track {
    /// The track of a thread.
    Thread(i32),
    /// The track of a CPU's idle task, because idle tasks have the same pid on all CPUs.
    IdleOf(u32),
    /// The track of a counter.
    Counter(Counter),
}

/// The numbers of tracks and names.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    known: FxHashMap<Track, u64>,
    names: FxHashMap<&'static str, u64>,
}

/// The packet sequence of tracks and their events.
pub(crate) const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const CLEARED: u32 = 1;

impl Tracks {
    /// The first packet of the sequence: the names of arguments.
    pub(crate) fn first(&self) -> TracePacket {
        let names = Argument::ALL.map(|(argument, name)| interned(argument.iid(), name));
        TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(CLEARED),
            interned_data: Some(InternedData { debug_annotation_names: names.into(), ..InternedData::default() }),
            ..TracePacket::default()
        }
    }

    /// The number of a track, and the packet that describes it if it is new.
    pub(crate) fn number(&mut self, track: Track) -> (u64, Option<TracePacket>) {
        if let Some(&number) = self.known.get(&track) {
            return (number, None);
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(track, number);
        let mut descriptor = TrackDescriptor { uuid: Some(number), ..TrackDescriptor::default() };
        match track {
            Track::Thread(tid) => descriptor.thread = Some(ThreadDescriptor { pid: Some(tid), tid: Some(tid) }),
            Track::IdleOf(cpu) => descriptor.name = Some(format!("cpu {cpu}: wake-ups of interrupts while idle")),
            Track::Counter(counter) => {
                let (name, unit) = counter.name();
                descriptor.name = Some(name);
                descriptor.counter = Some(CounterDescriptor { unit_name: Some(unit.to_owned()) });
            }
        }
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        };
        (number, Some(packet))
    }

    /// The number of a name, and the data that define it if it is new.
    pub(crate) fn name(&mut self, name: &'static str) -> (u64, Option<InternedData>) {
        if let Some(&number) = self.names.get(name) {
            return (number, None);
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert(name, number);
        let data = InternedData { event_names: vec![interned(number, name)], ..InternedData::default() };
        (number, Some(data))
    }
}

fn interned(iid: u64, name: &str) -> InternedName {
    InternedName { iid: Some(iid), name: Some(name.to_owned()) }
}
