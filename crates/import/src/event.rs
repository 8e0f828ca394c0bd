//! A scheduler event of any recorder.

use wakelab_events::limits;

/// The number of events that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that the recorder reports as lost. A gap of unknown length counts as one.
    pub lost: u64,
    /// Samples of perf without a time, a CPU or raw data.
    pub unread: u64,
    /// Events that were overwritten before the buffer was read, so that the CPUs' events begin at different times.
    pub overwritten: u64,
    /// Lines of a text that are not understood.
    pub bad_lines: u64,
    /// The number of the first of them, from 1.
    pub first_bad_line: Option<u64>,
    /// The same by event and by what is wrong, in the order in which they were found.
    pub bad: Vec<BadLines>,
}

/// Lines of a text of one event that are not understood for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLines {
    /// The name of the event; `None` if it is not in the line.
    pub event: Option<&'static str>,
    /// What is wrong.
    pub why: WhyBad,
    /// How many.
    pub lines: u64,
    /// The file of the first, by its place among those that were imported.
    pub file: usize,
    /// The number of the first in that file, from 1.
    pub first: u64,
}

/// The reason why a line of a text is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyBad {
    /// It ends in `>`, where a pager cut it.
    CutByPager,
    /// It ends before the last field.
    Cut,
    /// The file ends in it.
    EndOfFile,
    /// A field is not what is printed there.
    Field,
    /// It has no event.
    NoEvent,
}

impl WhyBad {
    /// Returns the rest of a sentence that begins with the number of lines: what is wrong with them, and what to do
    /// about it.
    pub fn words(self, lines: u64) -> &'static str {
        match (self, lines) {
            (WhyBad::CutByPager, 1) => "ends in \">\": cut by a pager; write the text to a file: perf script > file",
            (WhyBad::CutByPager, _) => "end in \">\": cut by a pager; write the text to a file: perf script > file",
            (WhyBad::Cut, 1) => "ends before its last field: cut; write the text to a file: perf script > file",
            (WhyBad::Cut, _) => "end before their last field: cut; write the text to a file: perf script > file",
            (WhyBad::EndOfFile, 1) => "is the last and is incomplete; was the whole file copied?",
            (WhyBad::EndOfFile, _) => "are the last of their files and are incomplete; were the whole files copied?",
            (WhyBad::Field, 1) => "has a field that wakelab does not understand",
            (WhyBad::Field, _) => "have a field that wakelab does not understand",
            (WhyBad::NoEvent, 1) => "is not an event that wakelab understands",
            (WhyBad::NoEvent, _) => "are not events that wakelab understands",
        }
    }
}

impl Losses {
    /// Counts a line that is not understood.
    pub(crate) fn bad_line(&mut self, event: Option<&'static str>, why: WhyBad, number: u64) {
        self.add_bad(BadLines { event, why, lines: 1, file: 0, first: number });
    }

    fn add_bad(&mut self, of: BadLines) {
        self.bad_lines += of.lines;
        self.first_bad_line.get_or_insert(of.first);
        match self.bad.iter_mut().find(|known| known.event == of.event && known.why == of.why) {
            Some(known) => known.lines += of.lines,
            None => self.bad.push(of),
        }
    }

    /// Adds what another file of the same recording lacks, by its place among them.
    pub(crate) fn add(&mut self, file: usize, other: Losses) {
        self.lost = self.lost.saturating_add(other.lost);
        self.unread += other.unread;
        self.overwritten = self.overwritten.saturating_add(other.overwritten);
        other.bad.into_iter().for_each(|of| self.add_bad(BadLines { file, ..of }));
    }
}

/// A scheduler event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns of the recorder's clock.
    pub t_ns: u64,
    /// The CPU that recorded it.
    pub cpu: u32,
    /// The task that ran there; `None` if the recorder does not report it.
    pub pid: Option<i32>,
    /// The name of that task, if the recorder has it beside the tracepoint's fields; otherwise empty.
    pub comm: String,
    /// The tracepoint with its fields.
    pub kind: EventKind,
}

/// The tracepoints that are read, with their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `sched_switch`.
    Switch {
        /// The task that ran.
        prev_pid: i32,
        /// Its name, which may be empty.
        prev_comm: String,
        /// Whether `prev_pid` sleeps or has exited; otherwise it was preempted.
        prev_sleeps: bool,
        /// The task that runs now.
        next_pid: i32,
        /// The name of that task.
        next_comm: String,
    },
    /// `sched_waking`: a wake-up begins.
    Waking {
        /// The wakee.
        pid: i32,
        /// Its name.
        comm: String,
        /// The CPU on which it ran last (`target_cpu` of the tracepoint); `None` if the recorder does not report it.
        prev_cpu: Option<u32>,
    },
    /// `sched_wakeup`, or `sched_wakeup_new` for a new task: the wakee is on its run queue.
    Woken {
        /// The wakee.
        pid: i32,
        /// Its name.
        comm: String,
        /// The CPU of that run queue; `None` if the recorder does not report it.
        dest_cpu: Option<u32>,
        /// Whether it is a new task.
        new: bool,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// The task.
        pid: i32,
        /// Its name, which may be empty.
        comm: String,
        /// The CPU that it leaves.
        from_cpu: u32,
        /// The CPU that it goes to.
        to_cpu: u32,
    },
    /// `cpu_idle`.
    Idle {
        /// The CPU.
        cpu: u32,
        /// The state that it enters; `None` if it leaves one.
        state: Option<i32>,
    },
    /// `cpu_frequency`.
    Frequency {
        /// The CPU.
        cpu: u32,
        /// Its frequency from now on, kHz.
        khz: i64,
    },
}

impl EventKind {
    /// The name of the tracepoint.
    pub(crate) fn tracepoint(&self) -> &'static str {
        match self {
            EventKind::Switch { .. } => "sched_switch",
            EventKind::Waking { .. } => "sched_waking",
            EventKind::Woken { new: false, .. } => "sched_wakeup",
            EventKind::Woken { new: true, .. } => "sched_wakeup_new",
            EventKind::Migrate { .. } => "sched_migrate_task",
            EventKind::Idle { .. } => "cpu_idle",
            EventKind::Frequency { .. } => "cpu_frequency",
        }
    }
}

/// The name of a task, cut to the length that a recording may have. A few bytes of a trace may stand for a name of
/// megabytes in thousands of events.
pub(crate) fn comm(name: &str) -> String {
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    name[..ends.take_while(|&end| end <= limits::MAX_COMM).last().unwrap_or(0)].to_owned()
}

impl Event {
    /// Checks that a recording may have the event: what is wrong, if it may not.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.t_ns > limits::MAX_TIME {
            return Err(format!("an event has the time {} ns; expected at most {} ns", self.t_ns, limits::MAX_TIME));
        }
        match self.kind {
            EventKind::Idle { state: Some(state), .. } if u8::try_from(state).is_err() => {
                Err(format!("the idle state is {state}; expected a number from 0 to 255"))
            }
            EventKind::Frequency { khz, .. } if u32::try_from(khz).is_err() => {
                Err(format!("the frequency is {khz} kHz; expected a number of 32 bits"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!(comm("kworker/0:1"), "kworker/0:1");
        assert_eq!(comm(&"a".repeat(64)), "a".repeat(63));
        assert_eq!(comm(&"ä".repeat(40)), "ä".repeat(31));
    }

    #[test]
    fn values_that_no_recording_may_have_are_refused() {
        let at = |t_ns, kind| Event { t_ns, cpu: 0, pid: None, comm: String::new(), kind }.check();
        assert_eq!(at(1 << 62, EventKind::Idle { cpu: 0, state: Some(255) }), Ok(()));
        assert!(at((1 << 62) + 1, EventKind::Idle { cpu: 0, state: None }).is_err());
        assert!(at(0, EventKind::Idle { cpu: 0, state: Some(256) }).is_err());
        assert!(at(0, EventKind::Idle { cpu: 0, state: Some(-2) }).is_err());
        assert!(at(0, EventKind::Frequency { cpu: 0, khz: 1 << 32 }).is_err());
    }
}
