//! What the kernel keeps beside the domains (`update_top_cache_domain()`).

use super::options::LlcId;
use super::{SchedDomain, SchedDomains, SchedGroup, SdFlags};
use crate::cpumask::{Cpu, CpuMask, Wrap};
use std::sync::Arc;

/// The shortcuts that follow from the domains alone.
pub(super) struct Shortcuts {
    sd_llc: Vec<Option<u32>>,
    sd_llc_id: Vec<Cpu>,
    sd_llc_size: Vec<u32>,
    sd_share_id: Vec<Cpu>,
    cluster_active: bool,
}

/// `highest_flag_domain()`: the highest of the domains that all, from the lowest up, have the flag.
fn highest_flag_domain(domains: &[SchedDomain], flag: SdFlags) -> Option<usize> {
    domains.iter().take_while(|sd| sd.flags.contains(flag)).count().checked_sub(1)
}

/// `lowest_flag_domain()`.
fn lowest_flag_domain(domains: &[SchedDomain], flag: SdFlags) -> Option<usize> {
    domains.iter().position(|sd| sd.flags.contains(flag))
}

impl Shortcuts {
    /// `update_top_cache_domain()` of all CPUs.
    pub(super) fn of(domains: &[Vec<SchedDomain>]) -> Self {
        let nr_cpus = domains.len();
        let mut shortcuts = Shortcuts {
            sd_llc: Vec::with_capacity(nr_cpus),
            sd_llc_id: Vec::with_capacity(nr_cpus),
            sd_llc_size: Vec::with_capacity(nr_cpus),
            sd_share_id: Vec::with_capacity(nr_cpus),
            cluster_active: false,
        };
        for (cpu, domains) in (0..).zip(domains) {
            let first_of = |at: Option<usize>| at.and_then(|at| domains[at].span.first());
            let llc = highest_flag_domain(domains, SdFlags::SHARE_LLC);
            let id = first_of(llc).unwrap_or(cpu);
            let cluster = lowest_flag_domain(domains, SdFlags::CLUSTER);
            shortcuts.sd_llc.push(llc.map(|at| at as u32));
            shortcuts.sd_llc_id.push(id);
            shortcuts.sd_llc_size.push(llc.map_or(1, |at| domains[at].span_weight));
            shortcuts.sd_share_id.push(first_of(cluster).unwrap_or(id));
            shortcuts.cluster_active |= cluster.is_some();
        }
        shortcuts
    }

    pub(super) fn into_domains(
        self,
        nr_cpus: u32,
        domains: Vec<Vec<SchedDomain>>,
        smt_mask: Vec<Arc<CpuMask>>,
        node: Vec<u32>,
    ) -> SchedDomains {
        let smt_active = smt_mask.iter().any(|mask| mask.weight() > 1);
        let asym_cpucap_active = domains.iter().flatten().any(|sd| sd.flags.contains(SdFlags::ASYM_CPUCAPACITY));
        let pairs = smt_mask.iter().all(|mask| mask.weight() == 2);
        let core_walk = if pairs { core_walks(nr_cpus, &domains, &self.sd_llc, &smt_mask) } else { Vec::new() };
        SchedDomains {
            nr_cpus,
            core_walk,
            domains,
            smt_mask,
            sd_llc: self.sd_llc,
            sd_llc_id: self.sd_llc_id,
            sd_llc_size: self.sd_llc_size,
            sd_share_id: self.sd_share_id,
            node,
            smt_active,
            cluster_active: self.cluster_active,
            asym_cpucap_active,
        }
    }
}

fn core_walks(
    nr_cpus: u32,
    domains: &[Vec<SchedDomain>],
    sd_llc: &[Option<u32>],
    smt_mask: &[Arc<CpuMask>],
) -> Vec<[CpuMask; 2]> {
    let of = |cpu: Cpu, start: Cpu| {
        let mut first = CpuMask::new(nr_cpus);
        let Some(llc) = sd_llc[cpu as usize] else { return first };
        let mut left = (*domains[cpu as usize][llc as usize].span).clone();
        let mut walk = Wrap::new(start);
        while let Some(cpu) = walk.next(&left) {
            first.set(cpu);
            left.andnot_with(&smt_mask[cpu as usize]);
        }
        first
    };
    (0..nr_cpus).map(|cpu| [of(cpu, cpu), of(cpu, cpu + 1)]).collect()
}

impl SchedGroup {
    /// `group_balance_mask()`: the CPUs of the group that may balance for it at this level. Where groups do not
    /// overlap, all of them.
    pub fn group_balance_mask(&self) -> &CpuMask {
        self.balance_mask.as_ref().unwrap_or(&self.span)
    }

    /// `group_balance_cpu()`.
    pub fn group_balance_cpu(&self) -> Option<Cpu> {
        self.group_balance_mask().first()
    }
}

impl SchedDomains {
    /// Index in `domains[cpu]` of the lowest domain with the flag: `lowest_flag_domain()`.
    pub fn lowest_flag_domain(&self, cpu: Cpu, flag: SdFlags) -> Option<u32> {
        lowest_flag_domain(&self.domains[cpu as usize], flag).map(|at| at as u32)
    }

    /// Index in `domains[cpu]` of the highest domain that has the flag, as have all below it: `highest_flag_domain()`.
    pub fn highest_flag_domain(&self, cpu: Cpu, flag: SdFlags) -> Option<u32> {
        highest_flag_domain(&self.domains[cpu as usize], flag).map(|at| at as u32)
    }

    /// `sd_numa`, as an index in `domains[cpu]`.
    pub fn sd_numa(&self, cpu: Cpu) -> Option<u32> {
        self.lowest_flag_domain(cpu, SdFlags::NUMA)
    }

    /// `sd_asym_packing`, as an index in `domains[cpu]`.
    pub fn sd_asym_packing(&self, cpu: Cpu) -> Option<u32> {
        self.highest_flag_domain(cpu, SdFlags::ASYM_PACKING)
    }

    /// `sd_asym_cpucapacity`, as an index in `domains[cpu]`: the lowest domain with all capacities; on 5.10, which
    /// does not have `SD_ASYM_CPUCAPACITY_FULL`, the lowest with different ones.
    pub fn sd_asym_cpucapacity(&self, cpu: Cpu) -> Option<u32> {
        self.lowest_flag_domain(cpu, SdFlags::ASYM_CPUCAPACITY_FULL)
            .or_else(|| self.lowest_flag_domain(cpu, SdFlags::ASYM_CPUCAPACITY))
    }

    /// The domain whose shared object holds `has_idle_cores` and `nr_busy_cpus`, as an index in `domains[cpu]`
    /// (`sd_balance_shared`, 7.2): `sd_asym_cpucapacity` unless that spans nodes, else `sd_llc`. `nr_idle_scan` stays
    /// with `sd_llc`; up to 6.12 all three are `sd_llc`'s (`sd_llc_shared`).
    pub fn sd_balance_shared(&self, cpu: Cpu) -> Option<u32> {
        let spans_nodes = |at: &u32| self.domains[cpu as usize][*at as usize].flags.contains(SdFlags::NUMA);
        self.sd_asym_cpucapacity(cpu).filter(|at| !spans_nodes(at)).or(self.sd_llc[cpu as usize])
    }

    /// `sd_llc_id` of every CPU as the kernel numbers it; `self.sd_llc_id` holds the lowest CPU for every version.
    pub fn kernel_llc_ids(&self, numbering: LlcId) -> Vec<u32> {
        match numbering {
            LlcId::FirstCpu => self.sd_llc_id.clone(),
            LlcId::Dense => {
                let mut dense = vec![0; self.sd_llc_id.len()];
                let mut next = 0;
                for (cpu, &first) in self.sd_llc_id.iter().enumerate() {
                    if first as usize == cpu {
                        dense[cpu] = next;
                        next += 1;
                    }
                }
                self.sd_llc_id.iter().map(|&first| dense[first as usize]).collect()
            }
        }
    }
}
