//! A scheduler event, whoever recorded it.

/// What is missing among the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that the recorder says it lost; a gap whose length it does not say counts as one.
    pub lost: u64,
    /// Samples without a time, a CPU or the event itself.
    pub unread: u64,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, ns of the recorder's clock.
    pub t_ns: u64,
    /// On which CPU it was recorded.
    pub cpu: u32,
    /// Who ran there, if the recorder tells.
    pub pid: Option<i32>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// `sched_switch`.
    Switch {
        /// Who ran.
        prev_pid: i32,
        /// Its name; may be empty.
        prev_comm: String,
        /// Whether it sleeps or has exited.
        prev_sleeps: bool,
        /// Who runs now.
        next_pid: i32,
        /// Its name.
        next_comm: String,
    },
    /// `sched_waking`: the wakee is about to be woken; it ran last on `prev_cpu`.
    Waking {
        /// The wakee.
        pid: i32,
        /// Its name.
        comm: String,
        /// Where it ran last.
        prev_cpu: u32,
    },
    /// `sched_wakeup`, or `sched_wakeup_new` of a new task: it is on its run queue.
    Woken {
        /// The wakee.
        pid: i32,
        /// Its name.
        comm: String,
        /// Where it is.
        dest_cpu: u32,
        /// Whether it is a new task.
        new: bool,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// The task.
        pid: i32,
        /// From this CPU.
        from_cpu: u32,
        /// To this one.
        to_cpu: u32,
    },
    /// `cpu_idle`.
    Idle {
        /// The CPU.
        cpu: u32,
        /// The state that it enters; `None` where it leaves one.
        state: Option<i32>,
    },
    /// `cpu_frequency`.
    Frequency {
        /// The CPU.
        cpu: u32,
        /// What it runs at from now on.
        khz: i64,
    },
}
