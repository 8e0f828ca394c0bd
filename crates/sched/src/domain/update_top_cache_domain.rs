//! `update_top_cache_domain()` (`kernel/sched/topology.c`): the shortcuts to domains that the kernel keeps per CPU.
//!
//! ```text
//! sd_llc       = highest_flag_domain(cpu, SD_SHARE_LLC)
//! sd_llc_size  = its span_weight, or 1                  sd_llc_id = its lowest CPU (7.2 numbers LLCs densely)
//! sd_share_id  = lowest CPU of lowest_flag_domain(cpu, SD_CLUSTER), or sd_llc_id
//! sd_asym_cpucapacity = lowest_flag_domain(cpu, SD_ASYM_CPUCAPACITY_FULL)
//! ```

use super::LlcId;
use super::core_walks::CoreWalks;
use super::{SchedDomain, SchedDomains, SdFlags};
use crate::cpumask::{Cpu, CpuMask};
use std::sync::Arc;

/// The shortcuts of all CPUs that follow from their domains alone.
pub(super) struct TopCacheDomains {
    sd_llc: Vec<Option<u32>>,
    sd_llc_id: Vec<Cpu>,
    sd_llc_size: Vec<u32>,
    sd_share_id: Vec<Cpu>,
    cluster_active: bool,
}

/// `highest_flag_domain()`: returns the index of the highest domain that has the flag, as have all domains below it.
fn highest_flag_domain(domains: &[SchedDomain], flag: SdFlags) -> Option<usize> {
    domains.iter().take_while(|sd| sd.flags.contains(flag)).count().checked_sub(1)
}

/// `lowest_flag_domain()`: returns the index of the lowest domain that has the flag.
fn lowest_flag_domain(domains: &[SchedDomain], flag: SdFlags) -> Option<usize> {
    domains.iter().position(|sd| sd.flags.contains(flag))
}

impl TopCacheDomains {
    /// `update_top_cache_domain()` of all CPUs.
    pub(super) fn of(domains: &[Vec<SchedDomain>]) -> Self {
        let nr_cpus = domains.len();
        let mut tops = TopCacheDomains {
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
            tops.sd_llc.push(llc.map(|at| at as u32));
            tops.sd_llc_id.push(id);
            tops.sd_llc_size.push(llc.map_or(1, |at| domains[at].span_weight));
            tops.sd_share_id.push(first_of(cluster).unwrap_or(id));
            tops.cluster_active |= cluster.is_some();
        }
        tops
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
        SchedDomains {
            nr_cpus,
            core_walks: CoreWalks::new(&domains, &self.sd_llc, &smt_mask),
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

impl SchedDomains {
    /// `per_cpu(sd_llc, cpu)`: the highest domain whose CPUs share the last level cache.
    #[inline]
    pub fn sd_llc(&self, cpu: Cpu) -> Option<&SchedDomain> {
        self.sd_llc[cpu as usize].map(|level| &self.domains[cpu as usize][level as usize])
    }

    /// `cpus_share_cache()`.
    #[inline]
    pub fn cpus_share_cache(&self, a: Cpu, b: Cpu) -> bool {
        a == b || self.sd_llc_id[a as usize] == self.sd_llc_id[b as usize]
    }

    /// `cpus_share_resources()`: whether the CPUs share a cluster if there are clusters, else the LLC.
    #[inline]
    pub fn cpus_share_resources(&self, a: Cpu, b: Cpu) -> bool {
        a == b || self.sd_share_id[a as usize] == self.sd_share_id[b as usize]
    }

    /// Returns the index in `domains[cpu]` of `sd_asym_cpucapacity`, the lowest domain with all capacities; `None` if
    /// there is none. In 5.10, which has no `SD_ASYM_CPUCAPACITY_FULL`, it is the lowest domain with different
    /// capacities.
    pub fn sd_asym_cpucapacity(&self, cpu: Cpu) -> Option<u32> {
        let domains = &self.domains[cpu as usize];
        lowest_flag_domain(domains, SdFlags::ASYM_CPUCAPACITY_FULL)
            .or_else(|| lowest_flag_domain(domains, SdFlags::ASYM_CPUCAPACITY))
            .map(|at| at as u32)
    }

    /// Returns the index in `domains[cpu]` of `sd_balance_shared` (7.2), whose shared object holds `has_idle_cores` and
    /// `nr_busy_cpus`: `sd_asym_cpucapacity`, or `sd_llc` if there is none or it spans nodes. `nr_idle_scan` remains
    /// with `sd_llc`; up to 6.12 all three belong to `sd_llc` (`sd_llc_shared`).
    pub fn sd_balance_shared(&self, cpu: Cpu) -> Option<u32> {
        let spans_nodes = |at: &u32| self.domains[cpu as usize][*at as usize].flags.contains(SdFlags::NUMA);
        self.sd_asym_cpucapacity(cpu).filter(|at| !spans_nodes(at)).or(self.sd_llc[cpu as usize])
    }

    /// Returns `sd_llc_id` of every CPU as the kernel numbers it. `self.sd_llc_id` holds the lowest CPU for all
    /// versions.
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
