//! scx_bpfland and its kin: scx_cosmos, scx_flash, scx_beerland and scx_tickless (`src/main.rs` of each).

use super::{Loading, Machine, Step};
use wakelab_sched::cpumask::Cpu;
use wakelab_scx_core::flags::{
    SCX_OPS_ALLOW_QUEUED_WAKEUP, SCX_OPS_ALWAYS_ENQ_IMMED, SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_ENQ_EXITING,
    SCX_OPS_ENQ_LAST, SCX_OPS_ENQ_MIGRATION_DISABLED,
};

/// The flags of bpfland and its kin.
fn flags(machine: &Machine<'_>) -> u64 {
    let per_node = if machine.nr_nodes > 1 { SCX_OPS_BUILTIN_IDLE_PER_NODE } else { 0 };
    SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ALLOW_QUEUED_WAKEUP | per_node
}

/// Runs a program with a `struct cpu_arg` or `struct domain_arg`: numbers of 4 bytes.
fn run(program: &'static str, numbers: &[i32]) -> Step {
    let context = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Step::Program { name: program.into(), context }
}

fn capacities(loading: &mut Loading, machine: &Machine<'_>) {
    let capacity = |cpu| (format!("cpu_capacity[{cpu}]"), i128::from(machine.capacity(cpu)));
    loading.numbers.extend(machine.cpus().map(capacity));
}

fn preferred(loading: &mut Loading, machine: &Machine<'_>) {
    let cpus = machine.by_capacity();
    let preferred = cpus.iter().enumerate().map(|(at, &cpu)| (format!("preferred_cpus[{at}]"), i128::from(cpu)));
    loading.numbers.extend(preferred);
}

/// `enable_sibling_cpu()` of each CPU; `first` numbers come before in its context.
fn siblings(loading: &mut Loading, machine: &Machine<'_>, first: &[i32]) {
    if machine.smt {
        let of = |cpu| run("enable_sibling_cpu", &[first, &[cpu as i32, machine.sibling(cpu)]].concat());
        loading.after_load.extend(machine.cpus().map(of));
    }
}

/// `enable_primary_cpu()` of all CPUs, after the domain was emptied.
fn all_primary(loading: &mut Loading, machine: &Machine<'_>) {
    loading.after_load.push(run("enable_primary_cpu", &[-1]));
    loading.after_load.extend(machine.cpus().map(|cpu| run("enable_primary_cpu", &[cpu as i32])));
}

pub(super) fn bpfland(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[
        ("debug", 0),
        ("smt_enabled", machine.smt.into()),
        ("numa_enabled", (machine.nr_nodes > 1).into()),
        ("local_pcpu", 0),
        ("no_wake_sync", 0),
        ("sticky_tasks", 0),
        ("slice_max", 1_000_000),
        ("slice_min", 0),
        ("slice_lag", 40_000_000),
        ("throttle_ns", 0),
        ("primary_all", 1),
        ("local_kthreads", 0),
        ("preferred_idle_scan", 0),
        ("cpufreq_perf_lvl", 1024),
    ]);
    capacities(loading, machine);
    preferred(loading, machine);
    loading.flags = Some(flags(machine));
    all_primary(loading, machine);
    siblings(loading, machine, &[]);
}

pub(super) fn cosmos(loading: &mut Loading, machine: &Machine<'_>) {
    let capacity = |cpu| machine.capacity(cpu);
    let same = machine.cpus().all(|cpu| capacity(cpu) == capacity(0));
    loading.set(&[
        ("slice_ns", 1_000_000),
        ("slice_lag", 20_000_000),
        ("cpufreq_enabled", 1),
        ("flat_idle_scan", 0),
        ("smt_enabled", machine.smt.into()),
        ("numa_enabled", (machine.nr_nodes > 1).into()),
        ("nr_node_ids", machine.nr_nodes.into()),
        ("no_wake_sync", 0),
        ("no_early_clear", 0),
        ("time_preemption", 0),
        ("mm_affinity", 0),
        ("perf_config", 0),
        ("perf_sticky", 0),
        ("busy_threshold", 0),
        ("overload_thresh_ns", 1_000_000),
        ("all_cpus_same_capacity", same.into()),
        ("preferred_idle_scan", 0),
        ("primary_all", 1),
        ("gpu_enabled", 0),
    ]);
    capacities(loading, machine);
    preferred(loading, machine);
    loading.flags = Some(flags(machine));
    let node = |cpu: Cpu| machine.topology.cpus[cpu as usize].node;
    loading.after_load.extend(machine.cpus().map(|cpu| Step::Element {
        map: "cpu_node_map",
        key: cpu.to_le_bytes().to_vec(),
        value: node(cpu).to_le_bytes().to_vec(),
    }));
    siblings(loading, machine, &[]);
}

pub(super) fn flash(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[
        ("debug", 0),
        ("smt_enabled", machine.smt.into()),
        ("numa_disabled", (machine.nr_nodes == 1).into()),
        ("rr_sched", 0),
        ("wakeup_throttle", 0),
        ("tickless_sched", 0),
        ("slice_max", 700_000),
        ("slice_lag", 20_000_000),
        ("throttle_ns", 0),
        ("primary_all", 1),
        ("cpufreq_perf_lvl", 1024),
    ]);
    loading.flags = Some(flags(machine));
    all_primary(loading, machine);
    siblings(loading, machine, &[0]);
}

pub(super) fn beerland(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[
        ("slice_ns", 1_000_000),
        ("slice_lag", 20_000_000),
        ("smt_enabled", machine.smt.into()),
        ("numa_enabled", (machine.nr_nodes > 1).into()),
        ("busy_threshold", 0),
        ("primary_all", 1),
    ]);
    capacities(loading, machine);
    loading.flags = Some(flags(machine) | SCX_OPS_ALWAYS_ENQ_IMMED);
    siblings(loading, machine, &[]);
}

pub(super) fn tickless(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[
        ("smt_enabled", machine.smt.into()),
        ("nr_cpu_ids", machine.nr_cpus.into()),
        ("slice_ns", 20_000_000),
        ("tick_freq", 0),
    ]);
    preferred(loading, machine);
    loading.flags = Some(SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ALLOW_QUEUED_WAKEUP);
    // The primary domain is the CPU with the least capacity, on which the timer runs.
    if let Some(&cpu) = machine.by_capacity().last() {
        loading.after_load.push(run("enable_primary_cpu", &[-1]));
        loading.after_load.push(run("enable_primary_cpu", &[cpu as i32]));
        loading.after_attach.push((cpu, run("start_timer", &[cpu as i32])));
    }
}
