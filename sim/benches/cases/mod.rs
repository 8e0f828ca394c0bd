//! The runs that are measured: by the benchmark, by `bench/instructions`, and for their memory.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sim::{Mechanisms, Outcome, Setup, run};
use wakelab_workload::{Load, Work, Workload, build, synthetic};

/// A millisecond, ns.
pub const MS: u64 = 1_000_000;

/// When netperf has started all of its pairs and the idle hints have settled, ns.
#[allow(dead_code, reason = "not every user of this file needs it")]
pub const STARTED: u64 = 20 * MS;

/// What is run, from a machine at rest.
pub struct Case {
    machine: Machine,
    switches: &'static str,
    workload: Workload,
    mechanisms: Mechanisms,
}

impl Case {
    /// Runs to `until`, ns.
    pub fn run<S: Sink>(&self, until: u64, sink: &mut S) -> Outcome {
        let kernel = Preset::get("v5.19-rc1").expect("a preset");
        let features = self.switches.parse::<Switches>().expect("switches").on(kernel.features);
        let Case { machine, workload, mechanisms, .. } = self;
        let setup =
            Setup { machine, kernel, features, workload, seed: 1, until, mechanisms: *mechanisms, observer_cost: 0 };
        run(&setup, sink, &AtomicBool::new(false)).expect("a run")
    }
}

/// netperf with 224 pairs on 112 CPUs: with SIS_PROP the tasks migrate at most wake-ups. Without a ramp SIS_UTIL sees a
/// full LLC from the start, does not search, and the tasks stay stacked.
#[allow(dead_code, reason = "not every user of this file needs it")]
pub fn netperf(stacked: bool) -> Case {
    let ramp = BTreeMap::from([("ramp".to_owned(), STARTED)]);
    Case {
        machine: wakelab_machine::get("intel-1s56c112t").expect("a machine"),
        switches: if stacked { "NO_SIS_PROP,SIS_UTIL" } else { "SIS_PROP,NO_SIS_UTIL" },
        workload: build("netperf:TCP_RR", Load::Instances(224), 112, &ramp).expect("a workload"),
        mechanisms: Mechanisms { ramp: !stacked, ..Mechanisms::default() },
    }
}

/// Two tasks for each CPU, each with 50 us of work and 50 us of sleep in turn (20% of jitter: they fall out of step), and
/// no noise.
pub fn run_sleep(machine: &str) -> Case {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let half = Work { ns: 50_000, jitter_pct: 20 };
    let workload = synthetic::run_sleep(2 * machine.nr_cpus(), half, half);
    Case { machine, switches: "", workload, mechanisms: Mechanisms { noise: false, ..Mechanisms::default() } }
}
