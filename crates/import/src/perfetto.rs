//! Reads Perfetto traces with ftrace events, packet by packet.
//!
//! The outer messages are decoded here, in pieces; [`wakelab_perfetto::schema`] has the others.

use crate::ImportError;
use crate::event::{Event, EventKind, Losses, comm};
use crate::event_format::TASK_SLEEPS;
use crate::trace_info::TraceInfo;
use flate2::read::ZlibDecoder;
use prost::Message;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use wakelab_events::limits::MAX_CPUS;
use wakelab_perfetto::schema::{CompactSched, FtraceEvent, ProcessTree};

/// The tag of `Trace.packet`.
const PACKET: u8 = 0x0a;
/// The largest packet that is read, bytes, and the largest content of a compressed one.
const MAX_PACKET: u64 = 32 << 20;

/// Called with a packet and its offset in the file, bytes.
type EachPacket<'a> = dyn FnMut(&[u8], u64) -> Result<(), ImportError> + 'a;

/// Calls `each` with every event, bundle by bundle. A bundle holds events of one CPU, in order; bundles of CPUs follow
/// each other.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read,
    info: &RefCell<TraceInfo>,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let mut reader = PacketReader { path, info, running: HashMap::new(), losses: Losses::default(), each };
    let mut at = 0;
    packets(path, &mut file, &mut at, &mut |packet, at| reader.packet(packet, at))?;
    Ok(reader.losses)
}

/// Calls `each` with every packet of a trace.
fn packets(path: &Path, file: &mut impl Read, at: &mut u64, each: &mut EachPacket<'_>) -> Result<(), ImportError> {
    let mut packet = Vec::new();
    loop {
        let from = *at;
        let damaged = |what: &str| ImportError::damaged(path, from, what);
        let io = |e: io::Error| ImportError::new(path, e.to_string());
        let Some(tag) = byte(file).map_err(io)? else { return Ok(()) };
        if tag != PACKET {
            return Err(damaged("expected a packet of a Perfetto trace, found something else"));
        }
        let mut length = 0;
        for shift in (0..).step_by(7) {
            let byte = byte(file)
                .map_err(io)?
                .filter(|_| shift < 35)
                .ok_or_else(|| damaged("expected the length of a packet"))?;
            length |= u64::from(byte & 0x7f) << shift;
            *at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        if length > MAX_PACKET {
            return Err(damaged("expected a packet of at most 32 MiB, found a longer one"));
        }
        packet.clear();
        file.take(length).read_to_end(&mut packet).map_err(io)?;
        if (packet.len() as u64) < length {
            return Err(damaged("expected more of a packet, found the end of the file"));
        }
        each(&packet, *at)?;
        *at += 1 + length;
    }
}

fn byte(file: &mut impl Read) -> io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match file.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

struct PacketReader<'a> {
    path: &'a Path,
    /// The known facts about the machine.
    info: &'a RefCell<TraceInfo>,
    /// By CPU: the task that runs there, which a compact switch leaves out.
    running: HashMap<u32, (i32, String)>,
    losses: Losses,
    each: &'a mut dyn FnMut(Event) -> Result<(), ImportError>,
}

impl PacketReader<'_> {
    fn packet(&mut self, packet: &[u8], at: u64) -> Result<(), ImportError> {
        let decoded = TracePacket::decode(packet).map_err(|e| ImportError::damaged(self.path, at, e))?;
        if let Some(compressed) = &decoded.compressed_packets {
            let mut inner = Vec::new();
            let read = ZlibDecoder::new(&compressed[..]).take(MAX_PACKET + 1).read_to_end(&mut inner);
            read.map_err(|e| ImportError::damaged(self.path, at, format!("a compressed packet: {e}")))?;
            if inner.len() as u64 > MAX_PACKET {
                return Err(ImportError::damaged(self.path, at, "a compressed packet is longer than 32 MiB"));
            }
            let path = self.path;
            // Compressed packets contain plain ones only.
            packets(path, &mut &inner[..], &mut 0, &mut |packet, _| {
                let decoded = TracePacket::decode(packet).map_err(|e| ImportError::damaged(path, at, e))?;
                self.machine(&decoded);
                decoded.ftrace_events.map_or(Ok(()), |bundle| self.bundle(&bundle, at))
            })?;
        }
        self.machine(&decoded);
        decoded.ftrace_events.map_or(Ok(()), |bundle| self.bundle(&bundle, at))
    }

    /// Takes what a packet says of the machine.
    fn machine(&mut self, packet: &TracePacket) {
        let mut info = self.info.borrow_mut();
        let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty() && text.len() <= 256);
        if let Some(system) = &packet.system_info {
            if let Some(name) = &system.utsname {
                info.release = text(&name.release).or(info.release.take());
                info.arch = text(&name.machine).or(info.arch.take());
            }
            // `google/bluejay/bluejay:13/…`: the maker and the name of the device.
            let fingerprint = text(&system.android_build_fingerprint);
            let device =
                fingerprint.and_then(|text| Some(text.split_once(':')?.0.rsplit_once('/')?.0.replace('/', " ")));
            info.model = device.or(info.model.take());
        }
        for thread in packet.process_tree.iter().flat_map(|tree| &tree.threads) {
            if let (Some(pid), Some(name)) = (thread.tid, &thread.name) {
                info.name(pid, name);
            }
        }
        if let Some(stats) = &packet.ftrace_stats {
            let cpus = stats.cpu_stats.len() as u32;
            info.cpus = Some(cpus).filter(|&cpus| (1..=MAX_CPUS).contains(&cpus)).or(info.cpus);
        }
    }

    fn bundle(&mut self, bytes: &[u8], at: u64) -> Result<(), ImportError> {
        let damaged = |e: prost::DecodeError| ImportError::damaged(self.path, at, e);
        if names_of(bytes) > MAX_NAMES {
            let what = format!("a bundle of events has more than {MAX_NAMES} names");
            return Err(ImportError::damaged(self.path, at, what));
        }
        let bundle = FtraceEventBundle::decode(bytes).map_err(damaged)?;
        let Some(cpu) = bundle.cpu else { return Ok(()) };
        if bundle.lost_events == Some(true) {
            self.losses.lost += 1;
            // Which task runs there by now is unknown.
            self.running.remove(&cpu);
        }
        // The first switch of a CPU is often whole, and what follows has the next task only.
        let mut whole = Vec::new();
        let valid = length_delimited_fields(bytes, |number, field| {
            if number != FTRACE_EVENT {
                return Ok(());
            }
            let event = FtraceEvent::decode(field).map_err(damaged)?;
            let pid = event.pid.and_then(|pid| i32::try_from(pid).ok());
            if let (Some(t_ns), Some(switch)) = (event.timestamp, &event.sched_switch) {
                let comm = switch.next_comm.as_deref().map(comm).unwrap_or_default();
                whole.push((t_ns, switch.next_pid.unwrap_or(0), comm));
            }
            match (event.timestamp, event_kind(&event)) {
                (Some(t_ns), Some(kind)) => (self.each)(Event { t_ns, cpu, pid, comm: String::new(), kind }),
                _ => Ok(()),
            }
        })?;
        if !valid {
            return Err(ImportError::damaged(self.path, at, "a bundle of events contradicts itself"));
        }
        let mut whole = whole.into_iter().peekable();
        if let Some(compact) = &bundle.compact_sched {
            self.compact(cpu, compact, &mut whole)?;
        }
        self.running.extend(whole.last().map(|(_, pid, comm)| (cpu, (pid, comm))));
        Ok(())
    }

    /// The compact events of a bundle. `whole` has its switches that are not: when, and to which task.
    fn compact(
        &mut self,
        cpu: u32,
        compact: &CompactSched,
        whole: &mut std::iter::Peekable<impl Iterator<Item = (u64, i32, String)>>,
    ) -> Result<(), ImportError> {
        let name = |index: Option<&u32>| {
            index.and_then(|&index| compact.intern_table.get(index as usize)).map(|name| comm(name)).unwrap_or_default()
        };
        let mut t_ns = 0_u64;
        for (at, delta) in compact.switch_timestamp.iter().enumerate() {
            t_ns = t_ns.wrapping_add(*delta);
            let (Some(&next_pid), Some(&state)) = (compact.switch_next_pid.get(at), compact.switch_prev_state.get(at))
            else {
                break;
            };
            while let Some((_, pid, comm)) = whole.next_if(|(whole_ns, ..)| *whole_ns <= t_ns) {
                self.running.insert(cpu, (pid, comm));
            }
            let next_comm = name(compact.switch_next_comm_index.get(at));
            let before = self.running.insert(cpu, (next_pid, next_comm.clone()));
            // Which task ran before the first switch is unknown.
            let Some((prev_pid, prev_comm)) = before else { continue };
            let kind = EventKind::Switch {
                prev_pid,
                prev_comm,
                prev_sleeps: state as u64 & TASK_SLEEPS != 0,
                next_pid,
                next_comm,
            };
            (self.each)(Event { t_ns, cpu, pid: Some(prev_pid), comm: String::new(), kind })?;
        }
        t_ns = 0;
        for (at, delta) in compact.waking_timestamp.iter().enumerate() {
            t_ns = t_ns.wrapping_add(*delta);
            let target = compact.waking_target_cpu.get(at).and_then(|&cpu| u32::try_from(cpu).ok());
            let (Some(&pid), Some(prev_cpu)) = (compact.waking_pid.get(at), target) else { break };
            let kind =
                EventKind::Waking { pid, comm: name(compact.waking_comm_index.get(at)), prev_cpu: Some(prev_cpu) };
            (self.each)(Event { t_ns, cpu, pid: None, comm: String::new(), kind })?;
        }
        Ok(())
    }
}

fn event_kind(event: &FtraceEvent) -> Option<EventKind> {
    let cpu = |cpu: Option<i32>| u32::try_from(cpu.unwrap_or(0)).ok();
    let name = |name: &Option<String>| name.as_deref().map(comm).unwrap_or_default();
    let pid = |pid: Option<i32>| Some(pid.unwrap_or(0)).filter(|&pid| pid >= 0);
    if let Some(switch) = &event.sched_switch {
        return Some(EventKind::Switch {
            prev_pid: pid(switch.prev_pid)?,
            prev_comm: name(&switch.prev_comm),
            prev_sleeps: switch.prev_state.unwrap_or(0) as u64 & TASK_SLEEPS != 0,
            next_pid: pid(switch.next_pid)?,
            next_comm: name(&switch.next_comm),
        });
    }
    if let Some(waking) = &event.sched_waking {
        let comm = name(&waking.comm);
        return Some(EventKind::Waking { pid: pid(waking.pid)?, comm, prev_cpu: Some(cpu(waking.target_cpu)?) });
    }
    if let Some(woken) = event.sched_wakeup.as_ref().or(event.sched_wakeup_new.as_ref()) {
        let (comm, new) = (name(&woken.comm), event.sched_wakeup.is_none());
        return Some(EventKind::Woken { pid: pid(woken.pid)?, comm, dest_cpu: Some(cpu(woken.target_cpu)?), new });
    }
    if let Some(moved) = &event.sched_migrate_task {
        let (from_cpu, to_cpu) = (cpu(moved.orig_cpu)?, cpu(moved.dest_cpu)?);
        return Some(EventKind::Migrate { pid: pid(moved.pid)?, comm: name(&moved.comm), from_cpu, to_cpu });
    }
    if let Some(idle) = &event.cpu_idle {
        let state = idle.state.unwrap_or(0);
        return Some(EventKind::Idle {
            cpu: idle.cpu_id.unwrap_or(0),
            state: (state != u32::MAX).then_some(state as i32),
        });
    }
    let frequency = event.cpu_frequency.as_ref()?;
    Some(EventKind::Frequency { cpu: frequency.cpu_id.unwrap_or(0), khz: frequency.state.unwrap_or(0).into() })
}

/// The field number of `FtraceEventBundle.event`.
const FTRACE_EVENT: u64 = 2;
/// The field number of `FtraceEventBundle.compact_sched`, and in it that of `intern_table`.
const COMPACT_SCHED: u64 = 4;
const INTERN_TABLE: u64 = 5;
/// The most names of a bundle. An empty one has two bytes in the file, and many more in memory.
const MAX_NAMES: usize = 1 << 18;

/// How many names a bundle has for its compact events, as far as it is a message.
fn names_of(bundle: &[u8]) -> usize {
    let mut names = 0;
    let mut count = |number, _: &[u8]| {
        names += usize::from(number == INTERN_TABLE);
        Ok::<_, ()>(())
    };
    let _ = length_delimited_fields(bundle, |number, field| match number {
        COMPACT_SCHED => length_delimited_fields(field, &mut count).map(drop),
        _ => Ok(()),
    });
    names
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    /// A serialized [`FtraceEventBundle`].
    #[prost(bytes = "vec", optional, tag = "1")]
    ftrace_events: Option<Vec<u8>>,
    #[prost(message, optional, tag = "2")]
    process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "34")]
    ftrace_stats: Option<FtraceStats>,
    #[prost(message, optional, tag = "45")]
    system_info: Option<SystemInfo>,
    #[prost(bytes = "vec", optional, tag = "50")]
    compressed_packets: Option<Vec<u8>>,
}

/// The counters of the kernel's buffers.
#[derive(Clone, PartialEq, Message)]
struct FtraceStats {
    /// One of each CPU, of which nothing is read.
    #[prost(message, repeated, tag = "2")]
    cpu_stats: Vec<FtraceCpuStats>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FtraceCpuStats {}

#[derive(Clone, PartialEq, Message)]
struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    utsname: Option<Utsname>,
    #[prost(string, optional, tag = "2")]
    android_build_fingerprint: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Utsname {
    #[prost(string, optional, tag = "3")]
    release: Option<String>,
    #[prost(string, optional, tag = "4")]
    machine: Option<String>,
}

/// A bundle without its events ([`FTRACE_EVENT`]). There are many, so they are decoded one at a time.
#[derive(Clone, PartialEq, Message)]
struct FtraceEventBundle {
    #[prost(uint32, optional, tag = "1")]
    cpu: Option<u32>,
    /// Whether events before this bundle were lost.
    #[prost(bool, optional, tag = "3")]
    lost_events: Option<bool>,
    #[prost(message, optional, tag = "4")]
    compact_sched: Option<CompactSched>,
}

/// Calls `each` with the number and the bytes of every length-delimited field of a protocol buffer, so that a large
/// message need not be decoded as a whole. Returns false if the bytes are no message.
fn length_delimited_fields<'a, E>(
    mut bytes: &'a [u8],
    mut each: impl FnMut(u64, &'a [u8]) -> Result<(), E>,
) -> Result<bool, E> {
    while !bytes.is_empty() {
        let Some(key) = varint(&mut bytes) else { return Ok(false) };
        let length = match key & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            2 => varint(&mut bytes).and_then(|length| usize::try_from(length).ok()),
            5 => Some(4),
            // Perfetto does not use groups.
            _ => None,
        };
        let Some((field, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else { return Ok(false) };
        bytes = rest;
        if key & 7 == 2 {
            each(key >> 3, field)?;
        }
    }
    Ok(true)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> (bool, Vec<(u64, &[u8])>) {
        let mut found = Vec::new();
        let valid = length_delimited_fields(bytes, |number, field| -> Result<(), ()> {
            found.push((number, field));
            Ok(())
        });
        (valid.expect("the closure does not fail"), found)
    }

    #[test]
    fn fields_with_a_length_are_found_between_others() {
        let bytes = [
            0x08, 0x96, 0x01, 0x12, 2, b'a', b'b', 0x0d, 1, 2, 3, 4, 0x9a, 0x06, 1, b'c', 0x11, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(all(&bytes), (true, vec![(2, &b"ab"[..]), (99, &b"c"[..])]));
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        for bytes in [&[0x12, 3, b'a'][..], &[0x80], &[0x0b], &[0x0d, 1], &[0xff; 11]] {
            assert!(!all(bytes).0, "{bytes:?}");
        }
    }
}
