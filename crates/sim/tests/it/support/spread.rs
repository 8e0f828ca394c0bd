//! Hogs that all begin on one CPU, and the time within which the kernel's intervals spread them.

use super::places::Places;
use super::{MS, back, call, ns, workload};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sched::balance::BusyInterval;
use wakelab_sched::domain::{DomainOptions, SchedDomain, SdFlags, Uniform, build_sched_domains};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Call, Op, Workload};

/// Hogs that are pinned to a CPU until each of them has had it for a moment, and then may use these, or all.
pub fn hogs(n: u32, first: u32, cpus: Option<Vec<u32>>) -> Workload {
    let free = call(Call::Affinity { cpus: cpus.is_some().then_some(0) });
    let hog = vec![Op::Run(ns(10_000)), free, Op::Done, call(Call::Yield), Op::Run(ns(100_000 * MS)), back(4, 0)];
    let hogs = workload(vec![hog; n as usize], &[], Some(vec![first]));
    Workload { cpu_sets: cpus.into_iter().collect(), ..hogs }
}

pub fn machine(shape: Uniform) -> Machine {
    Machine { topology: shape.topology(), ..wakelab_machine::get("test-8c").expect("a machine") }
}

pub fn spread(machine: &Machine, kernel: &Preset, workload: &Workload, seed: u64, until: u64) -> Places {
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    let features = kernel.features;
    let setup = Setup {
        machine,
        kernel,
        features,
        workload,
        seed,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut places = Places::default();
    run_dyn(&setup, &mut places, &Default::default()).expect("a run");
    places
}

/// The domains of CPU 0.
pub fn domains(machine: &Machine, kernel: &Preset) -> Vec<SchedDomain> {
    build_sched_domains(&machine.topology, &DomainOptions::of(kernel)).expect("domains").domains.swap_remove(0)
}

/// Within which time so many hogs are spread, ns.
pub fn bound(machine: &Machine, kernel: &Preset, n: u32) -> u64 {
    let tick = 1_000_000_000 / u64::from(kernel.hz.value);
    let busy = n > machine.topology.nr_cpus();
    let busy_factor = if kernel.balance.busy_interval == BusyInterval::Times32 { 32 } else { 16 };
    let of_level = |sd: &SchedDomain| {
        let nice_tries = match sd.flags {
            flags if flags.contains(SdFlags::SHARE_CPUCAPACITY) => 0,
            flags if flags.contains(SdFlags::NUMA) => 2,
            _ => 1,
        };
        let visit = 2 * u64::from(sd.span_weight) * MS * if busy { busy_factor } else { 1 } + 2 * tick;
        (nice_tries + if busy { 3 } else { 2 }) * visit
    };
    domains(machine, kernel).iter().map(of_level).sum()
}

pub fn shapes() -> [(&'static str, Uniform); 6] {
    [
        ("8 cores", Uniform::new(8, 1)),
        ("4 cores with SMT", Uniform::new(4, 2)),
        ("2 LLCs of 4 cores", Uniform { llcs: 2, ..Uniform::new(4, 1) }),
        ("2 nodes of 4 cores", Uniform { packages: 2, nodes: 2, ..Uniform::new(4, 1) }),
        ("2 nodes of 4 cores with SMT", Uniform { packages: 2, nodes: 2, ..Uniform::new(4, 2) }),
        ("2 clusters of 4 cores", Uniform { cluster_cores: Some(4), ..Uniform::new(8, 1) }),
    ]
}

/// Whether groups of so many consecutive CPUs have as many tasks as each other, but for one or for what `imbalance_pct`
/// allows.
pub fn even(counts: &[u32], group: u32, imbalance_pct: u32) -> bool {
    let sums: Vec<u32> = counts.chunks(group as usize).map(|group| group.iter().sum()).collect();
    let (least, most) = (sums.iter().min().expect("a group"), sums.iter().max().expect("a group"));
    *most <= least + 1 || most * 100 <= least * imbalance_pct
}
