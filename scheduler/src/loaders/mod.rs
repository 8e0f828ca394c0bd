//! What the loaders of known schedulers set, with their default command lines: variables before loading, flags, and
//! programs of `SEC("syscall")` and maps after it. A scheduler that is not here is loaded as its object is.
//!
//! Sources: `tools/sched_ext/*.c` of 7.2, and `src/main.rs` of the crates at 1.1.4 (scx_cosmos at 1.1.7, scx_flow at
//! 4.8.15); of scx_wakelab `scx/src/scheduler.rs`.

mod arena;
mod bpfland;
mod flow;
mod lavd;
mod p2dq;
mod rusty;
mod topology;
mod wakelab;

use std::borrow::Cow;
use topology::ScxTopology;
use wakelab_ext::flags::SCX_SLICE_DFL;
use wakelab_ext::ops::Op;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::Topology;

/// Something that a loader does when the object is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes an element of a map.
    Element { map: &'static str, key: Vec<u8>, value: Vec<u8> },
    /// Runs a program of `SEC("syscall")`.
    Program { name: Cow<'static, str>, context: Vec<u8> },
    /// Tells the library of arenas of a node of its topology: the words of the mask of its CPUs, and its id
    /// (`setup_topology_node()` of scx_arena).
    TopologyNode { mask: Vec<u64>, id: u64 },
}

/// What a loader does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Sections of arrays that depend on the machine, and their bytes.
    pub resize: Vec<(&'static str, u32)>,
    /// Variables and their values. One that an object of another release does not have is left out.
    pub numbers: Vec<(String, i128)>,
    /// Variables that are arrays, and the values of their first elements. The same applies.
    pub arrays: Vec<(String, Vec<i128>)>,
    /// `ops.flags`, if the loader sets them.
    pub flags: Option<u64>,
    /// Flags that the loader adds to those of the object.
    pub added_flags: u64,
    /// Operations that the loader takes out.
    pub without: Vec<Op>,
    /// What is done between loading and attaching, in order.
    pub after_load: Vec<Step>,
    /// What is done when the scheduler has been attached, in order, and the CPU that the loader does it on.
    pub after_attach: Vec<(Cpu, Step)>,
}

impl Loading {
    fn set(&mut self, values: &[(&str, i128)]) {
        self.numbers.extend(values.iter().map(|&(name, value)| (name.to_owned(), value)));
    }

    fn array<T: Into<i128>>(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = T>) {
        self.arrays.push((name.into(), values.into_iter().map(Into::into).collect()));
    }
}

/// What a loader finds out before it loads the object.
pub struct Finds<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// CONFIG_HZ.
    pub hz: u64,
    /// Whether the kernel has a function (`ksym_exists()`).
    pub kernel_has: &'a dyn Fn(&str) -> bool,
    /// The size of a struct of the object, bytes.
    pub size_of: &'a dyn Fn(&str) -> Option<u64>,
}

/// What a loader knows of the machine.
struct Machine<'a> {
    topology: &'a Topology,
    scx: ScxTopology,
    nr_cpus: u32,
    nr_nodes: u32,
    smt: bool,
    finds: &'a Finds<'a>,
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

    /// The words of a mask of CPUs, as many as the machine's CPUs take.
    fn words(&self, cpus: impl IntoIterator<Item = Cpu>) -> Vec<u64> {
        CpuMask::from_cpus(self.nr_cpus, cpus).words().to_vec()
    }
}

/// What the loader of the scheduler does whose `ops.name` begins so.
///
/// # Errors
/// Fails with what the loader refuses: a machine that is too large for it.
pub fn loading(name: &str, finds: &Finds<'_>) -> Result<Loading, String> {
    let topology = finds.topology;
    let scx = ScxTopology::new(topology);
    let machine = Machine {
        topology,
        nr_cpus: topology.cpus.len() as u32,
        nr_nodes: topology.cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1),
        smt: scx.smt_enabled,
        scx,
        finds,
    };
    let mut loading = Loading::default();
    // Crates add their version: `bpfland_1.1.4_g...`.
    match name.split('_').next().unwrap_or(name) {
        "central" => central(&mut loading, &machine),
        "flatcg" => flatcg(&mut loading, &machine),
        "qmap" => qmap(&mut loading, &machine)?,
        "bpfland" => bpfland::bpfland(&mut loading, &machine),
        "cosmos" => bpfland::cosmos(&mut loading, &machine),
        "flash" => bpfland::flash(&mut loading, &machine),
        "beerland" => bpfland::beerland(&mut loading, &machine),
        "tickless" => bpfland::tickless(&mut loading, &machine),
        "flow" => flow::flow(&mut loading, &machine),
        "lavd" => lavd::lavd(&mut loading, &machine)?,
        "p2dq" => p2dq::p2dq(&mut loading, &machine)?,
        "chaos" => p2dq::chaos(&mut loading, &machine)?,
        "rusty" => rusty::rusty(&mut loading, &machine)?,
        "wakelab" => wakelab::wakelab(&mut loading, &machine)?,
        _ => {}
    }
    Ok(loading)
}

/// `main()` of tools/sched_ext/scx_flatcg.c.
fn flatcg(loading: &mut Loading, machine: &Machine<'_>) {
    loading.set(&[("nr_cpus", i128::from(machine.nr_cpus)), ("cgrp_slice_ns", i128::from(SCX_SLICE_DFL))]);
}

fn central(loading: &mut Loading, machine: &Machine<'_>) {
    // RESIZE_ARRAY(): a bool and a u64 by CPU.
    loading.resize = vec![(".data.cpu_gimme_task", machine.nr_cpus), (".data.cpu_started_at", 8 * machine.nr_cpus)];
    let nr_cpus = i128::from(machine.nr_cpus);
    loading.set(&[("central_cpu", 0), ("nr_cpu_ids", nr_cpus), ("slice_ns", i128::from(SCX_SLICE_DFL))]);
}

/// `tools/sched_ext/scx_qmap.c`.
fn qmap(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    const SCX_QMAP_MAX_CPUS: u32 = 1024;
    if machine.nr_cpus > SCX_QMAP_MAX_CPUS {
        return Err(format!("the machine has {} CPUs; its loader takes up to {SCX_QMAP_MAX_CPUS}", machine.nr_cpus));
    }
    // 6.12's has no max_tasks.
    loading.set(&[("slice_ns", i128::from(SCX_SLICE_DFL)), ("max_tasks", 16384)]);
    Ok(())
}
