//! A run to be recorded.

use std::fs;
use std::path::Path;
use wakelab_events::simulated::RunInfo;
use wakelab_kernel::{Feature, Preset};
use wakelab_sched::domain::{Arch, Topology, Uniform};

/// Where it comes to lie.
#[allow(dead_code, reason = "not every test looks there")]
pub const RUN: &str = "workload=netperf%3ATCP_RR/load=2%20threads/side=with/variant=NO_SIS_UTIL/repeat=3";

pub fn topology() -> Topology {
    Uniform::new(2, 1).topology()
}

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

/// What is in a folder.
#[allow(dead_code, reason = "not every test looks there")]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}
