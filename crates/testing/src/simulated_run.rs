//! A simulated run, for tests that write one.

use wakelab_events::simulated::RunInfo;
use wakelab_kernel::{Feature, Preset};
use wakelab_sched::domain::{Arch, Topology, Uniform};

/// Two CPUs in one LLC.
pub fn topology() -> Topology {
    Uniform::new(2, 1).topology()
}

/// A run on that machine.
pub fn run_info(topology: &Topology) -> RunInfo<'_> {
    let kernel = Preset::get("v6.1").expect("a kernel");
    RunInfo {
        machine: "two",
        topology,
        arch: Arch::Arm64,
        reclaim_distance: None,
        kernel,
        features: kernel.features.with(Feature::SIS_UTIL, false),
        variant: "NO_SIS_UTIL",
        side: "with",
        workload: "netperf:TCP_RR",
        load: "2 threads",
        repeat: 3,
        seed: u64::MAX,
        settle_ns: 5,
        end_ns: 9,
    }
}
