//! Runs under a scheduler.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_scx_core::ops::Scheduler;
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Op, Work, Workload};

/// A millisecond, ns.
pub const MS: u64 = 1_000_000;

/// How often each task has said `Done`.
#[derive(Default, Debug, PartialEq)]
pub struct Done(pub BTreeMap<u32, u32>);

impl Sink for Done {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Done { task, .. } = *event {
            *self.0.entry(task).or_default() += 1;
        }
    }
}

/// Runs a load under a scheduler of 7.2.
pub fn simulate(
    scheduler: &dyn Scheduler,
    machine: &str,
    load: &Workload,
    until: u64,
) -> (Result<Outcome, SimError>, Done) {
    simulate_on("v7.2", scheduler, machine, load, until)
}

/// The same of a kernel.
pub fn simulate_on(
    kernel: &str,
    scheduler: &dyn Scheduler,
    machine: &str,
    load: &Workload,
    until: u64,
) -> (Result<Outcome, SimError>, Done) {
    let mut done = Done::default();
    (run(kernel, scheduler, (machine, load), until, &mut done, &AtomicBool::new(false)), done)
}

/// Runs a load on the machine `test-2c`, under a scheduler of 7.2, until a time or until `stop` is set.
pub fn simulate_until(
    scheduler: &dyn Scheduler,
    load: &Workload,
    until: u64,
    stop: &AtomicBool,
) -> Result<Outcome, SimError> {
    run("v7.2", scheduler, ("test-2c", load), until, &mut Done::default(), stop)
}

fn run(
    kernel: &str,
    scheduler: &dyn Scheduler,
    (machine, load): (&str, &Workload),
    until: u64,
    done: &mut Done,
    stop: &AtomicBool,
) -> Result<Outcome, SimError> {
    let machine = wakelab_machine::get(machine).unwrap();
    let kernel = Preset::get(kernel).unwrap();
    let setup = Setup {
        machine: &machine,
        kernel,
        features: kernel.features,
        workload: load,
        seed: 1,
        until,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: Some(scheduler),
    };
    run_dyn(&setup, done, stop)
}

/// Tasks that compute for ever, a millisecond after the other.
pub fn spinners(nices: &[i8]) -> Workload {
    let program = vec![Op::Run(Work::uniform(MS, 0)), Op::Done, Op::Repeat { to: 0, times: None }];
    let mut load = of_programs(vec![program; nices.len()], &[]);
    load.tasks.iter_mut().zip(nices).for_each(|(task, &nice)| task.nice = nice);
    load
}
