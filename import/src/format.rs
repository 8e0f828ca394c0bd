//! How a kernel lays out a trace event: the text of its `format` file.

use crate::bytes::number;
use crate::event::{Event, What};

/// One event's layout, as far as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Its number in a trace.
    pub(crate) id: u64,
    kind: EventKind,
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
enum EventKind {
    Switch,
    Waking,
    Woken,
    WokenNew,
    Migrate,
    Idle,
    Frequency,
}

const KINDS: [(&str, EventKind); 7] = [
    ("sched_switch", EventKind::Switch),
    ("sched_waking", EventKind::Waking),
    ("sched_wakeup", EventKind::Woken),
    ("sched_wakeup_new", EventKind::WokenNew),
    ("sched_migrate_task", EventKind::Migrate),
    ("cpu_idle", EventKind::Idle),
    ("cpu_frequency", EventKind::Frequency),
];

/// No event that is read has as many fields.
const MOST_FIELDS: usize = 64;

/// The bits of `prev_state` that say that a task sleeps or is gone: all but `TASK_REPORT_MAX` and above, which say that it was
/// preempted.
const TASK_SLEEPS: u64 = 0xff;

impl Format {
    /// Reads a format file; `None` for an event that is not read here.
    pub(crate) fn parse(text: &str) -> Option<Format> {
        let name = text.lines().find_map(|line| line.strip_prefix("name:"))?.trim();
        let kind = KINDS.iter().find(|(known, _)| *known == name)?.1;
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| Field::parse(line.trim())).take(MOST_FIELDS).collect();
        Some(Format { id, kind, fields })
    }

    /// Whether both are of one event.
    pub(crate) fn same_event(&self, other: &Format) -> bool {
        self.kind == other.kind
    }

    /// The event in `raw`; `None` where a field is missing.
    pub(crate) fn event(&self, raw: &[u8], big: bool, t_ns: u64, cpu: u32) -> Option<Event> {
        let field = |name: &str| self.fields.iter().find(|field| field.name == name);
        let long = |name: &str| field(name)?.long(raw, big);
        let pid = |name: &str| i32::try_from(long(name)?).ok().filter(|&pid| pid >= 0);
        let a_cpu = |name: &str| u32::try_from(long(name)?).ok();
        let text = |name: &str| field(name).map(|field| field.text(raw)).unwrap_or_default();
        let what = match self.kind {
            EventKind::Switch => What::Switch {
                prev_pid: pid("prev_pid")?,
                prev_comm: text("prev_comm"),
                prev_sleeps: long("prev_state")? as u64 & TASK_SLEEPS != 0,
                next_pid: pid("next_pid")?,
                next_comm: text("next_comm"),
            },
            EventKind::Waking => What::Waking { pid: pid("pid")?, comm: text("comm"), prev_cpu: a_cpu("target_cpu")? },
            EventKind::Woken | EventKind::WokenNew => What::Woken {
                pid: pid("pid")?,
                comm: text("comm"),
                dest_cpu: a_cpu("target_cpu")?,
                new: self.kind == EventKind::WokenNew,
            },
            EventKind::Migrate => {
                What::Migrate { pid: pid("pid")?, from_cpu: a_cpu("orig_cpu")?, to_cpu: a_cpu("dest_cpu")? }
            }
            EventKind::Idle => {
                // It is unsigned in the kernel, and PWR_EVENT_EXIT is -1.
                let state = long("state")? as u32;
                What::Idle { cpu: a_cpu("cpu_id")?, state: (state != u32::MAX).then_some(state as i32) }
            }
            EventKind::Frequency => What::Frequency { cpu: a_cpu("cpu_id")?, khz: long("state")? },
        };
        Some(Event { t_ns, cpu, pid: pid("common_pid"), what })
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

    fn long(&self, raw: &[u8], big: bool) -> Option<i64> {
        let value = number(raw.get(self.offset..self.offset.checked_add(self.size)?)?, big)?;
        let unused = 64 - 8 * self.size as u32;
        Some(if self.signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    fn text(&self, raw: &[u8]) -> String {
        let bytes = self.offset.checked_add(self.size).and_then(|end| raw.get(self.offset..end)).unwrap_or_default();
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
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
