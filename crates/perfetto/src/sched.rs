//! Switches, wake-ups and states of a CPU, gathered in bundles.

use crate::schema::{
    CompactSched, CpuState, FtraceEvent, FtraceEventBundle, SchedMigrateTask, SchedSwitch, SchedWakeup,
};
use rustc_hash::FxHashMap;

/// The events of a bundle, about.
const BUNDLE_EVENTS: usize = 1024;
/// The priority of nice 0. Priorities are not known.
const PRIO: i32 = 120;
/// `TASK_RUNNING`, of a task that was preempted.
const RUNNING: i64 = 0;
/// `TASK_INTERRUPTIBLE`. Recordings only have whether a task sleeps.
const SLEEPS: i64 = 1;
/// The state of `cpu_idle` if the CPU leaves its idle state.
const LEAVES: u32 = u32::MAX;

/// The events of a CPU since its last bundle.
#[derive(Debug, Default)]
pub(crate) struct CpuEvents {
    compact: CompactSched,
    events: Vec<FtraceEvent>,
    names: FxHashMap<String, u32>,
    last_switch: u64,
    last_waking: u64,
    /// The running task; `None` before the first switch.
    pub(crate) running: Option<i32>,
}

impl CpuEvents {
    /// Adds a switch. Compact switches have the next task only, so the first of a CPU is written in full, and so is one
    /// before which others are missing.
    pub(crate) fn switch(&mut self, t_ns: u64, prev: (i32, &str), sleeps: bool, next: (i32, &str)) {
        let state = if sleeps { SLEEPS } else { RUNNING };
        // Load balancing may add switches that are not in the order of time. The times of a CPU must not decrease.
        let t_ns = t_ns.max(self.last_switch);
        if self.running != Some(prev.0) {
            self.events.push(FtraceEvent {
                timestamp: Some(t_ns),
                pid: Some(prev.0 as u32),
                sched_switch: Some(SchedSwitch {
                    prev_comm: Some(prev.1.to_owned()),
                    prev_pid: Some(prev.0),
                    prev_prio: Some(PRIO),
                    prev_state: Some(state),
                    next_comm: Some(next.1.to_owned()),
                    next_pid: Some(next.0),
                    next_prio: Some(PRIO),
                }),
                ..FtraceEvent::default()
            });
        } else {
            let since = if self.compact.switch_timestamp.is_empty() { 0 } else { self.last_switch };
            self.compact.switch_timestamp.push(t_ns - since);
            self.compact.switch_prev_state.push(state);
            self.compact.switch_next_pid.push(next.0);
            self.compact.switch_next_prio.push(PRIO);
            let name = self.name(next.1);
            self.compact.switch_next_comm_index.push(name);
        }
        self.last_switch = t_ns;
        self.running = Some(next.0);
    }

    /// Adds a wake-up by this CPU, made by the task `waker`, with where the wakee ran last, if that is known, and where
    /// it goes: the two events that the kernel has of it. Without the first CPU it is that of a new task.
    pub(crate) fn woken(&mut self, t_ns: u64, waker: i32, wakee: (i32, &str), prev_cpu: Option<u32>, dest_cpu: u32) {
        let of = |cpu: u32| SchedWakeup {
            comm: Some(wakee.1.to_owned()),
            pid: Some(wakee.0),
            prio: Some(PRIO),
            target_cpu: Some(cpu as i32),
        };
        let event = || FtraceEvent { timestamp: Some(t_ns), pid: Some(waker as u32), ..FtraceEvent::default() };
        match prev_cpu {
            Some(prev_cpu) => {
                self.events.push(FtraceEvent { sched_waking: Some(of(prev_cpu)), ..event() });
                self.events.push(FtraceEvent { sched_wakeup: Some(of(dest_cpu)), ..event() });
            }
            None => self.events.push(FtraceEvent { sched_wakeup_new: Some(of(dest_cpu)), ..event() }),
        }
    }

    /// Adds the migration of a task from this CPU.
    pub(crate) fn migrates(&mut self, t_ns: u64, task: (i32, &str), from_cpu: u32, to_cpu: u32) {
        self.events.push(FtraceEvent {
            timestamp: Some(t_ns),
            pid: Some(0),
            sched_migrate_task: Some(SchedMigrateTask {
                comm: Some(task.1.to_owned()),
                pid: Some(task.0),
                prio: Some(PRIO),
                orig_cpu: Some(from_cpu as i32),
                dest_cpu: Some(to_cpu as i32),
            }),
            ..FtraceEvent::default()
        });
    }

    /// Adds a wake-up by this CPU. `target_cpu` is where the wakee ran last.
    pub(crate) fn waking(&mut self, t_ns: u64, wakee: (i32, &str), target_cpu: u32) {
        let t_ns = t_ns.max(self.last_waking);
        let since = if self.compact.waking_timestamp.is_empty() { 0 } else { self.last_waking };
        self.compact.waking_timestamp.push(t_ns - since);
        self.compact.waking_pid.push(wakee.0);
        self.compact.waking_target_cpu.push(target_cpu as i32);
        self.compact.waking_prio.push(PRIO);
        self.compact.waking_common_flags.push(0);
        let name = self.name(wakee.1);
        self.compact.waking_comm_index.push(name);
        self.last_waking = t_ns;
    }

    /// Adds a frequency.
    pub(crate) fn frequency(&mut self, t_ns: u64, cpu: u32, khz: u32) {
        let frequency = CpuState { state: Some(khz), cpu_id: Some(cpu) };
        self.events.push(FtraceEvent {
            timestamp: Some(t_ns),
            pid: Some(0),
            cpu_frequency: Some(frequency),
            ..FtraceEvent::default()
        });
    }

    /// Adds the idle state that the CPU enters; `None` if it leaves one.
    pub(crate) fn idle(&mut self, t_ns: u64, cpu: u32, state: Option<u32>) {
        let idle = CpuState { state: Some(state.unwrap_or(LEAVES)), cpu_id: Some(cpu) };
        self.events.push(FtraceEvent {
            timestamp: Some(t_ns),
            pid: Some(0),
            cpu_idle: Some(idle),
            ..FtraceEvent::default()
        });
    }

    /// Whether a bundle is complete.
    pub(crate) fn full(&self) -> bool {
        self.events.len() + self.compact.switch_timestamp.len() + self.compact.waking_timestamp.len() >= BUNDLE_EVENTS
    }

    /// Removes the events as a bundle; `None` if there are none.
    pub(crate) fn take(&mut self, cpu: u32) -> Option<FtraceEventBundle> {
        let compact = std::mem::take(&mut self.compact);
        let event = std::mem::take(&mut self.events);
        self.names.clear();
        let any = !(compact.switch_timestamp.is_empty() && compact.waking_timestamp.is_empty());
        (any || !event.is_empty()).then_some(FtraceEventBundle {
            cpu: Some(cpu),
            event,
            compact_sched: any.then_some(compact),
        })
    }

    /// Reuses the memory of a bundle that has been written.
    pub(crate) fn reuse(&mut self, bundle: FtraceEventBundle) {
        self.events = bundle.event;
        self.events.clear();
        if let Some(compact) = bundle.compact_sched {
            self.compact = compact;
            prost::Message::clear(&mut self.compact);
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.compact.intern_table.len() as u32;
        self.compact.intern_table.push(name.to_owned());
        self.names.insert(name.to_owned(), number);
        number
    }
}
