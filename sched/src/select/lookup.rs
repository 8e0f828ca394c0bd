//! The per-CPU shortcuts that placement reads.

use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SchedDomains};

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

    /// `cpus_share_resources()`: the cluster where there are clusters, else the LLC.
    #[inline]
    pub fn cpus_share_resources(&self, a: Cpu, b: Cpu) -> bool {
        a == b || self.sd_share_id[a as usize] == self.sd_share_id[b as usize]
    }
}
