//! What must hold for whatever bytes are a scheduler's object: it is refused, or a run under it ends, be it with the
//! scheduler's error.

use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Op, Work};

/// How long runs are, ns.
const UNTIL: u64 = 1_000_000;

/// Runs two tasks that take turns under the scheduler of an object; how many wake-ups there were, and 1. 0 if it is
/// refused.
pub fn scheduler(bytes: &[u8]) -> usize {
    let Ok(scheduler) = BpfScheduler::new("fuzzed", bytes, "") else { return 0 };
    let machine = wakelab_machine::get("test-2c").expect("a machine");
    let kernel = Preset::get("v7.2").expect("a kernel");
    let program =
        vec![Op::Run(Work::uniform(20_000, 0)), Op::Sleep(Work::uniform(10_000, 0)), Op::Repeat { to: 0, times: None }];
    let load = of_programs(vec![program; 3], &[]);
    let setup = Setup {
        machine: &machine,
        kernel,
        features: kernel.features,
        workload: &load,
        seed: 1,
        until: UNTIL,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: Some(&scheduler),
    };
    match run_dyn(&setup, &mut (), &AtomicBool::new(false)) {
        Ok(outcome) => 1 + outcome.wakeups as usize,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            0
        }
    }
}
