//! scx_bpfland and its kin: scx_cosmos, scx_flash, scx_beerland and scx_tickless (`src/main.rs` of each).

use super::{Loading, Machine, Step};
use wakelab_sched::cpumask::Cpu;

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
    loading.read(machine, &[]);
    capacities(loading, machine);
    preferred(loading, machine);
    all_primary(loading, machine);
    siblings(loading, machine, &[]);
}

pub(super) fn cosmos(loading: &mut Loading, machine: &Machine<'_>) {
    loading.read(machine, &[]);
    capacities(loading, machine);
    preferred(loading, machine);
    let node = |cpu: Cpu| machine.topology.cpus[cpu as usize].node;
    loading.after_load.extend(machine.cpus().map(|cpu| Step::Element {
        map: "cpu_node_map",
        key: cpu.to_le_bytes().to_vec(),
        value: node(cpu).to_le_bytes().to_vec(),
    }));
    siblings(loading, machine, &[]);
}

pub(super) fn flash(loading: &mut Loading, machine: &Machine<'_>) {
    loading.read(machine, &[]);
    all_primary(loading, machine);
    siblings(loading, machine, &[0]);
}

pub(super) fn beerland(loading: &mut Loading, machine: &Machine<'_>) {
    loading.read(machine, &[]);
    capacities(loading, machine);
    siblings(loading, machine, &[]);
}

pub(super) fn tickless(loading: &mut Loading, machine: &Machine<'_>) {
    loading.read(machine, &[]);
    preferred(loading, machine);
    // The primary domain is the CPU with the least capacity, on which the timer runs.
    if let Some(&cpu) = machine.by_capacity().last() {
        loading.after_load.push(run("enable_primary_cpu", &[-1]));
        loading.after_load.push(run("enable_primary_cpu", &[cpu as i32]));
        loading.after_attach.push((cpu, run("start_timer", &[cpu as i32])));
    }
}
