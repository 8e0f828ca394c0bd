//! scx_wakelab (`describe()` of `crates/scx-wakelab/src/scheduler.rs`, `crates/scx-wakelab/src/machine.rs`).

use super::topology::ScxLlc;
use super::{Loading, Machine};
use wakelab_sched::cpumask::Cpu;

/// MAX_CPUS and MAX_SMT of `crates/scx-wakelab/src/bpf/intf.h`.
const MAX: (u32, usize) = (1024, 8);
/// The features that are on, by the bits of `enum feature` of `crates/scx-wakelab/src/bpf/intf.h`: SIS_CORE, SIS_UTIL,
/// RUNNABLE_BOOST, UTIL_EST, WA_IDLE, WA_WEIGHT, WA_BIAS and WAKEUP_PREEMPTION.
const FEATURES: i128 = 0b0111_1110_0000_0011;
/// `imbalance_pct` of domains of a core, and of all others, since 5.10.
const PCT: (i128, i128) = (110, 117);
/// `node_reclaim_distance`: domains of more distant nodes have no SD_WAKE_AFFINE.
const RECLAIM_DISTANCE: u32 = 30;

/// # Errors
/// Fails if the machine has more CPUs, or more CPUs of a core, than the program takes.
pub(super) fn wakelab(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    let nr_cpus = machine.nr_cpus;
    if nr_cpus > MAX.0 {
        return Err(format!("the machine has {nr_cpus} CPUs; scx_wakelab takes up to {}", MAX.0));
    }
    let scx = |cpu: Cpu| &machine.scx.cpus[cpu as usize];
    let of_core = |cpu: Cpu| machine.cpus().filter(move |&other| scx(other).core == scx(cpu).core);
    let ascending = |llc: &ScxLlc| {
        let mut cpus: Vec<Cpu> = llc.cpus().collect();
        cpus.sort_unstable();
        cpus
    };
    let llcs: Vec<Vec<Cpu>> = machine.scx.llcs().into_values().map(ascending).collect();
    let largest = machine.cpus().map(|cpu| machine.capacity(cpu)).max().unwrap_or(1024);
    let capacity = |cpu: Cpu| (machine.capacity(cpu) * 1024 / largest).clamp(1, 1024);
    let of_llc = llcs.iter().map(Vec::len).max().unwrap_or(1).max(4);
    let distances = machine.topology.node_distance.iter().flatten();
    let near = distances.max().is_none_or(|&farthest| farthest <= RECLAIM_DISTANCE);
    loading.set(&[
        ("nr_cpus", nr_cpus.into()),
        ("nr_llcs", llcs.len() as i128),
        ("nr_levels", 5),
        ("hz", machine.finds.hz.into()),
        ("smt_active", machine.smt.into()),
        ("asym_capacity", machine.cpus().any(|cpu| capacity(cpu) != capacity(0)).into()),
        ("scan_interval_ns", of_llc as i128 * 1_000_000),
        // sysctl_sched_base_slice of 7.2
        ("min_granularity_ns", 700_000 * i128::from(1 + nr_cpus.clamp(1, 8).ilog2())),
        ("recording", 0),
        ("features", FEATURES),
        ("slice_ns", 3_000_000),
    ]);
    loading.array("level_pct", [PCT.0, PCT.1, PCT.1, PCT.1, PCT.1]);
    loading.array("level_affine", [true, true, true, true, near].map(i128::from));
    loading.array("llc_cpus", llcs.iter().flatten().copied());
    let mut first = 0;
    for (llc, cpus) in llcs.iter().enumerate() {
        let pct = if of_core(cpus[0]).count() == cpus.len() { PCT.0 } else { PCT.1 };
        for (member, value) in [("first", first as i128), ("nr", cpus.len() as i128), ("imbalance_pct", pct)] {
            loading.set(&[(&format!("llc_infos[{llc}].{member}"), value)]);
        }
        first += cpus.len();
        for (pos, &cpu) in cpus.iter().enumerate() {
            let smt: Vec<Cpu> = of_core(cpu).collect();
            if smt.len() > MAX.1 {
                return Err(format!("a core has {} CPUs; scx_wakelab takes up to {}", smt.len(), MAX.1));
            }
            let numbers = [
                ("llc", llc as i128),
                ("llc_pos", pos as i128),
                ("capacity", capacity(cpu).into()),
                ("nr_smt", smt.len() as i128),
            ];
            for (member, value) in numbers {
                loading.set(&[(&format!("cpu_infos[{cpu}].{member}"), value)]);
            }
            loading.array(format!("cpu_infos[{cpu}].smt"), smt);
            let package = machine.topology.cpus[cpu as usize].package;
            loading.array(format!("cpu_infos[{cpu}].level"), [scx(cpu).core, llc as u32, scx(cpu).node, package, 0]);
        }
    }
    Ok(())
}
