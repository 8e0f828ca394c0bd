//! Random machines, built as each kernel version builds them.

use super::Version;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use wakelab_kernel::Preset;
use wakelab_sched::domain::*;

/// A machine that is the same everywhere, but for an odd CPU that may sit in a package of its own: it has no LLC's
/// domain, and makes LLCs of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    pub llcs: u32,
    pub cores: u32,
    pub threads: u32,
    pub cluster: Option<u32>,
    pub nodes: u32,
    pub split: bool,
    pub arm64: bool,
    pub odd: bool,
}

const MAX_CPUS: u32 = 136;

pub fn machine() -> impl Strategy<Value = Machine> {
    let cores = prop::sample::select(vec![1u32, 2, 3, 4, 4, 6, 8, 8, 16, 17, 33, 66]);
    let threads = prop::sample::select(vec![1u32, 2, 2, 2, 4, 8]);
    let cluster = prop::sample::select(vec![None, None, Some(2u32), Some(4)]);
    (1u32..=4, cores, threads, cluster, any::<[bool; 3]>(), 0u32..6).prop_map(
        |(llcs, cores, threads, cluster, [two_nodes, split, arm64], odd)| {
            let cores = cores.min(MAX_CPUS / (llcs * threads));
            Machine {
                llcs,
                cores,
                threads,
                cluster: cluster.filter(|in_cluster| cores % in_cluster == 0),
                nodes: if two_nodes && llcs % 2 == 0 { 2 } else { 1 },
                split,
                arm64,
                odd: odd == 5,
            }
        },
    )
}

impl Machine {
    fn topology(&self) -> Topology {
        let shape = Uniform {
            packages: self.nodes,
            llcs: self.llcs / self.nodes,
            cluster_cores: self.cluster,
            nodes: self.nodes,
            numbering: if self.split { Numbering::Split } else { Numbering::Adjacent },
            ..Uniform::new(self.cores, self.threads)
        };
        let mut topology = shape.topology();
        if self.odd {
            let cores = self.llcs * self.cores;
            topology.cpus.push(CpuTopology {
                core: cores,
                cluster: self.cluster.map(|in_cluster| cores / in_cluster),
                llc: self.llcs,
                die: self.nodes,
                package: self.nodes,
                node: self.nodes - 1,
                capacity: 1024,
            });
        }
        topology
    }

    /// Builds its domains, once for each version.
    pub fn domains(self, version: Version) -> Rc<SchedDomains> {
        type Built = HashMap<(Machine, Version), Rc<SchedDomains>>;
        thread_local!(static BUILT: RefCell<Built> = RefCell::default());
        let build = || {
            let kernel = match version {
                Version::V5_3 => "v5.3",
                Version::V5_10 => "v5.10",
                Version::V6_1 => "v6.1",
                Version::V6_12 => "v6.12",
                Version::V7_2 => "v7.2",
            };
            let arch = if self.arm64 { Arch::Arm64 } else { Arch::X86 };
            let options = DomainOptions::of(Preset::get(kernel).unwrap()).on(arch);
            Rc::new(build_sched_domains(&self.topology(), &options).unwrap())
        };
        BUILT.with_borrow_mut(|built| built.entry((self, version)).or_insert_with(build).clone())
    }
}
