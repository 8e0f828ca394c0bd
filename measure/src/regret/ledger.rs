//! Whose CPU time it was.
//!
//! All time in which a CPU is not idle is charged to one kind of wake-up, so that the kinds add up to the machine's busy time:
//!
//! - the time of a task, from the switch to it to the switch from it, to the kind of its last wake-up;
//! - the time from where an idle CPU begins to leave its idle state to the switch, to the wake-up of the task that it switches
//!   to;
//! - the time to enter an idle state, to the wake-up of the task that left;
//! - of a waker's time, that of the wake-up (the search, and taking the run queue's lock up to where the wakee is seen there),
//!   to the wakee's wake-up.

use super::stats::{CpuTimeOf, CpuTimeRegret};
use crate::state::WINDOW_NS;
use std::ops::Range;
use wakelab_events::sim::Task;
use wakelab_sched::cpumask::Cpu;

/// What became of a task's last wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// None yet, none with a choice, or no task of the workload.
    #[default]
    Other,
    /// Put on an idle CPU.
    OnIdle,
    /// Put on a CPU that looked idle and had been claimed.
    OnClaimed,
    /// Put on a busy CPU.
    OnBusy,
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// In its idle state.
    Idle,
    /// Leaving it: for a task that is not known yet.
    Leaving,
    /// Running a task, or entering the idle state after it.
    For(Task),
}

#[derive(Clone, Copy, Debug)]
struct OfCpu {
    doing: Doing,
    /// The wakee that it is putting on a run queue.
    enqueues: Option<Task>,
    /// Up to when its time is charged, ns.
    since: u64,
}

/// What was counted in a window of the state's detector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    pub busy_ns: u64,
    pub wakeups: u64,
}

/// The machine's busy time.
#[derive(Clone, Debug)]
pub struct Ledger {
    measured: Range<u64>,
    cpus: Vec<OfCpu>,
    /// By task.
    kinds: Vec<Kind>,
    /// By task: the CPU that is putting it on a run queue.
    enqueued_by: Vec<Option<Cpu>>,
    charged: CpuTimeRegret,
    /// From the start of the run on.
    windows: Vec<Window>,
}

impl Ledger {
    /// Of a run that begins with all CPUs idle; the kinds are of the measured part, ns.
    pub fn new(measured: Range<u64>, nr_cpus: u32) -> Self {
        let idle = OfCpu { doing: Doing::Idle, enqueues: None, since: 0 };
        Ledger {
            measured,
            cpus: vec![idle; nr_cpus as usize],
            kinds: Vec::new(),
            enqueued_by: Vec::new(),
            charged: CpuTimeRegret::default(),
            windows: Vec::new(),
        }
    }

    /// A CPU has switched to `next`.
    pub fn switch(&mut self, time: u64, cpu: Cpu, next: Option<Task>) {
        let c = self.cpus[cpu as usize];
        self.charge(cpu, time, next.filter(|_| c.doing == Doing::Leaving));
        let c = &mut self.cpus[cpu as usize];
        c.enqueues = None;
        // Without a next task it enters the idle state, still for the one that left.
        if let Some(next) = next {
            c.doing = Doing::For(next);
        }
    }

    /// A CPU is in its idle state, or begins to leave it.
    pub fn idle(&mut self, time: u64, cpu: Cpu, entered: bool) {
        self.charge(cpu, time, None);
        self.cpus[cpu as usize].doing = if entered { Doing::Idle } else { Doing::Leaving };
    }

    /// A wake-up that `cpu` began at `began` has chosen at `time`; with `enqueues` it goes on to take the run queue's lock.
    /// `counts` where the wakee belongs to the workload and had a choice.
    pub fn wakeup(&mut self, (began, time): (u64, u64), cpu: Cpu, wakee: Task, kind: Kind, enqueues: bool) {
        self.charge(cpu, began, None);
        let at = self.room(wakee);
        self.kinds[at] = kind;
        self.charge(cpu, time, Some(wakee));
        if enqueues {
            self.cpus[cpu as usize].enqueues = Some(wakee);
            self.enqueued_by[at] = Some(cpu);
        }
        if self.measured.contains(&time) {
            self.of(kind).wakeups += 1;
        }
        if kind != Kind::Other {
            self.window(time).wakeups += 1;
        }
    }

    /// A task is seen on its run queue.
    pub fn enqueued(&mut self, time: u64, task: Task) {
        let at = self.room(task);
        if let Some(cpu) = self.enqueued_by[at].take()
            && self.cpus[cpu as usize].enqueues == Some(task)
        {
            self.charge(cpu, time, None);
            self.cpus[cpu as usize].enqueues = None;
        }
    }

    /// The run is over: what was charged in the measured part, and the windows.
    pub fn finish(mut self, end: u64) -> (CpuTimeRegret, Vec<Window>) {
        for cpu in 0..self.cpus.len() as Cpu {
            self.charge(cpu, end, None);
        }
        self.window(end);
        (self.charged, self.windows)
    }

    /// Charges a CPU's time up to `time`: to `to`, else to whom it is for.
    fn charge(&mut self, cpu: Cpu, time: u64, to: Option<Task>) {
        let OfCpu { doing, enqueues, since } = self.cpus[cpu as usize];
        if time <= since {
            return;
        }
        self.cpus[cpu as usize].since = time;
        let task = match (to.or(enqueues), doing) {
            (Some(task), _) => Some(task),
            (None, Doing::For(task)) => Some(task),
            (None, Doing::Leaving) => None,
            (None, Doing::Idle) => return,
        };
        let kind = task.map_or(Kind::Other, |task| self.kinds.get(task as usize).copied().unwrap_or_default());
        let measured = time.min(self.measured.end).saturating_sub(since.max(self.measured.start));
        self.of(kind).busy_ns += measured;
        let mut from = since;
        while from < time {
            let until = time.min((from / WINDOW_NS + 1) * WINDOW_NS);
            self.window(from).busy_ns += until - from;
            from = until;
        }
    }

    fn of(&mut self, kind: Kind) -> &mut CpuTimeOf {
        match kind {
            Kind::Other => &mut self.charged.other,
            Kind::OnIdle => &mut self.charged.on_idle,
            Kind::OnClaimed => &mut self.charged.on_claimed,
            Kind::OnBusy => &mut self.charged.on_busy,
        }
    }

    fn window(&mut self, time: u64) -> &mut Window {
        let at = (time / WINDOW_NS) as usize;
        if self.windows.len() <= at {
            self.windows.resize(at + 1, Window::default());
        }
        &mut self.windows[at]
    }

    fn room(&mut self, task: Task) -> usize {
        let at = task as usize;
        if self.kinds.len() <= at {
            self.kinds.resize(at + 1, Kind::Other);
            self.enqueued_by.resize(at + 1, None);
        }
        at
    }
}
