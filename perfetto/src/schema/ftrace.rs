//! `ftrace/*.proto`: the kernel's scheduler events.

use prost::Message;

/// Events of one CPU.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEventBundle {
    /// The CPU.
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    /// Events, one by one.
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
    /// Switches and wake-ups, column by column.
    #[prost(message, optional, tag = "4")]
    pub compact_sched: Option<CompactSched>,
}

/// An event.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    /// When, ns.
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    /// Who was running.
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    /// A context switch.
    #[prost(message, optional, tag = "4")]
    pub sched_switch: Option<SchedSwitch>,
    /// `cpu_frequency`; the state is kHz.
    #[prost(message, optional, tag = "11")]
    pub cpu_frequency: Option<OfCpu>,
    /// `cpu_idle`; 4294967295 where the CPU leaves its state.
    #[prost(message, optional, tag = "13")]
    pub cpu_idle: Option<OfCpu>,
    /// A wakee is on its queue.
    #[prost(message, optional, tag = "17")]
    pub sched_wakeup: Option<SchedWakeup>,
    /// A wake-up begins.
    #[prost(message, optional, tag = "20")]
    pub sched_waking: Option<SchedWakeup>,
    /// A new task is on its queue.
    #[prost(message, optional, tag = "114")]
    pub sched_wakeup_new: Option<SchedWakeup>,
    /// A task gets another CPU.
    #[prost(message, optional, tag = "491")]
    pub sched_migrate_task: Option<SchedMigrateTask>,
}

/// `sched_switch`.
#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    /// The name of who ran.
    #[prost(string, optional, tag = "1")]
    pub prev_comm: Option<String>,
    /// Who ran.
    #[prost(int32, optional, tag = "2")]
    pub prev_pid: Option<i32>,
    /// Its priority, 120 for nice 0.
    #[prost(int32, optional, tag = "3")]
    pub prev_prio: Option<i32>,
    /// 0: runnable; else the `TASK_*` that it sleeps in.
    #[prost(int64, optional, tag = "4")]
    pub prev_state: Option<i64>,
    /// The name of who runs.
    #[prost(string, optional, tag = "5")]
    pub next_comm: Option<String>,
    /// Who runs.
    #[prost(int32, optional, tag = "6")]
    pub next_pid: Option<i32>,
    /// Its priority.
    #[prost(int32, optional, tag = "7")]
    pub next_prio: Option<i32>,
}

/// `sched_waking`, `sched_wakeup`, `sched_wakeup_new`.
#[derive(Clone, PartialEq, Message)]
pub struct SchedWakeup {
    /// The wakee's name.
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    /// The wakee.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    /// Its priority.
    #[prost(int32, optional, tag = "3")]
    pub prio: Option<i32>,
    /// Where it goes; of `sched_waking`, where it ran.
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
    /// From this CPU.
    #[prost(int32, optional, tag = "4")]
    pub orig_cpu: Option<i32>,
    /// To this one.
    #[prost(int32, optional, tag = "5")]
    pub dest_cpu: Option<i32>,
}

/// A number of a CPU.
#[derive(Clone, PartialEq, Message)]
pub struct OfCpu {
    /// The number.
    #[prost(uint32, optional, tag = "1")]
    pub state: Option<u32>,
    /// The CPU.
    #[prost(uint32, optional, tag = "2")]
    pub cpu_id: Option<u32>,
}

/// Switches and wake-ups of a bundle, column by column; each time is the difference to the one before.
#[derive(Clone, PartialEq, Message)]
pub struct CompactSched {
    /// When, ns.
    #[prost(uint64, repeated, tag = "1")]
    pub switch_timestamp: Vec<u64>,
    /// The state of who ran.
    #[prost(int64, repeated, tag = "2")]
    pub switch_prev_state: Vec<i64>,
    /// Who runs.
    #[prost(int32, repeated, tag = "3")]
    pub switch_next_pid: Vec<i32>,
    /// Its priority.
    #[prost(int32, repeated, tag = "4")]
    pub switch_next_prio: Vec<i32>,
    /// Names.
    #[prost(string, repeated, tag = "5")]
    pub intern_table: Vec<String>,
    /// Its name, by its place in the table.
    #[prost(uint32, repeated, tag = "6")]
    pub switch_next_comm_index: Vec<u32>,
    /// When, ns.
    #[prost(uint64, repeated, tag = "7")]
    pub waking_timestamp: Vec<u64>,
    /// Who is woken.
    #[prost(int32, repeated, tag = "8")]
    pub waking_pid: Vec<i32>,
    /// Where it goes.
    #[prost(int32, repeated, tag = "9")]
    pub waking_target_cpu: Vec<i32>,
    /// Its priority.
    #[prost(int32, repeated, tag = "10")]
    pub waking_prio: Vec<i32>,
    /// Its name.
    #[prost(uint32, repeated, tag = "11")]
    pub waking_comm_index: Vec<u32>,
    /// `common_flags`: interrupts off, in an interrupt.
    #[prost(uint32, repeated, tag = "12")]
    pub waking_common_flags: Vec<u32>,
}
