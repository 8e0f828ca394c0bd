//! The settings of the loaders of known schedulers, with their default command lines: variables before loading, flags,
//! and programs of `SEC("syscall")` and maps after it. A scheduler that is not here is loaded as its object is.
//!
//! Sources: `tools/sched_ext/*.c` of 7.2, and `src/main.rs` of the crates at 1.1.4 (scx_cosmos at 1.1.7, scx_flow at
//! 4.8.15); of scx_wakelab `crates/scx-wakelab/src/scheduler.rs`.

mod arena;
mod bpfland;
mod flow;
mod lavd;
mod p2dq;
mod rusty;
mod table;
mod topology;
mod wakelab;

use std::borrow::Cow;
use table::Row;
use topology::ScxTopology;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::Topology;
use wakelab_scx_core::ops::Op;

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

/// Of which release a loader is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// No loader of the scheduler is known.
    #[default]
    No,
    /// `tools/sched_ext` of 7.2, or wakelab's own: of whatever version, the object is taken to fit.
    Tool,
    /// That of a crate of this version.
    Crate(&'static str),
}

/// The work of a loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Whether it is known.
    pub known: Known,
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
    /// Warnings, a sentence each, about what the scheduler's user space, or programs besides its operations, would do
    /// and nothing does here.
    pub warnings: Vec<String>,
    /// The steps between loading and attaching, in order.
    pub after_load: Vec<Step>,
    /// The steps after the scheduler has been attached, in order, and the CPU on which the loader does each.
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

/// The facts that a loader finds out before it loads the object.
pub struct Finds<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// CONFIG_HZ.
    pub hz: u64,
    /// Whether the kernel has a function (`ksym_exists()`).
    pub kernel_has: &'a dyn Fn(&str) -> bool,
    /// The size of a struct of the object, bytes.
    pub size_of: &'a dyn Fn(&str) -> Option<u64>,
    /// The value that the user has set for a variable, which stands for an option of the loader.
    pub setting: &'a dyn Fn(&str) -> Option<i128>,
}

/// The facts about the machine that a loader knows.
struct Machine<'a> {
    topology: &'a Topology,
    scx: ScxTopology,
    nr_cpus: u32,
    nr_nodes: u32,
    smt: bool,
    finds: &'a Finds<'a>,
    /// What the loader sets without computing anything, if it is known.
    row: Option<&'static Row>,
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

/// Returns the work of the loader of the scheduler whose `ops.name` begins with `name`.
///
/// # Errors
/// Fails with what the loader refuses: a machine that is too large for it.
pub fn loading(name: &str, finds: &Finds<'_>) -> Result<Loading, String> {
    let topology = finds.topology;
    let scx = ScxTopology::new(topology);
    // Crates add their version: `bpfland_1.1.4_g...`.
    let kind = name.split('_').next().unwrap_or(name);
    let row = Row::of(kind);
    let machine = Machine {
        topology,
        nr_cpus: topology.cpus.len() as u32,
        nr_nodes: topology.cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1),
        smt: scx.smt_enabled,
        scx,
        finds,
        row,
    };
    let known = row.map_or(Known::No, |row| row.1);
    let mut loading = Loading { known, ..Loading::default() };
    match kind {
        "central" => central(&mut loading, &machine),
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
        _ => loading.read(&machine, &[]),
    }
    Ok(loading)
}

fn central(loading: &mut Loading, machine: &Machine<'_>) {
    // RESIZE_ARRAY(): a bool and a u64 by CPU.
    loading.resize = vec![(".data.cpu_gimme_task", machine.nr_cpus), (".data.cpu_started_at", 8 * machine.nr_cpus)];
    loading.read(machine, &[]);
}

/// `tools/sched_ext/scx_qmap.c`.
fn qmap(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    const SCX_QMAP_MAX_CPUS: u32 = 1024;
    if machine.nr_cpus > SCX_QMAP_MAX_CPUS {
        return Err(format!("the machine has {} CPUs; its loader takes up to {SCX_QMAP_MAX_CPUS}", machine.nr_cpus));
    }
    loading.read(machine, &[]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<'a> Finds<'a> {
        /// The kernel has every function, and the object every struct.
        pub(super) fn of(topology: &'a Topology) -> Self {
            Finds { topology, hz: 250, kernel_has: &|_| true, size_of: &|_| Some(8), setting: &|_| None }
        }
    }

    fn of(name: &str, machine: &str) -> (Loading, Topology) {
        let topology = wakelab_machine::get(machine).unwrap().topology;
        let finds = Finds { size_of: &|name| (name == "task_p2dq").then_some(128), ..Finds::of(&topology) };
        (loading(name, &finds).unwrap(), topology)
    }

    fn number(loading: &Loading, name: &str) -> i128 {
        loading.numbers.iter().rfind(|(of, _)| of == name).unwrap_or_else(|| panic!("{name} is not set")).1
    }

    fn array<'a>(loading: &'a Loading, name: &str) -> &'a [i128] {
        &loading.arrays.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("{name} is not set")).1
    }

    /// `SchedulerOpts` (scx_p2dq 1.1.4, `src/lib.rs`): the defaults of its options as `init_open_skel!` writes them,
    /// and what depends on the machine: `get_default_llc_runs()`, `get_default_llc_shards()` and
    /// `optimize_scheduler_opts()`, which scx_chaos does not call.
    #[test]
    fn p2dq_gets_the_defaults_of_its_options() {
        let cases = [("test-8c", 1, 0, 2, 1), ("intel-2s112c224t", 2, 1, 28, 0), ("amd-zen3-2s64c128t", 16, 4, 2, 0)];
        for (machine, llcs, runs, shards, single) in cases {
            let (p2dq, topology) = of("p2dq_1.1.4", machine);
            let cpus = topology.cpus.len() as i128;
            let expected = [
                ("topo_config.nr_cpus", cpus),
                ("topo_config.nr_llcs", llcs),
                ("lb_config.min_llc_runs_pick2", runs),
                ("lb_config.dispatch_pick2_disable", single),
                ("lb_config.single_llc_mode", single),
                ("p2dq_config.llc_shards", shards),
                // dsq_time_slices: 500, 2500 and 5000 us; max_exec_ns is twice the last.
                ("timeline_config.max_exec_ns", 10_000_000),
                // --min-slice-us 100
                ("timeline_config.min_slice_us", 100),
                // --eager-load-balance disables it
                ("lb_config.eager_load_balance", 1),
                // --lb-slack-factor 5, --dispatch-lb-busy 75, --dispatch-lb-interactive true
                ("lb_config.slack_factor", 5),
                ("lb_config.dispatch_lb_busy", 75),
                ("lb_config.dispatch_lb_interactive", 1),
                // --interactive-ratio 10, --dsq-shift 4, --dumb-queues 3, --saturated-percent 5
                ("p2dq_config.interactive_ratio", 10),
                ("p2dq_config.dsq_shift", 4),
                ("p2dq_config.nr_dsqs_per_llc", 3),
                ("p2dq_config.saturated_percent", 5),
                // !--disable-kthreads-local, --enable-pelt true, --fork-balance true, --exec-balance true
                ("p2dq_config.kthreads_local", 1),
                ("p2dq_config.pelt_enabled", 1),
                ("p2dq_config.fork_balance", 1),
                ("p2dq_config.exec_balance", 1),
                // --atq-enabled false, --dhq-enabled false, --dhq-max-imbalance 3
                ("p2dq_config.atq_enabled", 0),
                ("p2dq_config.dhq_enabled", 0),
                ("p2dq_config.dhq_max_imbalance", 3),
                ("nr_cpu_ids", cpus),
            ];
            for (name, value) in expected {
                assert_eq!(number(&p2dq, name), value, "{machine}: {name}");
            }
            assert_eq!(array(&p2dq, "dsq_time_slices"), [500_000, 2_500_000, 5_000_000]);
            assert_eq!(array(&p2dq, "llc_ids"), (0..llcs).collect::<Vec<_>>());
            for (cpu, of) in topology.cpus.iter().enumerate() {
                assert_eq!(array(&p2dq, "cpu_node_ids")[cpu], i128::from(of.node), "{machine}: CPU {cpu}");
            }
            assert!(p2dq.warnings.is_empty());
            // (scx_chaos 1.1.4, `src/lib.rs`)
            let (chaos, _) = of("chaos_1.1.4", machine);
            assert_eq!(number(&chaos, "lb_config.dispatch_pick2_disable"), 0, "{machine}");
            assert_eq!(array(&chaos, "trait_delay_freq_frac32"), [i128::from(u32::MAX); 5]);
        }
    }

    /// `Scheduler::init()` (scx_rusty 1.1.4, `src/main.rs`): the defaults of its options, and a domain for each LLC.
    #[test]
    fn rusty_gets_a_domain_for_each_llc() {
        for (machine, domains, nodes) in [("test-8c", 1, 1), ("intel-2s112c224t", 2, 2), ("amd-zen3-2s64c128t", 16, 2)]
        {
            let (rusty, topology) = of("rusty", machine);
            let expected = [
                ("slice_ns", 20_000_000),
                ("nr_nodes", nodes),
                ("nr_doms", domains),
                ("nr_cpu_ids", topology.cpus.len() as i128),
                // --load-half-life 1.0
                ("load_half_life", 1_000_000_000),
                ("greedy_threshold", 1),
                ("greedy_threshold_x_numa", 0),
                ("direct_greedy_numa", 0),
                ("mempolicy_affinity", 0),
                ("rusty_perf_mode", 0),
                ("fifo_sched", 0),
                ("kthreads_local", 0),
            ];
            for (name, value) in expected {
                assert_eq!(number(&rusty, name), value, "{machine}: {name}");
            }
            let map = array(&rusty, "cpu_dom_id_map");
            for (cpu, &domain) in map.iter().enumerate() {
                let words = array(&rusty, &format!("dom_cpumasks[{domain}]"));
                assert_eq!(words[cpu / 64] >> (cpu % 64) & 1, 1, "{machine}: CPU {cpu} is in its domain");
                let node = number(&rusty, &format!("dom_numa_id_map[{domain}]"));
                assert_eq!(node, i128::from(topology.cpus[cpu].node), "{machine}: CPU {cpu}");
                let words = array(&rusty, &format!("numa_cpumasks[{node}]"));
                assert_eq!(words[cpu / 64] >> (cpu % 64) & 1, 1, "{machine}: CPU {cpu} is of its node");
                // CPUs are in one domain if they share a cache.
                let first = topology.cpus.iter().position(|other| {
                    (other.node, other.package, other.llc)
                        == (topology.cpus[cpu].node, topology.cpus[cpu].package, topology.cpus[cpu].llc)
                });
                assert_eq!(map[first.unwrap()], domain, "{machine}: CPU {cpu}");
            }
            let [warning] = &rusty.warnings[..] else { panic!("{:?}", rusty.warnings) };
            assert!(warning.starts_with("its user space does not run here"), "{warning}");
            assert_eq!(warning.contains(&format!("the {domains} domains")), domains > 1, "{warning}");
        }
    }

    /// `seed_topo_with()` (scx_flow 4.8.15, `src/rust/topology.rs`): of each CPU its sibling, u32::MAX without one, and
    /// its node.
    #[test]
    fn flow_is_told_of_siblings_and_nodes() {
        for machine in ["test-8c", "intel-2s112c224t"] {
            let (flow, topology) = of("flow", machine);
            assert!(flow.numbers.is_empty() && flow.arrays.is_empty() && flow.flags.is_none());
            assert_eq!(flow.after_load.len(), topology.cpus.len());
            for (cpu, step) in (0u32..).zip(&flow.after_load) {
                let Step::Element { map: "topo_stor", key, value } = step else { panic!("{step:?}") };
                let of = &topology.cpus[cpu as usize];
                let mut others = (0u32..).zip(&topology.cpus).filter(|(at, other)| *at != cpu && other.core == of.core);
                let sibling = others.next().map_or(u32::MAX, |(other, _)| other);
                assert_eq!(key[..], cpu.to_le_bytes());
                assert_eq!(value[..], [sibling.to_le_bytes(), of.node.to_le_bytes()].concat(), "{machine}: CPU {cpu}");
            }
        }
    }
}
