//! Perfetto traces with ftrace events, packet by packet.

use crate::error::ImportError;
use crate::event::{Event, Losses, What};
use crate::perfetto_schema::{EVENT, FtraceEventBundle, TracePacket};
use crate::protobuf::fields;
use flate2::read::ZlibDecoder;
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use wakelab_perfetto::schema::{CompactSched, FtraceEvent};

/// The tag of `Trace.packet`.
const PACKET: u8 = 0x0a;
/// A longer packet is none; so are more bytes out of one that is compressed.
const LONGEST: u64 = 32 << 20;

/// Told of a packet, and of the byte where it begins.
type EachPacket<'a> = dyn FnMut(&[u8], u64) -> Result<(), ImportError> + 'a;

/// Tells of each event, bundle by bundle: those of a CPU in order, CPUs one after the other.
pub(crate) fn read(
    path: &Path,
    mut file: impl Read,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let mut reading = Reading { path, running: HashMap::new(), losses: Losses::default(), each };
    let mut at = 0;
    packets(path, &mut file, &mut at, &mut |packet, at| reading.packet(packet, at))?;
    Ok(reading.losses)
}

/// Packets, one at a time.
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
        if length > LONGEST {
            return Err(damaged("expected a packet of at most 32 MiB, found a longer one"));
        }
        packet.clear();
        file.take(length).read_to_end(&mut packet).map_err(io)?;
        if (packet.len() as u64) < length {
            return Err(damaged("expected more of a packet, found the end"));
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

struct Reading<'a> {
    path: &'a Path,
    /// By CPU: who runs there, which a compact switch leaves out.
    running: HashMap<u32, (i32, String)>,
    losses: Losses,
    each: &'a mut dyn FnMut(Event) -> Result<(), ImportError>,
}

impl Reading<'_> {
    fn packet(&mut self, packet: &[u8], at: u64) -> Result<(), ImportError> {
        let decoded = TracePacket::decode(packet).map_err(|e| ImportError::damaged(self.path, at, e))?;
        if let Some(compressed) = &decoded.compressed_packets {
            let mut inner = Vec::new();
            let read = ZlibDecoder::new(&compressed[..]).take(LONGEST + 1).read_to_end(&mut inner);
            read.map_err(|e| ImportError::damaged(self.path, at, format!("a compressed packet: {e}")))?;
            if inner.len() as u64 > LONGEST {
                return Err(ImportError::damaged(self.path, at, "a compressed packet is longer than 32 MiB"));
            }
            let path = self.path;
            // Compressed packets hold plain ones only.
            packets(path, &mut &inner[..], &mut 0, &mut |packet, _| {
                let decoded = TracePacket::decode(packet).map_err(|e| ImportError::damaged(path, at, e))?;
                decoded.ftrace_events.map_or(Ok(()), |bundle| self.bundle(&bundle, at))
            })?;
        }
        decoded.ftrace_events.map_or(Ok(()), |bundle| self.bundle(&bundle, at))
    }

    fn bundle(&mut self, bytes: &[u8], at: u64) -> Result<(), ImportError> {
        let damaged = |e: prost::DecodeError| ImportError::damaged(self.path, at, e);
        let bundle = FtraceEventBundle::decode(bytes).map_err(damaged)?;
        let Some(cpu) = bundle.cpu else { return Ok(()) };
        if bundle.lost_events == Some(true) {
            self.losses.lost += 1;
            // Who runs there by now is not known.
            self.running.remove(&cpu);
        }
        let whole = fields(bytes, |number, field| {
            if number != EVENT {
                return Ok(());
            }
            let event = FtraceEvent::decode(field).map_err(damaged)?;
            let pid = event.pid.and_then(|pid| i32::try_from(pid).ok());
            match (event.timestamp, what(&event)) {
                (Some(t_ns), Some(what)) => (self.each)(Event { t_ns, cpu, pid, what }),
                _ => Ok(()),
            }
        })?;
        if !whole {
            return Err(ImportError::damaged(self.path, at, "a bundle of events contradicts itself"));
        }
        bundle.compact_sched.as_ref().map_or(Ok(()), |compact| self.compact(cpu, compact))
    }

    fn compact(&mut self, cpu: u32, compact: &CompactSched) -> Result<(), ImportError> {
        let name = |index: Option<&u32>| {
            index.and_then(|&index| compact.intern_table.get(index as usize)).cloned().unwrap_or_default()
        };
        let mut t_ns = 0_u64;
        for (at, delta) in compact.switch_timestamp.iter().enumerate() {
            t_ns = t_ns.wrapping_add(*delta);
            let (Some(&next_pid), Some(&state)) = (compact.switch_next_pid.get(at), compact.switch_prev_state.get(at))
            else {
                break;
            };
            let next_comm = name(compact.switch_next_comm_index.get(at));
            let before = self.running.insert(cpu, (next_pid, next_comm.clone()));
            // Who ran before the first switch is not known.
            let Some((prev_pid, prev_comm)) = before else { continue };
            let what = What::Switch { prev_pid, prev_comm, prev_sleeps: state & 0xff != 0, next_pid, next_comm };
            (self.each)(Event { t_ns, cpu, pid: Some(prev_pid), what })?;
        }
        t_ns = 0;
        for (at, delta) in compact.waking_timestamp.iter().enumerate() {
            t_ns = t_ns.wrapping_add(*delta);
            let target = compact.waking_target_cpu.get(at).and_then(|&cpu| u32::try_from(cpu).ok());
            let (Some(&pid), Some(prev_cpu)) = (compact.waking_pid.get(at), target) else { break };
            let what = What::Waking { pid, comm: name(compact.waking_comm_index.get(at)), prev_cpu };
            (self.each)(Event { t_ns, cpu, pid: None, what })?;
        }
        Ok(())
    }
}

fn what(event: &FtraceEvent) -> Option<What> {
    let cpu = |cpu: Option<i32>| u32::try_from(cpu.unwrap_or(0)).ok();
    let pid = |pid: Option<i32>| Some(pid.unwrap_or(0)).filter(|&pid| pid >= 0);
    if let Some(switch) = &event.sched_switch {
        return Some(What::Switch {
            prev_pid: pid(switch.prev_pid)?,
            prev_comm: switch.prev_comm.clone().unwrap_or_default(),
            prev_sleeps: switch.prev_state.unwrap_or(0) & 0xff != 0,
            next_pid: pid(switch.next_pid)?,
            next_comm: switch.next_comm.clone().unwrap_or_default(),
        });
    }
    if let Some(waking) = &event.sched_waking {
        let comm = waking.comm.clone().unwrap_or_default();
        return Some(What::Waking { pid: pid(waking.pid)?, comm, prev_cpu: cpu(waking.target_cpu)? });
    }
    if let Some(woken) = event.sched_wakeup.as_ref().or(event.sched_wakeup_new.as_ref()) {
        let (comm, new) = (woken.comm.clone().unwrap_or_default(), event.sched_wakeup.is_none());
        return Some(What::Woken { pid: pid(woken.pid)?, comm, dest_cpu: cpu(woken.target_cpu)?, new });
    }
    if let Some(moved) = &event.sched_migrate_task {
        let (from_cpu, to_cpu) = (cpu(moved.orig_cpu)?, cpu(moved.dest_cpu)?);
        return Some(What::Migrate { pid: pid(moved.pid)?, from_cpu, to_cpu });
    }
    if let Some(idle) = &event.cpu_idle {
        let state = idle.state.unwrap_or(0);
        return Some(What::Idle { cpu: idle.cpu_id.unwrap_or(0), state: (state != u32::MAX).then_some(state as i32) });
    }
    let frequency = event.cpu_frequency.as_ref()?;
    Some(What::Frequency { cpu: frequency.cpu_id.unwrap_or(0), khz: frequency.state.unwrap_or(0).into() })
}
