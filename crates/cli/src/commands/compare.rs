//! `wakelab compare`.

use super::simulate::{SimulationFlags, simulate};
use crate::completion;
use crate::flags::{RepeatFlag, SeedFlag};
use crate::output::Exit;
use wakelab_input::{DURATION_MAX_NS, parse_duration};
use wakelab_study::experiment::{Flags, Given, Spec};

pub const EXAMPLE: &str = "\
Example:
  wakelab compare --machine test-8c --kernel v6.12 --workload netperf:TCP_RR \\
      --load 100% --base SIS_UTIL --with NO_SIS_UTIL";

pub const USAGE: &str = "wakelab compare [OPTIONS] --machine <M>... --kernel <K>...
               --workload <W>... --base <SWITCHES> --with [NAME=]<SWITCHES>...";

/// `wakelab compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A name from `machine list`, or a file.
    ///
    /// A name that contains a / or ends in .toml is a file; `wakelab docs machines` describes it. May be repeated.
    #[arg(long, value_name = "MACHINE", required = true, add = completion::machine())]
    machine: Vec<String>,
    /// A name from `kernel list` (v5.19-rc1).
    ///
    /// May be repeated. Sides that name a kernel of their own (kernel=v6.12) do not use it.
    #[arg(long, value_name = "KERNEL", add = completion::kernel())]
    kernel: Vec<String>,
    /// A name from `workload list`, or a file.
    ///
    /// netperf:TCP_RR, a .toml file (`wakelab docs workloads`), or a .json file of rt-app. May be repeated.
    #[arg(long, value_name = "WORKLOAD", required = true, add = completion::workload())]
    workload: Vec<String>,
    /// Instances: 28, 25% or 25%..200%/25%.
    ///
    /// A number (28), % of the machine's CPUs (25%), from..to/step of either (25%..200%/25%), or several of these,
    /// separated by commas. A file of rt-app has its own number of threads, and runs once by default. Give --load once
    /// for all workloads, or once for each, in the order of --workload.
    #[arg(long, value_name = "LOAD")]
    load: Vec<String>,
    /// Features of the base side: A,NO_B.
    ///
    /// Applied on top of the kernel's features, and named as in its features file; also tunables (name=value). ""
    /// switches nothing. kernel=NAME among them gives the side a kernel of its own.
    #[arg(long, value_name = "SWITCHES", add = completion::side())]
    base: String,
    /// Features of the other side: A,NO_B.
    ///
    /// May be repeated, each with a name if you like (fast=A,NO_B): each is compared with the base. scx:NAME loads a
    /// sched_ext scheduler: a crate (scx:scx_bpfland, scx:scx_bpfland@1.1.4), its folder, a source (scx:DIR/x.bpf.c) or
    /// an object (scx:DIR/x.bpf.o); `wakelab docs scheduler-authors` describes it.
    #[arg(long, value_name = "[NAME=]SWITCHES", required_unless_present = "one_side", add = completion::side())]
    with: Vec<String>,
    /// How often.
    #[command(flatten)]
    repeat: RepeatFlag,
    /// The seed.
    #[command(flatten)]
    seed: SeedFlag,
    /// Measure for this time: 1s, 500ms.
    ///
    /// In simulated time (ns, us, ms, s). The default is 1s, or the benchmark's own time.
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    time: Option<u64>,
    /// Simulate for this time before measuring.
    ///
    /// The default is 600ms, or the benchmark's own time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    settle: Option<u64>,
    /// Restrict the workload to CPUs or nodes.
    ///
    /// Like taskset (0-31) or numactl (node 0, nodes 0-1). A load in % then counts these CPUs.
    #[arg(long, value_name = "CPUS")]
    pinned: Option<String>,
    /// Add this to each select_idle_cpu().
    ///
    /// As a tracer would.
    #[arg(long, value_name = "NS", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=DURATION_MAX_NS))]
    observer_cost: u64,
    /// How it runs and prints.
    #[command(flatten)]
    pub simulation: SimulationFlags,
}

/// A time that is not 0.
pub fn positive_time(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        0 => Err("expected more than 0, such as 1s".to_owned()),
        ns => Ok(ns),
    }
}

/// Simulates the experiment that the flags describe.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut spec = Spec::of_flags(&Flags {
        machines: &args.machine,
        kernels: &args.kernel,
        workloads: &args.workload,
        loads: &args.load,
        base: &args.base,
        with: if args.simulation.one_side { &[] } else { &args.with[..] },
    })?;
    if let Some(repeat) = args.repeat.repeat {
        spec.repeats = Given::by_flag("--repeat", repeat);
    }
    if let Some(seed) = args.seed.seed {
        spec.seed = seed;
    }
    if let Some(time) = args.time {
        spec.time_ns = Given::by_flag("--time", time);
    }
    if let Some(settle) = args.settle {
        spec.settle_ns = Given::by_flag("--settle", settle);
    }
    spec.pinned = args.pinned.clone().map(|cpus| Given::by_flag("--pinned", cpus));
    spec.observer_cost_ns = args.observer_cost;
    spec.lenient = args.simulation.lenient.lenient;
    spec.schedulers = args.simulation.cache.schedulers();
    spec.regret = args.simulation.regret;
    args.simulation.until.set(&mut spec);
    simulate(&spec, &args.simulation)
}
