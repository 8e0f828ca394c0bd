//! The runs whose speed is measured. Every run begins with a machine at rest.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_pm::governor::governor;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sched::domain::{Numbering, Uniform};
use wakelab_sim::{Mechanisms, Outcome, PmSide, Setup, run};
use wakelab_workload::{Load, Work, Workload, build, synthetic};

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// A machine, a kernel's features and a workload.
pub struct Case {
    machine: &'static str,
    switches: &'static str,
    workload: Workload,
    mechanisms: Mechanisms,
    governor: Option<&'static str>,
}

impl Case {
    /// Simulates `until` ns with nobody listening.
    pub fn run(&self, until: u64) -> Outcome {
        self.run_with(until, &mut ())
    }

    /// Simulates `until` ns.
    pub fn run_with(&self, until: u64, sink: &mut impl Sink) -> Outcome {
        let machine = machine(self.machine);
        let kernel = Preset::get("v5.19-rc1").expect("a preset");
        let features = self.switches.parse::<Switches>().expect("switches").on(kernel.features);
        let Case { workload, mechanisms, .. } = self;
        let mechanisms = *mechanisms;
        let of = |name| PmSide::of(governor(name).expect("a governor"), &IDLE_GOVERNORS[0]);
        let setup = Setup {
            machine: &machine,
            kernel,
            features,
            workload,
            seed: 1,
            until,
            mechanisms,
            observer_cost: 0,
            pm: self.governor.map(of),
            scheduler: None,
        };
        run(&setup, sink, &AtomicBool::new(false)).expect("a run")
    }
}

/// 1024 CPUs like those of bench-1024, in 64 LLCs of 16 CPUs.
pub const LLCS_OF_16: &str = "bench-1024, LLCs of 16";

fn machine(name: &str) -> Machine {
    if name != LLCS_OF_16 {
        return wakelab_machine::get(name).expect("a machine");
    }
    let shape = Uniform { packages: 2, nodes: 2, llcs: 32, numbering: Numbering::Split, ..Uniform::new(8, 2) };
    Machine { topology: shape.topology(), ..wakelab_machine::get("bench-1024").expect("a machine") }
}

/// 224 pairs on 112 CPUs, started within `ramp` ns: in the migrating state, and stacked, which they are from the start
/// under SIS_UTIL without a ramp.
pub fn netperf(ramp: u64) -> [(&'static str, Case); 2] {
    let case = |switches, mechanisms| {
        let workload = build("netperf:TCP_RR", Load::Instances(224), 112, &BTreeMap::from([("ramp".to_owned(), ramp)]));
        Case {
            machine: "intel-1s56c112t",
            switches,
            workload: workload.expect("a workload"),
            mechanisms,
            governor: None,
        }
    };
    let stacked = Mechanisms { ramp: false, ..Mechanisms::default() };
    [("migrating", case("SIS_PROP", Mechanisms::default())), ("stacked", case("NO_SIS_PROP,SIS_UTIL", stacked))]
}

/// Two tasks for each CPU, 50 us of work and 50 us of sleep.
pub fn run_sleep(machine: &'static str, cpus: u32) -> Case {
    let half = Work::uniform(50_000, 20);
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    Case { machine, switches: "", workload: synthetic::run_sleep(2 * cpus, half, half), mechanisms, governor: None }
}

/// The same on 8 CPUs with frequencies, idle states and power, whether or not these are simulated.
pub fn governed() -> [(&'static str, Case); 4] {
    let case = |governor| Case { governor, ..run_sleep("i7-2600k", 8) };
    [None, Some("performance"), Some("schedutil"), Some("ondemand")].map(|name| (name.unwrap_or("none"), case(name)))
}
