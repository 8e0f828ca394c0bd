//! scx_p2dq 1.1.4 (`src/lib.rs`, `src/main.rs`), and scx_chaos 1.1.4 (`src/lib.rs`), which is p2dq with faults that its
//! user asks for: without options none.

use super::topology::CoreType;
use super::{Loading, Machine, arena};
use wakelab_scx_core::flags::SCX_OPS_KEEP_BUILTIN_IDLE;

/// `MAX_CPUS` of its intf.h.
const MAX_CPUS: u32 = 512;
/// `MAX_LLCS`.
const MAX_LLCS: usize = 64;
/// `dsq_time_slices`, ns.
const DSQ_TIME_SLICES: [u64; 3] = [500_000, 2_500_000, 5_000_000];

pub(super) fn p2dq(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    // optimize_scheduler_opts(): without another LLC nothing is balanced.
    let single = machine.scx.llcs().len() == 1;
    common(loading, machine, single)
}

pub(super) fn chaos(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    common(loading, machine, false)?;
    // Of 2^32 draws all come to no fault: the first element is CHAOS_TRAIT_NONE, and the others add up.
    loading.array("trait_delay_freq_frac32", [u32::MAX; 5]);
    loading.set(&[("ppid_targeting_ppid", -1), ("kprobe_delays_freq_frac32", 0)]);
    Ok(())
}

/// `init_open_skel!` and `init_skel!`.
fn common(loading: &mut Loading, machine: &Machine<'_>, optimize_single: bool) -> Result<(), String> {
    let scx = &machine.scx;
    let llcs = scx.llcs();
    if machine.nr_cpus > MAX_CPUS || llcs.len() > MAX_LLCS {
        return Err(format!(
            "the machine has {} CPUs and {} LLCs; its arrays have room for {MAX_CPUS} and {MAX_LLCS}",
            machine.nr_cpus,
            llcs.len()
        ));
    }
    let cpus_per_llc = llcs.values().map(|llc| llc.cpus().count()).max().unwrap_or(1);
    // get_default_llc_shards(), and at least 1
    let llc_shards = if cpus_per_llc <= 4 { 1 } else { cpus_per_llc / 4 };
    let llc_runs = if optimize_single { 0 } else { llcs.len().max(1).ilog2() };
    loading.array("dsq_time_slices", DSQ_TIME_SLICES);
    loading.read(
        machine,
        &[
            ("llc_runs", llc_runs.into()),
            ("llc_shards", llc_shards as i128),
            ("optimize_single", optimize_single.into()),
        ],
    );
    loading.added_flags = SCX_OPS_KEEP_BUILTIN_IDLE;
    // cpu_energy_cost is read with enable_eas alone.
    let turbo = CoreType::Big { turbo: true };
    loading.array("big_core_ids", scx.cpus.iter().map(|cpu| u32::from(cpu.core_type == turbo)));
    loading.array("cpu_core_ids", scx.cpus.iter().map(|cpu| cpu.core));
    loading.array("cpu_llc_ids", scx.cpus.iter().map(|cpu| cpu.llc));
    loading.array("cpu_node_ids", scx.cpus.iter().map(|cpu| cpu.node));
    loading.array("cpu_capacity", scx.cpus.iter().map(|cpu| cpu.capacity));
    loading.array("llc_ids", llcs.keys().copied());
    arena::setup(loading, machine, "task_p2dq")
}
