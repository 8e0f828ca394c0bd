//! Files of other recorders, built of known bytes.

use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder, ZlibEncoder};
use std::fmt::Write;
use std::io::Read;
use wakelab_import::{Event, EventKind};

/// The layout of an event: its name, number and fields with sizes.
fn format(name: &str, id: u32, fields: &[(&str, usize)]) -> String {
    let mut text = format!("name: {name}\nID: {id}\nformat:\n");
    let common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1)];
    let common = common.into_iter().chain([("unsigned char common_preempt_count", 1), ("int common_pid", 4)]);
    let mut offset = 0;
    for (declared, size) in common.chain(fields.iter().copied()) {
        let signed = u8::from(!declared.contains("unsigned") && !declared.contains("char"));
        let _ = writeln!(text, "\tfield:{declared};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
        offset += size;
    }
    text
}

/// The beginning of a trace.dat: a version, two events, up to the places of the pages.
pub fn header(version: &str) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing".to_vec();
    file.extend_from_slice(version.as_bytes());
    file.extend_from_slice(&[0, 0, 8]);
    file.extend_from_slice(&4096_u32.to_le_bytes());
    for name in ["header_page", "header_event"] {
        file.extend_from_slice(name.as_bytes());
        file.push(0);
        file.extend_from_slice(&0_u64.to_le_bytes());
    }
    file.extend_from_slice(&0_u32.to_le_bytes());
    file.extend_from_slice(&1_u32.to_le_bytes());
    file.extend_from_slice(b"sched\0");
    let switch = [
        ("char prev_comm[16]", 16),
        ("pid_t prev_pid", 4),
        ("int prev_prio", 4),
        ("long prev_state", 8),
        ("char next_comm[16]", 16),
        ("pid_t next_pid", 4),
        ("int next_prio", 4),
    ];
    let waking = [("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)];
    let formats = [format("sched_switch", 300, &switch), format("sched_waking", 301, &waking)];
    file.extend_from_slice(&(formats.len() as u32).to_le_bytes());
    for format in formats {
        file.extend_from_slice(&(format.len() as u64).to_le_bytes());
        file.extend_from_slice(format.as_bytes());
    }
    file
}

fn comm(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn common(id: u16, pid: i32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 0], &pid.to_le_bytes()].concat()
}

/// `sched_switch` as the kernel lays it out.
pub fn switch(prev_pid: i32, prev_state: i64, next_pid: i32, next: &str) -> Vec<u8> {
    let prio = 120_i32.to_le_bytes();
    let mut raw = common(300, prev_pid);
    raw.extend_from_slice(&comm("prev"));
    raw.extend_from_slice(&prev_pid.to_le_bytes());
    raw.extend_from_slice(&prio);
    raw.extend_from_slice(&prev_state.to_le_bytes());
    raw.extend_from_slice(&comm(next));
    raw.extend_from_slice(&next_pid.to_le_bytes());
    raw.extend_from_slice(&prio);
    raw
}

/// `sched_waking`.
pub fn waking(waker: i32, wakee: i32, name: &str, cpu: i32) -> Vec<u8> {
    let mut raw = common(301, waker);
    raw.extend_from_slice(&comm(name));
    [wakee, 120, cpu].into_iter().for_each(|number| raw.extend_from_slice(&number.to_le_bytes()));
    raw
}

/// A page of a ring buffer: a time, and events with the time since the one before.
pub fn page(time: u64, events: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (delta, raw) in events {
        data.extend_from_slice(&(delta << 5).to_le_bytes());
        data.extend_from_slice(&(raw.len() as u32 + 4).to_le_bytes());
        data.extend_from_slice(raw);
    }
    let mut page = [&time.to_le_bytes()[..], &(data.len() as u64).to_le_bytes(), &data].concat();
    page.resize(4096, 0);
    page
}

/// A whole trace.dat with a page for each CPU.
pub fn trace_dat(pages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = header("6");
    file.extend_from_slice(&[0; 16]);
    file.extend_from_slice(&(pages.len() as u32).to_le_bytes());
    file.extend_from_slice(b"options  \0\0\0flyrecord\0");
    let begins = file.len() + 16 * pages.len();
    for (at, page) in pages.iter().enumerate() {
        file.extend_from_slice(&((begins + at * 4096) as u64).to_le_bytes());
        file.extend_from_slice(&(page.len() as u64).to_le_bytes());
    }
    pages.iter().for_each(|page| file.extend_from_slice(page));
    file
}

/// Some events of each kind, in the order of their times.
pub fn events() -> Vec<Event> {
    let comm = |name: &str| name.to_owned();
    let at = |t_ns, cpu, kind| Event { t_ns, cpu, pid: Some(7), comm: String::new(), kind };
    let switch = |prev_pid, prev_sleeps, next_pid| EventKind::Switch {
        prev_pid,
        prev_comm: comm("before"),
        prev_sleeps,
        next_pid,
        next_comm: comm("after"),
    };
    vec![
        at(1000, 2, switch(0, false, 7)),
        at(1100, 2, EventKind::Waking { pid: 9, comm: comm("wakee"), prev_cpu: Some(1) }),
        at(1200, 2, EventKind::Migrate { pid: 9, comm: comm("wakee"), from_cpu: 1, to_cpu: 3 }),
        at(1300, 2, EventKind::Woken { pid: 9, comm: comm("wakee"), dest_cpu: Some(3), new: false }),
        at(1400, 3, EventKind::Idle { cpu: 3, state: None }),
        at(1500, 3, switch(0, false, 9)),
        at(1600, 3, EventKind::Woken { pid: 10, comm: comm("child"), dest_cpu: Some(0), new: true }),
        at(1700, 3, switch(9, true, 0)),
        at(1800, 3, EventKind::Idle { cpu: 3, state: Some(1) }),
        at(1900, 3, EventKind::Frequency { cpu: 3, khz: 2_400_000 }),
    ]
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// A field that is a number.
fn number(to: &mut Vec<u8>, field: u64, value: i64) {
    varint(to, field << 3);
    varint(to, value as u64);
}

/// A field with a length.
fn part(to: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(to, field << 3 | 2);
    varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// The field of an event, and what is in it, by the numbers of `protos/perfetto/trace/ftrace/`.
fn ftrace_event(kind: &EventKind) -> (u64, Vec<u8>) {
    let mut to = Vec::new();
    let field = match kind {
        EventKind::Switch { prev_pid, prev_comm, prev_sleeps, next_pid, next_comm } => {
            part(&mut to, 1, prev_comm.as_bytes());
            number(&mut to, 2, (*prev_pid).into());
            number(&mut to, 4, (*prev_sleeps).into());
            part(&mut to, 5, next_comm.as_bytes());
            number(&mut to, 6, (*next_pid).into());
            4
        }
        EventKind::Waking { pid, comm, prev_cpu: cpu } | EventKind::Woken { pid, comm, dest_cpu: cpu, .. } => {
            part(&mut to, 1, comm.as_bytes());
            number(&mut to, 2, (*pid).into());
            number(&mut to, 5, cpu.expect("a CPU").into());
            match kind {
                EventKind::Woken { new: true, .. } => 114,
                EventKind::Woken { .. } => 17,
                _ => 20,
            }
        }
        EventKind::Migrate { pid, comm, from_cpu, to_cpu } => {
            part(&mut to, 1, comm.as_bytes());
            number(&mut to, 2, (*pid).into());
            number(&mut to, 4, (*from_cpu).into());
            number(&mut to, 5, (*to_cpu).into());
            491
        }
        EventKind::Idle { cpu, state } => {
            number(&mut to, 1, state.map_or(i64::from(u32::MAX), i64::from));
            number(&mut to, 2, (*cpu).into());
            13
        }
        EventKind::Frequency { cpu, khz } => {
            number(&mut to, 1, *khz);
            number(&mut to, 2, (*cpu).into());
            11
        }
    };
    (field, to)
}

/// A Perfetto trace with a bundle for each event, in packets that are plain or compressed.
pub fn perfetto(events: &[Event], compressed: bool) -> Vec<u8> {
    let mut packets = Vec::new();
    for event in events {
        let (mut of_event, mut bundle, mut packet) = (Vec::new(), Vec::new(), Vec::new());
        number(&mut of_event, 1, event.t_ns as i64);
        number(&mut of_event, 2, event.pid.unwrap_or(0).into());
        let (field, bytes) = ftrace_event(&event.kind);
        part(&mut of_event, field, &bytes);
        number(&mut bundle, 1, event.cpu.into());
        part(&mut bundle, 2, &of_event);
        part(&mut packet, 1, &bundle);
        part(&mut packets, 1, &packet);
    }
    if compressed { compressed_packet(&packets[..]) } else { packets }
}

/// The bytes compressed by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    GzEncoder::new(bytes, Compression::fast()).read_to_end(&mut compressed).expect("bytes");
    compressed
}

/// The bytes that gzip compressed.
pub fn gunzip(compressed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut bytes).expect("gzip");
    bytes
}

/// A trace of one packet that contains these bytes compressed.
pub fn compressed_packet(bytes: impl Read) -> Vec<u8> {
    let (mut deflated, mut packet, mut trace) = (Vec::new(), Vec::new(), Vec::new());
    ZlibEncoder::new(bytes, Compression::best()).read_to_end(&mut deflated).expect("bytes");
    part(&mut packet, 50, &deflated);
    part(&mut trace, 1, &packet);
    trace
}
