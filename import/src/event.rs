//! A scheduler event of any recorder.

use wakelab_events::limits;

/// How many events are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
            return Err(format!("an event at {} ns; expected a time of at most {} ns", self.t_ns, limits::MAX_TIME));
        }
        match self.kind {
            EventKind::Idle { state: Some(state), .. } if u8::try_from(state).is_err() => {
                Err(format!("the idle state {state}; expected a number from 0 to 255"))
            }
            EventKind::Frequency { khz, .. } if u32::try_from(khz).is_err() => {
                Err(format!("a frequency of {khz} kHz; expected a number of 32 bits"))
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
        let at = |t_ns, kind| Event { t_ns, cpu: 0, pid: None, kind }.check();
        assert_eq!(at(1 << 62, EventKind::Idle { cpu: 0, state: Some(255) }), Ok(()));
        assert!(at((1 << 62) + 1, EventKind::Idle { cpu: 0, state: None }).is_err());
        assert!(at(0, EventKind::Idle { cpu: 0, state: Some(256) }).is_err());
        assert!(at(0, EventKind::Idle { cpu: 0, state: Some(-2) }).is_err());
        assert!(at(0, EventKind::Frequency { cpu: 0, khz: 1 << 32 }).is_err());
    }
}
