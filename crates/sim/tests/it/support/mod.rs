//! Small workloads, and what is heard of their runs.

pub mod heard;
pub mod places;
pub mod power;
pub mod spread;
pub mod watched;

use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Call, Op, Work, Workload};

/// A millisecond, ns.
pub const MS: u64 = 1_000_000;

/// Work or time without spread.
pub const fn ns(ns: u64) -> Work {
    Work::uniform(ns, 0)
}

/// A call as a step.
pub const fn call(call: Call) -> Op {
    Op::Call(call)
}

/// Back to that step, so many times in all; 0 for ever.
pub fn back(to: u32, times: u32) -> Op {
    Op::Repeat { to, times: (times != 0).then_some(times) }
}

/// Tasks with a program each, which all have all resources (name and capacity), on these CPUs.
pub fn workload(programs: Vec<Vec<Op>>, resources: &[(&str, u32)], cpus: Option<Vec<u32>>) -> Workload {
    let mut workload = of_programs(programs, resources);
    workload.tasks.iter_mut().for_each(|task| task.affinity = cpus.clone());
    workload
}

/// What tasks tell of their progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    first: Option<u32>,
    /// Of each `Done`: the task's place in the workload, when, and how long since its `Begin`, ns.
    pub done: Vec<(usize, u64, u64)>,
    /// Who exited, and when.
    pub exits: Vec<(usize, u64)>,
}

impl Told {
    /// When a task said `Done`, ns.
    pub fn times(&self, task: usize) -> Vec<u64> {
        self.done.iter().filter(|done| done.0 == task).map(|done| done.1).collect()
    }

    fn place(&self, task: u32) -> usize {
        (task - self.first.expect("it was forked")) as usize
    }
}

impl Sink for Told {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first = Some(self.first.map_or(task, |first| first.min(task)));
            }
            Event::Done { task, latency } => self.done.push((self.place(task), time, latency)),
            Event::Exit { task } => self.exits.push((self.place(task), time)),
            _ => {}
        }
    }
}

/// Runs on a machine; without what disturbs a worked example if `quiet`.
pub fn simulate(
    (machine, kernel): (&str, &str),
    workload: &Workload,
    (seed, until): (u64, u64),
    quiet: bool,
    sink: &mut impl Sink,
) -> Result<Outcome, SimError> {
    let all = Mechanisms::default();
    let mechanisms = if quiet { Mechanisms { noise: false, cold_cache: false, ..all } } else { all };
    simulate_with(mechanisms, (machine, kernel), workload, (seed, until), sink)
}

/// Runs on a machine with these mechanisms.
pub fn simulate_with(
    mechanisms: Mechanisms,
    (machine, kernel): (&str, &str),
    workload: &Workload,
    (seed, until): (u64, u64),
    sink: &mut impl Sink,
) -> Result<Outcome, SimError> {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let features = kernel.features;
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload,
        seed,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run_dyn(&setup, sink, &AtomicBool::new(false))
}

/// Runs the tasks quietly on CPU 0 of v6.1.
pub fn on_one_cpu(programs: Vec<Vec<Op>>, resources: &[(&str, u32)], until: u64) -> Told {
    let mut told = Told::default();
    let workload = workload(programs, resources, Some(vec![0]));
    simulate(("test-1c", "v6.1"), &workload, (1, until), true, &mut told).expect("a run");
    told
}
