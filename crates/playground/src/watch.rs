//! What happens in a step: wake-ups, searches, reasons and latencies.

use serde::Serialize;
use wakelab_events::sim::{Event, Sink, Task};
use wakelab_measure::{Latency, SearchStats, Waits};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::Reason;

/// In place of the time of a wake-up that is over.
const NOT_WOKEN: u64 = u64::MAX;

/// How long a window is over whose wake-ups latencies are taken, ns: that of the two states.
const LATENCY_WINDOW_NS: u64 = wakelab_measure::WINDOW_NS;

/// In [`Watch::reason_of`]: no wake-up has placed the task.
pub(crate) const NOT_PLACED: i8 = -1;

/// The events in one of several stretches of time of the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// Transactions done.
    pub done: u64,
    /// Wake-ups of the workload's tasks.
    pub wakeups: u64,
    /// Search statistics of all wake-ups.
    pub search: SearchStats,
    /// Utilisation of the LLCs at its end, 0 to 1: their mean, weighted by their CPUs.
    pub llc_util: f64,
    /// `nr_idle_scan` at its end: the sum of the LLCs'; `None` without SIS_UTIL.
    pub nr_idle_scan: Option<i64>,
}

/// The events between two frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Wake-ups of all tasks that chose a CPU.
    pub choices: u64,
    /// Those that did not: the wakee was still on its CPU or on its run queue, or may use one CPU only.
    pub no_choice: u64,
    /// Search statistics.
    pub search: SearchStats,
    /// How many chose by each reason, in the order of `Reason::ALL`.
    pub reasons: [u64; Reason::ALL.len()],
    /// Migrations by load balancing.
    pub migrations: u64,
}

/// Listens to a run for the page. It changes nothing of the run.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    settle_ns: u64,
    /// The bin that is not over.
    pub bin: Bin,
    /// Since the last frame.
    pub step: Step,
    /// Transactions done since the start, and since measuring began.
    pub done: [u64; 2],
    /// By task: the place in `Reason::ALL` of the reason by which its last wake-up placed it.
    pub reason_of: Vec<i8>,
    /// By task of the workload: when its wake-up began, ns.
    woken: Vec<u64>,
    window_end: u64,
    window: Waits,
    /// Wake-up latencies of the last whole window.
    pub latency: Latency,
    /// By the lowest CPU of an LLC: its utilisation as balancing last summed it, 0 to 1.
    pub balanced: Vec<Option<f64>>,
}

impl Watch {
    pub(crate) fn new(settle_ns: u64, nr_cpus: u32) -> Self {
        Watch {
            settle_ns,
            bin: Bin::default(),
            step: Step::default(),
            done: [0; 2],
            reason_of: Vec::new(),
            woken: Vec::new(),
            window_end: LATENCY_WINDOW_NS,
            window: Waits::new(2),
            latency: Latency::default(),
            balanced: vec![None; nr_cpus as usize],
        }
    }

    /// The reason by which a task was last placed.
    pub(crate) fn reason_of(&self, task: Task) -> i8 {
        self.reason_of.get(task as usize).copied().unwrap_or(NOT_PLACED)
    }

    /// The utilisation of the LLC whose lowest CPU this is, as balancing last summed it, 0 to 1; `None` if it has not.
    pub(crate) fn balanced(&self, llc: Cpu) -> Option<f64> {
        self.balanced[llc as usize]
    }

    #[cold]
    fn close_window(&mut self, time: u64) {
        self.latency = self.window.latency();
        self.window = Waits::new(2);
        self.window_end = (time / LATENCY_WINDOW_NS + 1) * LATENCY_WINDOW_NS;
    }
}

fn set<T: Clone>(list: &mut Vec<T>, at: Task, value: T, other: T) {
    let at = at as usize;
    if at >= list.len() {
        list.resize(at + 1, other);
    }
    list[at] = value;
}

/// The place of each reason in `Reason::ALL`.
fn place(reason: Reason) -> usize {
    Reason::ALL.iter().position(|&other| other == reason).expect("all reasons are there")
}

impl Sink for Watch {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if time >= self.window_end {
            self.close_window(time);
        }
        match *event {
            Event::Wakeup { ref decision, wakee, began, workload, .. } => {
                match decision {
                    Some(decision) => {
                        let reason = place(decision.reason);
                        self.step.choices += 1;
                        self.step.reasons[reason] += 1;
                        self.step.search.add(&decision.count);
                        self.bin.search.add(&decision.count);
                        set(&mut self.reason_of, wakee, reason as i8, NOT_PLACED);
                    }
                    None => self.step.no_choice += 1,
                }
                if workload {
                    self.bin.wakeups += 1;
                    set(&mut self.woken, wakee, began, NOT_WOKEN);
                }
            }
            Event::Switch { next: Some(next), .. } => {
                if let Some(woken) = self.woken.get_mut(next as usize) {
                    let began = std::mem::replace(woken, NOT_WOKEN);
                    if began != NOT_WOKEN {
                        self.window.record(time - began);
                    }
                }
            }
            Event::Done { .. } => {
                self.bin.done += 1;
                self.done[0] += 1;
                self.done[1] += u64::from(time >= self.settle_ns);
            }
            Event::Migrate { .. } => self.step.migrations += 1,
            Event::IdleScan { llc, sum_util, weight, .. } => {
                self.balanced[llc as usize] = Some(sum_util as f64 / (f64::from(weight) * 1024.0));
            }
            _ => {}
        }
    }
}
