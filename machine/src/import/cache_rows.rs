//! The caches as a machine file has them.

use super::cache::{Caches, Kind};
use super::sys::Sys;
use crate::{Cache, Origin};
use std::collections::BTreeMap;
use wakelab_sched::cpumask::{Cpu, CpuMask};

impl Caches {
    /// One entry for all CPUs whose cache of a kind is alike.
    pub(super) fn rows(&self, sys: &Sys<'_>, notes: &mut Vec<String>) -> Vec<Cache> {
        let mut rows: BTreeMap<(Kind, u32, u64, u32), Vec<Cpu>> = BTreeMap::new();
        let mut first: BTreeMap<(Kind, u64, u32), u32> = BTreeMap::new();
        let mut unsaid: Vec<Kind> = Vec::new();
        for (cpu, of) in (0..).zip(&self.0) {
            for (&kind, one) in of {
                let Some(kib) = one.size_kib else {
                    unsaid.push(kind);
                    continue;
                };
                let alike = (kind, kib, one.cpus.weight());
                let order = *first.entry(alike).or_insert(cpu);
                rows.entry((kind, order, kib, alike.2)).or_default().push(cpu);
            }
        }
        unsaid.sort_unstable();
        unsaid.dedup();
        for kind in unsaid {
            notes.push(format!("{} has no cpu*/cache/index*/size: it is not among the caches", kind.name()));
        }
        let row = |((kind, _, size_kib, shared_by), cpus): ((Kind, u32, u64, u32), Vec<Cpu>)| Cache {
            name: kind.name(),
            size_kib,
            shared_by,
            cpus: (cpus.len() < sys.ids.len()).then(|| CpuMask::from_cpus(sys.len(), cpus)),
            origin: Origin::Source("sysfs: cpu*/cache/index*/{level,type,size,shared_cpu_list}".to_owned()),
        };
        rows.into_iter().map(row).collect()
    }
}
