//! `cargo xtask vm balance-passes`: the load balancer.

use std::path::PathBuf;

use anyhow::Result;

use super::conform::recordings;
use super::{folder, kernels, qemu10, record, scale, wakelab, words};
use crate::programs::{program_here, run as run_program};

/// Records passes of the load balancer in guests of each kernel and holds the model's find_busiest_group() against the
/// kernel's; of kernels with cache-aware balancing also where processes prefer an LLC
///
/// Fails where a pass differs.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long the loads are
    #[arg(default_value = "2", value_parser = scale)]
    scale: u32,
    /// Where recordings stay
    folder: Option<PathBuf>,
}

/// Records and compares.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let wakelab = wakelab()?;
    let out = folder(arguments.folder.as_deref(), "balance")?;
    // In turns, by counted instructions: less changes while a pass reads, whatever else the host does.
    let qemu = qemu10()?;
    let cell = |kernel: &str, topology: &str, loads: &str| {
        let to = out.join(format!("{kernel}-{topology}"));
        if to.exists() {
            return Ok(());
        }
        let get = format!("rec:{}", to.display());
        let script = format!("RECORD_ARGS='--balance --decisions-only' guest-loads {} {loads}", arguments.scale);
        record([
            "--kernel",
            kernel,
            "--topology",
            topology,
            "--cpu-accel",
            "counted",
            "--qemu",
            &qemu,
            "--get",
            &get,
            "--",
            &script,
        ])
    };
    // SMT, LLC and package; two nodes.
    let topologies = words("WAKELAB_TOPOLOGIES", "2x1x2x2 2x1x4x1,nodes=2");
    for kernel in kernels() {
        for topology in &topologies {
            cell(&kernel, topology, "hackbench double half fork")?;
        }
    }
    // Two LLCs, with and without SMT.
    for kernel in words("WAKELAB_CACHE_KERNELS", "7.2") {
        for topology in ["2x1x4x1", "2x1x2x2"] {
            cell(&kernel, topology, "threads")?;
        }
    }
    run_program(program_here(wakelab).args(["conform", "--disagreements", "3"]).args(recordings(&out)?))
}
