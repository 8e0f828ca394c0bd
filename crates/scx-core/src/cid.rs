//! Topological CPU numbers (`kernel/sched/ext/cid.c`, 7.2): CPUs of a core, of an LLC and of a node have numbers side
//! by side, from 0 on. A scheduler that is a `struct sched_ext_ops_cid` sees these wherever others see a CPU.

use crate::idle::{IdleError, IdleTopology};
use wakelab_sched::cpumask::Cpu;

/// `struct scx_cid_topo`: the first cid of a unit, and the number of that unit. All are -1 where the mapping is the
/// scheduler's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CidTopo {
    /// `core_cid`, `core_idx`.
    pub core: [i32; 2],
    /// `llc_cid`, `llc_idx`.
    pub llc: [i32; 2],
    /// `node_cid`, `node_idx`.
    pub node: [i32; 2],
}

impl CidTopo {
    /// `SCX_CID_TOPO_NEG`.
    pub const NEG: CidTopo = CidTopo { core: [-1; 2], llc: [-1; 2], node: [-1; 2] };
}

/// The mapping between CPUs and cids.
#[derive(Clone, Debug)]
pub struct Cids {
    /// `scx_cid_to_cpu_tbl`.
    to_cpu: Vec<Cpu>,
    /// `scx_cpu_to_cid_tbl`.
    to_cid: Vec<u32>,
    /// `scx_cid_topo`, by cid.
    topo: Vec<CidTopo>,
}

impl Cids {
    /// `scx_cid_init()`: nodes, their LLCs, those's cores, each in the order of their first CPUs. An LLC of two nodes
    /// is two here.
    pub fn new(topology: &IdleTopology) -> Self {
        let nr_cpus = topology.nr_cpus();
        let mut cids = Cids {
            to_cpu: Vec::with_capacity(nr_cpus as usize),
            to_cid: vec![0; nr_cpus as usize],
            topo: Vec::with_capacity(nr_cpus as usize),
        };
        let (mut node_idx, mut llc_idx, mut core_idx) = (0, 0, 0);
        let mut to_walk: Vec<Cpu> = (0..nr_cpus).collect();
        while let Some(&first) = to_walk.first() {
            let mut of_node = take(&mut to_walk, |cpu| topology.node_of(cpu) == topology.node_of(first));
            let node = [cids.next(), node_idx];
            node_idx += 1;
            while let Some(&first) = of_node.first() {
                let mut of_llc = take(&mut of_node, |cpu| topology.sd_llc_id(cpu) == topology.sd_llc_id(first));
                let llc = [cids.next(), llc_idx];
                llc_idx += 1;
                while let Some(&first) = of_llc.first() {
                    let of_core = take(&mut of_llc, |cpu| topology.smt_mask(first).test(cpu));
                    let core = [cids.next(), core_idx];
                    core_idx += 1;
                    for cpu in of_core {
                        cids.to_cid[cpu as usize] = cids.next() as u32;
                        cids.to_cpu.push(cpu);
                        cids.topo.push(CidTopo { core, llc, node });
                    }
                }
            }
        }
        cids
    }

    fn next(&self) -> i32 {
        self.to_cpu.len() as i32
    }

    /// `scx_bpf_cid_override()`: a mapping of the scheduler's own, by CPU, which has no topology.
    ///
    /// # Errors
    /// Fails with what ends the scheduler. Entries before the wrong one are in effect then, as in the kernel.
    pub fn override_with(&mut self, cpu_to_cid: &[i32]) -> Result<(), IdleError> {
        let mut seen = vec![false; self.to_cid.len()];
        for (cpu, &cid) in (0..).zip(cpu_to_cid) {
            self.cpu_of(cid)?;
            if std::mem::replace(&mut seen[cid as usize], true) {
                return Err(IdleError::Scx(format!("cid {cid} assigned to multiple cpus")));
            }
            self.to_cid[cpu as usize] = cid as u32;
            self.to_cpu[cid as usize] = cpu;
        }
        self.topo.fill(CidTopo::NEG);
        Ok(())
    }

    /// `__scx_cpu_to_cid()`.
    #[inline]
    pub fn cid_of(&self, cpu: Cpu) -> u32 {
        self.to_cid[cpu as usize]
    }

    /// `scx_cid_to_cpu()`.
    ///
    /// # Errors
    /// Fails with what ends the scheduler: there is no such cid.
    pub fn cpu_of(&self, cid: i32) -> Result<Cpu, IdleError> {
        let cpu = usize::try_from(cid).ok().and_then(|cid| self.to_cpu.get(cid));
        cpu.copied().ok_or_else(|| IdleError::Scx(format!("invalid cid {cid}")))
    }

    /// Returns what `scx_bpf_cid_topo()` copies out of an existing cid.
    pub fn topo(&self, cid: u32) -> CidTopo {
        self.topo[cid as usize]
    }
}

/// Takes the CPUs out that are of a unit, in order.
fn take(from: &mut Vec<Cpu>, of: impl Fn(Cpu) -> bool) -> Vec<Cpu> {
    let (taken, left) = from.iter().partition(|&&cpu| of(cpu));
    *from = left;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_kernel::Preset;
    use wakelab_sched::domain::{DomainOptions, Numbering, Uniform, build_sched_domains};

    /// Siblings of a core are far apart, as on x86, and each node has two LLCs.
    fn cids(uniform: Uniform) -> Cids {
        let machine = uniform.topology();
        let options = DomainOptions::of(Preset::get("v7.2").unwrap());
        let domains = build_sched_domains(&machine, &options).unwrap();
        Cids::new(&IdleTopology::new(&domains, |a, b| machine.node_distance[a as usize][b as usize]))
    }

    #[test]
    fn cids_are_by_node_llc_and_core() {
        let uniform = Uniform { packages: 2, llcs: 2, nodes: 2, numbering: Numbering::Split, ..Uniform::new(2, 2) };
        let cids = cids(uniform);
        let cpus: Vec<Cpu> = (0..16).map(|cid| cids.cpu_of(cid).unwrap()).collect();
        // Cores are numbered first, and their second CPUs after all of them.
        assert_eq!(cpus, [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]);
        for (cid, &cpu) in (0..).zip(&cpus) {
            assert_eq!(cids.cid_of(cpu), cid);
            let unit = |cids: i32| [cid as i32 / cids * cids, cid as i32 / cids];
            assert_eq!(cids.topo(cid), CidTopo { core: unit(2), llc: unit(4), node: unit(8) });
        }
        assert_eq!(cids.cpu_of(16), Err(IdleError::Scx("invalid cid 16".to_owned())));
        assert_eq!(cids.cpu_of(-1), Err(IdleError::Scx("invalid cid -1".to_owned())));
    }

    /// The modes of scx_qmap's test of `scx_bpf_cid_override()`.
    #[test]
    fn a_schedulers_own_mapping_is_one_to_one_and_has_no_topology() {
        let message = |error: IdleError| if let IdleError::Scx(message) = error { message } else { String::new() };
        let shuffled = |with: &[i32]| {
            let mut cids = cids(Uniform::new(2, 2));
            cids.override_with(with).map(|()| cids).map_err(message)
        };
        let cids = shuffled(&[3, 2, 1, 0]).unwrap();
        assert_eq!((0..4).map(|cid| cids.cpu_of(cid).unwrap()).collect::<Vec<_>>(), [3, 2, 1, 0]);
        assert_eq!((cids.cid_of(0), cids.topo(0)), (3, CidTopo::NEG));
        assert_eq!(shuffled(&[0, 0, 2, 3]).unwrap_err(), "cid 0 assigned to multiple cpus");
        assert_eq!(shuffled(&[4, 1, 2, 3]).unwrap_err(), "invalid cid 4");
    }
}
