//! The machine's busy time by kind of wake-up.
//!
//! All time in which a CPU is not idle is charged to one kind of wake-up, so the kinds add up to the machine's busy
//! time:
//!
//! | time | charged to |
//! |---|---|
//! | of a task, from the switch to it to the switch away from it | the kind of its last wake-up |
//! | from an idle CPU's exit from its idle state to the switch | the wake-up of the task to which it switches |
//! | of the entry to an idle state | the wake-up of the task that left |
//! | of a waker in a wake-up: the search, and the run queue's lock until the wakee is enqueued | the wakee's wake-up |

use super::stats::{CpuTimeOf, CpuTimeRegret};
use crate::machine_state::WINDOW_NS;
use std::ops::Range;
use wakelab_events::sim::Task;
use wakelab_sched::cpumask::Cpu;

/// The result of a task's last wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WakeupKind {
    /// It had none yet or none with a choice, or does not belong to the workload.
    #[default]
    Other,
    /// It was put on an idle CPU.
    OnIdle,
    /// It was put on a CPU that looked idle and had been claimed.
    OnClaimed,
    /// It was put on a busy CPU.
    OnBusy,
}

/// The present activity of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// It is in its idle state.
    Idle,
    /// It leaves its idle state, for a task that is not known yet.
    LeavesIdle,
    /// It runs a task, or enters the idle state after it.
    Runs(Task),
}

#[derive(Clone, Copy, Debug)]
struct CpuState {
    activity: Activity,
    /// The wakee that it is putting on a run queue.
    enqueues: Option<Task>,
    /// The time up to which it is charged, ns.
    charged_until: u64,
}

/// The counts of a window of the state's detector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    pub busy_ns: u64,
    pub wakeups: u64,
}

/// Charges the machine's busy time to the kinds of wake-ups.
#[derive(Clone, Debug)]
pub struct CpuTimeLedger {
    measured: Range<u64>,
    cpus: Vec<CpuState>,
    /// By task.
    kinds: Vec<WakeupKind>,
    /// By task: the CPU that is putting it on a run queue.
    enqueued_by: Vec<Option<Cpu>>,
    charged: CpuTimeRegret,
    /// From the start of the run on.
    windows: Vec<Window>,
}

impl CpuTimeLedger {
    /// An empty ledger of a run that begins with all CPUs idle. The kinds are charged for the `measured` part only, ns.
    pub fn new(measured: Range<u64>, nr_cpus: u32) -> Self {
        let idle = CpuState { activity: Activity::Idle, enqueues: None, charged_until: 0 };
        CpuTimeLedger {
            measured,
            cpus: vec![idle; nr_cpus as usize],
            kinds: Vec::new(),
            enqueued_by: Vec::new(),
            charged: CpuTimeRegret::default(),
            windows: Vec::new(),
        }
    }

    /// Receives a CPU's switch to `next`.
    pub fn switch(&mut self, time: u64, cpu: Cpu, next: Option<Task>) {
        let c = self.cpus[cpu as usize];
        self.charge(cpu, time, next.filter(|_| c.activity == Activity::LeavesIdle));
        let c = &mut self.cpus[cpu as usize];
        c.enqueues = None;
        // Without a next task it enters the idle state, which is still charged to the task that left.
        if let Some(next) = next {
            c.activity = Activity::Runs(next);
        }
    }

    /// Receives that a CPU has entered its idle state, or begins to leave it.
    pub fn idle(&mut self, time: u64, cpu: Cpu, entered: bool) {
        self.charge(cpu, time, None);
        self.cpus[cpu as usize].activity = if entered { Activity::Idle } else { Activity::LeavesIdle };
    }

    /// Receives that a wake-up which `cpu` began at `began` has chosen a CPU at `time`. With `enqueues` it then takes
    /// the run queue's lock.
    pub fn wakeup(&mut self, (began, time): (u64, u64), cpu: Cpu, wakee: Task, kind: WakeupKind, enqueues: bool) {
        self.charge(cpu, began, None);
        let index = self.index_of(wakee);
        self.kinds[index] = kind;
        self.charge(cpu, time, Some(wakee));
        if enqueues {
            self.cpus[cpu as usize].enqueues = Some(wakee);
            self.enqueued_by[index] = Some(cpu);
        }
        if self.measured.contains(&time) {
            self.charged_to(kind).wakeups += 1;
        }
        if kind != WakeupKind::Other {
            self.window(time).wakeups += 1;
        }
    }

    /// Receives that a task is on its run queue.
    pub fn enqueued(&mut self, time: u64, task: Task) {
        let index = self.index_of(task);
        if let Some(cpu) = self.enqueued_by[index].take()
            && self.cpus[cpu as usize].enqueues == Some(task)
        {
            self.charge(cpu, time, None);
            self.cpus[cpu as usize].enqueues = None;
        }
    }

    /// The time charged in the measured part of a run that ended at `end`, and the windows.
    pub fn finish(mut self, end: u64) -> (CpuTimeRegret, Vec<Window>) {
        for cpu in 0..self.cpus.len() as Cpu {
            self.charge(cpu, end, None);
        }
        self.window(end);
        (self.charged, self.windows)
    }

    /// Charges a CPU's time up to `time`: to `to` if it is given, else to the task that the CPU's activity is for.
    fn charge(&mut self, cpu: Cpu, time: u64, to: Option<Task>) {
        let CpuState { activity, enqueues, charged_until } = self.cpus[cpu as usize];
        if time <= charged_until {
            return;
        }
        self.cpus[cpu as usize].charged_until = time;
        let task = match (to.or(enqueues), activity) {
            (Some(task), _) => Some(task),
            (None, Activity::Runs(task)) => Some(task),
            (None, Activity::LeavesIdle) => None,
            (None, Activity::Idle) => return,
        };
        let kind = task.map_or(WakeupKind::Other, |task| self.kinds.get(task as usize).copied().unwrap_or_default());
        let measured = time.min(self.measured.end).saturating_sub(charged_until.max(self.measured.start));
        self.charged_to(kind).busy_ns += measured;
        let mut from = charged_until;
        while from < time {
            let to = time.min((from / WINDOW_NS + 1) * WINDOW_NS);
            self.window(from).busy_ns += to - from;
            from = to;
        }
    }

    fn charged_to(&mut self, kind: WakeupKind) -> &mut CpuTimeOf {
        match kind {
            WakeupKind::Other => &mut self.charged.other,
            WakeupKind::OnIdle => &mut self.charged.on_idle,
            WakeupKind::OnClaimed => &mut self.charged.on_claimed,
            WakeupKind::OnBusy => &mut self.charged.on_busy,
        }
    }

    /// The window that contains `time`, which is created if it does not exist.
    fn window(&mut self, time: u64) -> &mut Window {
        let index = (time / WINDOW_NS) as usize;
        if self.windows.len() <= index {
            self.windows.resize(index + 1, Window::default());
        }
        &mut self.windows[index]
    }

    /// The index of a task in `kinds` and `enqueued_by`, which are extended if it is new.
    fn index_of(&mut self, task: Task) -> usize {
        let index = task as usize;
        if self.kinds.len() <= index {
            self.kinds.resize(index + 1, WakeupKind::Other);
            self.enqueued_by.resize(index + 1, None);
        }
        index
    }
}
