//! What the loaders of known schedulers set, with their default command lines: variables before loading, flags, and
//! programs of `SEC("syscall")` and maps after it. A scheduler that is not here is loaded as its object is.
//!
//! Sources: `tools/sched_ext/*.c` of 7.2, and `src/main.rs` of the crates at 1.1.4 (scx_cosmos at 1.1.7).

use wakelab_ext::flags::{
    SCX_OPS_ALLOW_QUEUED_WAKEUP, SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_ENQ_EXITING, SCX_OPS_ENQ_LAST,
    SCX_OPS_ENQ_MIGRATION_DISABLED, SCX_SLICE_DFL,
};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::Topology;

/// What a loader does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Sections of arrays that depend on the machine, and their bytes.
    pub resize: Vec<(&'static str, u32)>,
    /// Variables and their values. One that an object of another release does not have is left out.
    pub numbers: Vec<(String, i128)>,
    /// `ops.flags`, if the loader sets them.
    pub flags: Option<u64>,
    /// Elements of maps: the map, the key and the value.
    pub elements: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    /// Programs that run after loading, and their contexts.
    pub programs: Vec<(&'static str, Vec<u8>)>,
}

impl Loading {
    fn set(&mut self, values: &[(&str, i128)]) {
        self.numbers.extend(values.iter().map(|&(name, value)| (name.to_owned(), value)));
    }
}

/// What a loader knows of the machine.
struct Machine<'a> {
    topology: &'a Topology,
    nr_cpus: u32,
    nr_nodes: u32,
    smt: bool,
}

impl Machine<'_> {
    fn cpus(&self) -> impl Iterator<Item = Cpu> {
        0..self.nr_cpus
    }

    /// The capacity of a CPU, 1 to 1024.
    fn capacity(&self, cpu: Cpu) -> u32 {
        self.topology.cpus[cpu as usize].capacity.clamp(1, 1024)
    }

    /// The other CPU of the core, of the first two; -1 without one (`Topology::sibling_cpus()` of scx_utils).
    fn sibling(&self, cpu: Cpu) -> i32 {
        let core = self.topology.cpus[cpu as usize].core;
        let mut of_core = self.cpus().filter(|&other| self.topology.cpus[other as usize].core == core).take(2);
        match (of_core.next(), of_core.next()) {
            (Some(first), Some(second)) if first == cpu => second as i32,
            (Some(first), Some(second)) if second == cpu => first as i32,
            _ => -1,
        }
    }

    /// CPUs by capacity, the largest first.
    fn by_capacity(&self) -> Vec<Cpu> {
        let mut cpus: Vec<Cpu> = self.cpus().collect();
        cpus.sort_by_key(|&cpu| std::cmp::Reverse(self.capacity(cpu)));
        cpus
    }
}

/// What the loader of the scheduler does whose `ops.name` begins so.
pub fn loading(name: &str, topology: &Topology) -> Loading {
    let nr_cpus = topology.cpus.len() as u32;
    let machine = Machine {
        topology,
        nr_cpus,
        nr_nodes: topology.cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1),
        smt: topology
            .cpus
            .iter()
            .enumerate()
            .any(|(at, cpu)| topology.cpus[..at].iter().any(|other| other.core == cpu.core)),
    };
    let mut loading = Loading::default();
    // Crates add their version: `bpfland_1.1.4_g...`.
    match name.split('_').next().unwrap_or(name) {
        "central" => central(&mut loading, &machine),
        "bpfland" => bpfland(&mut loading, &machine),
        "cosmos" => cosmos(&mut loading, &machine),
        "flash" => flash(&mut loading, &machine),
        "beerland" => beerland(&mut loading, &machine),
        "tickless" => tickless(&mut loading, &machine),
        _ => {}
    }
    loading
}

fn central(loading: &mut Loading, machine: &Machine<'_>) {
    // RESIZE_ARRAY(): a bool and a u64 by CPU.
    loading.resize = vec![(".data.cpu_gimme_task", machine.nr_cpus), (".data.cpu_started_at", 8 * machine.nr_cpus)];
    let nr_cpus = i128::from(machine.nr_cpus);
    loading.set(&[("central_cpu", 0), ("nr_cpu_ids", nr_cpus), ("slice_ns", i128::from(SCX_SLICE_DFL))]);
}

/// The flags of bpfland and its kin.
fn flags(machine: &Machine<'_>) -> u64 {
    let per_node = if machine.nr_nodes > 1 { SCX_OPS_BUILTIN_IDLE_PER_NODE } else { 0 };
    SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED | SCX_OPS_ALLOW_QUEUED_WAKEUP | per_node
}

/// `struct cpu_arg` and `struct domain_arg`: numbers of 4 bytes.
fn context(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
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
        let of = |cpu| ("enable_sibling_cpu", context(&[first, &[cpu as i32, machine.sibling(cpu)]].concat()));
        loading.programs.extend(machine.cpus().map(of));
    }
}

/// `enable_primary_cpu()` of all CPUs, after the domain was emptied.
fn all_primary(loading: &mut Loading, machine: &Machine<'_>) {
    loading.programs.push(("enable_primary_cpu", context(&[-1])));
    loading.programs.extend(machine.cpus().map(|cpu| ("enable_primary_cpu", context(&[cpu as i32]))));
}

fn bpfland(loading: &mut Loading, machine: &Machine<'_>) {
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

fn cosmos(loading: &mut Loading, machine: &Machine<'_>) {
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
    let nodes =
        machine.cpus().map(|cpu| ("cpu_node_map", cpu.to_le_bytes().to_vec(), node(cpu).to_le_bytes().to_vec()));
    loading.elements.extend(nodes);
    siblings(loading, machine, &[]);
}

fn flash(loading: &mut Loading, machine: &Machine<'_>) {
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

fn beerland(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[
        ("slice_ns", 1_000_000),
        ("slice_lag", 20_000_000),
        ("smt_enabled", machine.smt.into()),
        ("numa_enabled", (machine.nr_nodes > 1).into()),
        ("busy_threshold", 0),
        ("primary_all", 1),
    ]);
    capacities(loading, machine);
    loading.flags = Some(flags(machine) | wakelab_ext::flags::SCX_OPS_ALWAYS_ENQ_IMMED);
    siblings(loading, machine, &[]);
}

fn tickless(loading: &mut Loading, machine: &Machine<'_>) {
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
        loading.programs.push(("enable_primary_cpu", context(&[-1])));
        loading.programs.push(("enable_primary_cpu", context(&[cpu as i32])));
    }
}
