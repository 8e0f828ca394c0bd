//! Runs under governors of frequencies and idle states.

use crate::support::MS;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_pm::governor::governor;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sim::{Mechanisms, Outcome, PmSide, Setup, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Op, Work, Workload};

/// A side with a governor of that name.
pub fn side(name: &str) -> PmSide {
    PmSide::of(governor(name).unwrap(), &IDLE_GOVERNORS[0])
}

/// A task that works and sleeps, for ever, on CPU 0.
pub fn periodic(work: u64, period: u64) -> Workload {
    let ns = |ns| Work::uniform(ns, 0);
    let ops = vec![Op::Run(ns(work)), Op::Sleep(ns(period)), Op::Repeat { to: 0, times: None }];
    let mut workload = of_programs(vec![ops], &[]);
    workload.tasks[0].affinity = Some(vec![0]);
    workload
}

pub fn setup<'a>(machine: &'a Machine, kernel: &str, workload: &'a Workload, pm: Option<PmSide>) -> Setup<'a> {
    let kernel = Preset::get(kernel).unwrap();
    Setup {
        machine,
        kernel,
        features: kernel.features,
        workload,
        seed: 1,
        until: 400 * MS,
        mechanisms: Mechanisms { noise: false, cold_cache: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm,
        scheduler: None,
    }
}

pub fn outcome(setup: &Setup<'_>) -> Outcome {
    run_dyn(setup, &mut (), &AtomicBool::new(false)).unwrap()
}
