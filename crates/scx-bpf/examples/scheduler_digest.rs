//! For `cargo xtask bench same-bytes`: a digest of every event of some runs under the kernel's scx_simple, to be
//! compared between builds of different profiles.

use std::sync::atomic::AtomicBool;
use wakelab_events::Digest;
use wakelab_kernel::Preset;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::Work;
use wakelab_workload::synthetic::{fork_exit, ping_pong, run_sleep};

const SIMPLE: &[u8] = include_bytes!("../../bpf/tests/data/scx_simple.bpf.o");

fn main() {
    let scheduler = BpfScheduler::new("scx_simple", SIMPLE, "scx_simple").expect("an object");
    let kernel = Preset::get("v7.2").expect("a preset");
    let us = |us: u64| Work::uniform(us * 1_000, 50);
    for (machine, until) in [("test-2s", 20), ("intel-kaby-lake-4c8t", 40)] {
        let machine = wakelab_machine::get(machine).expect("a machine");
        let loads = [("pairs", ping_pong(6)), ("sleepers", run_sleep(40, us(300), us(500))), ("forks", fork_exit(4))];
        for (name, workload) in loads {
            let setup = Setup {
                machine: &machine,
                kernel,
                features: kernel.features,
                workload: &workload,
                seed: 1,
                until: until * 1_000_000,
                mechanisms: Mechanisms::default(),
                observer_cost: 0,
                pm: None,
                scheduler: Some(&scheduler),
            };
            let mut digest = Digest::default();
            let outcome = run_dyn(&setup, &mut digest, &AtomicBool::new(false)).expect("a run");
            let (hash, events) = digest.finish();
            println!("{} {name}: {events} events, {hash:016x}, {} wake-ups", machine.name, outcome.wakeups);
        }
    }
}
