//! For `bench/same-bytes`: a digest of every event of some runs, to be compared between builds of different profiles.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_sim::{Mechanisms, Setup, run};
use wakelab_workload::{Load, build};

#[derive(Default)]
struct Digest {
    text: String,
    hash: DefaultHasher,
    events: u64,
}

impl Sink for Digest {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.text.clear();
        write!(self.text, "{time} {event:?}").expect("a string takes all");
        self.text.hash(&mut self.hash);
        self.events += 1;
    }
}

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
            };
            let mut digest = Digest::default();
            let outcome = run(&setup, &mut digest, &AtomicBool::new(false)).expect("a run");
            let Digest { hash, events, .. } = digest;
            println!(
                "{} {}: {events} events, {:016x}, {} wake-ups",
                machine.name,
                kernel.name,
                hash.finish(),
                outcome.wakeups
            );
        }
    }
}
