//! The layouts of trace events: the text of their `format` files in tracefs, and the tracing data with all of them that
//! `trace.dat` begins with and `perf.data` contains.

use crate::byte_reader::{ByteReader, number};
use crate::event::{Event, EventKind, comm};

/// The layout of one event's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    /// Its number in the trace (`common_type`).
    pub(crate) id: u64,
    tracepoint: Tracepoint,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    signed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracepoint {
    Switch,
    Waking,
    Woken,
    WokenNew,
    Migrate,
    Idle,
    Frequency,
}

const TRACEPOINTS: [(&str, Tracepoint); 7] = [
    ("sched_switch", Tracepoint::Switch),
    ("sched_waking", Tracepoint::Waking),
    ("sched_wakeup", Tracepoint::Woken),
    ("sched_wakeup_new", Tracepoint::WokenNew),
    ("sched_migrate_task", Tracepoint::Migrate),
    ("cpu_idle", Tracepoint::Idle),
    ("cpu_frequency", Tracepoint::Frequency),
];

/// More fields than any event that is read has.
const MAX_FIELDS: usize = 64;

/// The bits of `prev_state` of a task that sleeps or has exited. The others mean that it was preempted:
/// `TASK_REPORT_MAX` (0x100), and before Linux 4.14 `TASK_STATE_MAX`, which was 0x200 to 0x1000.
pub(crate) const TASK_SLEEPS: u64 = 0xff;

impl EventFormat {
    /// Parses a `format` file. Returns `None` for an event that is not read here.
    pub(crate) fn parse(text: &str) -> Option<EventFormat> {
        let name = text.lines().find_map(|line| line.strip_prefix("name:"))?.trim();
        let tracepoint = TRACEPOINTS.iter().find(|(known, _)| *known == name)?.1;
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| Field::parse(line.trim())).take(MAX_FIELDS).collect();
        Some(EventFormat { id, tracepoint, fields })
    }

    /// Whether both describe the same tracepoint.
    pub(crate) fn same_event(&self, other: &EventFormat) -> bool {
        self.tracepoint == other.tracepoint
    }

    /// Decodes the event in `raw`. Returns `None` if a field is missing or out of range.
    pub(crate) fn event(&self, raw: &[u8], big_endian: bool, t_ns: u64, cpu: u32) -> Option<Event> {
        let field = |name: &str| self.fields.iter().find(|field| field.name == name);
        let long = |name: &str| field(name)?.long(raw, big_endian);
        let pid = |name: &str| i32::try_from(long(name)?).ok().filter(|&pid| pid >= 0);
        let cpu_field = |name: &str| u32::try_from(long(name)?).ok();
        let text = |name: &str| field(name).map(|field| field.text(raw)).unwrap_or_default();
        let kind = match self.tracepoint {
            Tracepoint::Switch => EventKind::Switch {
                prev_pid: pid("prev_pid")?,
                prev_comm: text("prev_comm"),
                prev_sleeps: long("prev_state")? as u64 & TASK_SLEEPS != 0,
                next_pid: pid("next_pid")?,
                next_comm: text("next_comm"),
            },
            Tracepoint::Waking => {
                EventKind::Waking { pid: pid("pid")?, comm: text("comm"), prev_cpu: Some(cpu_field("target_cpu")?) }
            }
            Tracepoint::Woken | Tracepoint::WokenNew => EventKind::Woken {
                pid: pid("pid")?,
                comm: text("comm"),
                dest_cpu: Some(cpu_field("target_cpu")?),
                new: self.tracepoint == Tracepoint::WokenNew,
            },
            Tracepoint::Migrate => EventKind::Migrate {
                pid: pid("pid")?,
                comm: text("comm"),
                from_cpu: cpu_field("orig_cpu")?,
                to_cpu: cpu_field("dest_cpu")?,
            },
            Tracepoint::Idle => {
                // The field is unsigned; PWR_EVENT_EXIT is -1.
                let state = long("state")? as u32;
                EventKind::Idle { cpu: cpu_field("cpu_id")?, state: (state != u32::MAX).then_some(state as i32) }
            }
            Tracepoint::Frequency => EventKind::Frequency { cpu: cpu_field("cpu_id")?, khz: long("state")? },
        };
        Some(Event { t_ns, cpu, pid: pid("common_pid"), comm: String::new(), kind })
    }
}

impl Field {
    /// `field:pid_t prev_pid; offset:24; size:4; signed:1;`
    fn parse(line: &str) -> Option<Field> {
        let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?;
        let declared = declared.split('[').next().unwrap_or(declared).trim_end();
        let name = declared.rsplit([' ', '\t', '*']).next()?.to_owned();
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        Some(Field { name, offset, size, signed: number("signed:") == Some(1) })
    }

    fn long(&self, raw: &[u8], big_endian: bool) -> Option<i64> {
        let value = number(raw.get(self.offset..self.offset.checked_add(self.size)?)?, big_endian)?;
        let unused = 64 - 8 * self.size as u32;
        Some(if self.signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    fn text(&self, raw: &[u8]) -> String {
        let bytes = self.offset.checked_add(self.size).and_then(|end| raw.get(self.offset..end)).unwrap_or_default();
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        // A format may say that the field is longer than any name.
        comm(&String::from_utf8_lossy(&bytes[..end]))
    }
}

/// The first bytes of tracing data.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The tracing data: the byte order, sizes, and the layout of each event.
pub(crate) struct TracingData {
    /// The version of the file format, as text.
    pub(crate) version: String,
    pub(crate) big_endian: bool,
    /// The size of a `long` on the recorded machine, bytes.
    pub(crate) long_size: usize,
    /// The size of a ring-buffer page, bytes.
    pub(crate) page_size: usize,
    /// The layouts of the events that are read here.
    pub(crate) formats: Vec<EventFormat>,
}

impl TracingData {
    /// Parses tracing data up to the last event layout.
    ///
    /// # Errors
    /// The offset in bytes, and what was expected there.
    pub(crate) fn parse(bytes: &mut ByteReader<'_>) -> Result<TracingData, (u64, &'static str)> {
        fn require<T>(bytes: &ByteReader<'_>, found: Option<T>, what: &'static str) -> Result<T, (u64, &'static str)> {
            found.ok_or((bytes.offset(), what))
        }
        let magic = bytes.take(MAGIC.len());
        if magic != Some(MAGIC) {
            return Err((0, "expected the beginning of tracing data"));
        }
        let version = bytes.c_string();
        let version = String::from_utf8_lossy(require(bytes, version, "expected a version")?).into_owned();
        let (big_endian, long) = (bytes.number(1), bytes.number(1));
        let big_endian = require(bytes, big_endian, "expected the byte order")? == 1;
        bytes.set_big_endian(big_endian);
        let long_size = require(bytes, long, "expected the size of a long")? as usize;
        let page = bytes.number(4);
        let page_size = require(bytes, page, "expected the size of a page")? as usize;
        let mut found = TracingData { version, big_endian, long_size, page_size, formats: Vec::new() };
        if found.version.trim_start_matches("0.").parse::<u32>().map_or(true, |version| version > 6) {
            return Ok(found);
        }
        for name in ["header_page", "header_event"] {
            let text = bytes.c_string();
            if require(bytes, text, "expected the layout of a page")? != name.as_bytes() {
                return Err((bytes.offset(), "expected the layout of a page"));
            }
            let size = bytes.number(8);
            let size = require(bytes, size, "expected a size")?;
            let skipped = usize::try_from(size).ok().and_then(|size| bytes.take(size));
            require(bytes, skipped, "expected the layout of a page, found the end of the file")?;
        }
        // The events of ftrace itself come first, then those of each subsystem.
        let own = bytes.number(4);
        let own = require(bytes, own, "expected a number of events")?;
        found.events(bytes, own)?;
        let systems = bytes.number(4);
        for _ in 0..require(bytes, systems, "expected a number of subsystems")? {
            let name = bytes.c_string();
            require(bytes, name, "expected the name of a subsystem")?;
            let count = bytes.number(4);
            let count = require(bytes, count, "expected a number of events")?;
            found.events(bytes, count)?;
        }
        Ok(found)
    }

    fn events(&mut self, bytes: &mut ByteReader<'_>, count: u64) -> Result<(), (u64, &'static str)> {
        for _ in 0..count {
            let size = bytes.number(8).and_then(|size| usize::try_from(size).ok());
            let text = size.and_then(|size| bytes.take(size));
            let text = text.ok_or((bytes.offset(), "expected the layout of an event, found the end of the file"))?;
            // Each event has one layout. Duplicates of a damaged file would only make every search longer.
            let format = EventFormat::parse(&String::from_utf8_lossy(text));
            self.formats.extend(format.filter(|new| self.formats.iter().all(|known| !known.same_event(new))));
        }
        Ok(())
    }

    /// The layout of the event with this number.
    pub(crate) fn by_id(&self, id: u64) -> Option<&EventFormat> {
        self.formats.iter().find(|format| format.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_declarations() {
        for (line, name, offset, size, signed) in [
            ("field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;", "prev_comm", 8, 16, false),
            ("field:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;", "prev_pid", 24, 4, true),
            ("field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;", "common_type", 0, 2, false),
        ] {
            assert_eq!(Field::parse(line), Some(Field { name: name.into(), offset, size, signed }), "{line}");
        }
        assert_eq!(Field::parse("field:int x;\toffset:-1;\tsize:4;"), None);
    }

    #[test]
    fn numbers_have_their_sign_and_none_is_read_beyond_the_end() {
        let field = Field { name: String::new(), offset: 2, size: 2, signed: true };
        assert_eq!(field.long(&[0, 0, 0xff, 0xff], false), Some(-1));
        assert_eq!(field.long(&[0, 0, 0xff], false), None);
        assert_eq!(Field { size: 9, ..field.clone() }.long(&[0; 64], false), None);
        assert_eq!(Field { offset: usize::MAX, ..field }.long(&[0; 64], false), None);
    }
}
