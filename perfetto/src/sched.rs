//! Switches and wake-ups of a CPU, gathered to compact bundles.

use crate::schema::{CompactSched, FtraceEvent, FtraceEventBundle, OfCpu, SchedSwitch};
use rustc_hash::FxHashMap;

/// A bundle has about so many events.
const MOST: usize = 1024;
/// nice 0.
const PRIO: i32 = 120;
/// `TASK_RUNNING`, for who still wants its CPU.
const RUNNING: i64 = 0;
/// `TASK_INTERRUPTIBLE`; recordings tell only that it sleeps.
const SLEEPS: i64 = 1;
/// Of `cpu_idle`: the CPU leaves its state.
const LEAVES: u32 = u32::MAX;

/// What a CPU did since its last bundle.
#[derive(Debug, Default)]
pub(crate) struct OneCpu {
    compact: CompactSched,
    events: Vec<FtraceEvent>,
    names: FxHashMap<String, u32>,
    last_switch: u64,
    last_waking: u64,
    /// Who runs; not known before the first switch.
    pub(crate) runs: Option<i32>,
}

impl OneCpu {
    /// A switch. Compact ones say who comes only: the first of a CPU says who went, too.
    pub(crate) fn switch(&mut self, t_ns: u64, prev: (i32, &str), sleeps: bool, next: (i32, &str)) {
        let state = if sleeps { SLEEPS } else { RUNNING };
        // Of CPUs that take turns in the file's rows, and of balancing: a CPU's own time does not go back.
        let t_ns = t_ns.max(self.last_switch);
        if self.runs.is_none() {
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
        self.runs = Some(next.0);
    }

    /// A wake-up that this CPU makes.
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

    /// The CPU's frequency.
    pub(crate) fn frequency(&mut self, t_ns: u64, cpu: u32, khz: u32) {
        let frequency = OfCpu { state: Some(khz), cpu_id: Some(cpu) };
        self.events.push(FtraceEvent {
            timestamp: Some(t_ns),
            pid: Some(0),
            cpu_frequency: Some(frequency),
            ..FtraceEvent::default()
        });
    }

    /// The idle state that the CPU enters, or that it leaves it.
    pub(crate) fn idle(&mut self, t_ns: u64, cpu: u32, state: Option<u32>) {
        let idle = OfCpu { state: Some(state.unwrap_or(LEAVES)), cpu_id: Some(cpu) };
        self.events.push(FtraceEvent {
            timestamp: Some(t_ns),
            pid: Some(0),
            cpu_idle: Some(idle),
            ..FtraceEvent::default()
        });
    }

    /// Whether it is time for a bundle.
    pub(crate) fn full(&self) -> bool {
        self.events.len() + self.compact.switch_timestamp.len() + self.compact.waking_timestamp.len() >= MOST
    }

    /// What has been gathered, and from now on anew.
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

    /// Gives back a bundle that was written: its memory is used again.
    pub(crate) fn take_back(&mut self, bundle: FtraceEventBundle) {
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
