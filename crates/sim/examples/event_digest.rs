//! For `cargo xtask bench same-bytes`: a digest of every event of some runs, to be compared between builds of different
//! profiles.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::Digest;
use wakelab_kernel::Preset;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Load, build};

fn main() {
    for (machine, until) in [("test-2s", 20), ("intel-1s56c112t", 8)] {
        for kernel in ["v5.19-rc1", "v5.19-rc2-tip", "v6.1"] {
            let machine = wakelab_machine::get(machine).expect("a machine");
            let cpus = machine.topology.nr_cpus();
            let options = BTreeMap::from([("ramp".to_owned(), 5_000_000)]);
            let workload = build("netperf:TCP_RR", Load::Percent(200), cpus, &options).expect("a workload");
            let kernel = Preset::get(kernel).expect("a preset");
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
                scheduler: None,
            };
            let mut digest = Digest::default();
            let outcome = run_dyn(&setup, &mut digest, &AtomicBool::new(false)).expect("a run");
            let (hash, events) = digest.finish();
            println!("{} {}: {events} events, {:016x}, {} wake-ups", machine.name, kernel.name, hash, outcome.wakeups);
        }
    }
}
