//! Domains whose CPUs have different capacities.

use super::SdFlags;
use super::levels::TopologyLevel;
use super::spans::Spans;
use super::topology::Topology;
use crate::cpumask::CpuMask;
use std::collections::BTreeMap;

/// The CPUs by capacity (`asym_cap_list`); empty where all are equal.
pub(super) struct AsymCapacities {
    spans: Vec<CpuMask>,
}

impl AsymCapacities {
    /// `asym_cpu_capacity_scan()`.
    pub(super) fn scan(topology: &Topology) -> Self {
        let mut spans: BTreeMap<u32, CpuMask> = BTreeMap::new();
        for (cpu, c) in (0..).zip(&topology.cpus) {
            spans.entry(c.capacity).or_insert_with(|| CpuMask::new(topology.nr_cpus())).set(cpu);
        }
        let spans = if spans.len() > 1 { spans.into_values().collect() } else { Vec::new() };
        AsymCapacities { spans }
    }

    /// `asym_cpu_capacity_classify()` (6.1 to 7.3).
    pub(super) fn classify(&self, span: &CpuMask) -> SdFlags {
        let seen = self.spans.iter().filter(|cpus| cpus.intersects(span)).count();
        match seen {
            0 | 1 => SdFlags::empty(),
            _ if seen < self.spans.len() => SdFlags::ASYM_CPUCAPACITY,
            _ => SdFlags::ASYM_CPUCAPACITY | SdFlags::ASYM_CPUCAPACITY_FULL,
        }
    }
}

/// The lowest level at which each CPU sees one of the highest capacity (`asym_cpu_capacity_level()`, 5.10).
pub(super) fn asym_cpu_capacity_level(topology: &Topology, levels: &[TopologyLevel], spans: &Spans) -> Option<usize> {
    let max_in: Vec<u32> = (0..spans.len())
        .map(|id| {
            let cpus = spans.mask(id as u32).iter();
            cpus.map(|cpu| topology.cpus[cpu as usize].capacity).max().unwrap_or(0)
        })
        .collect();
    let mut asym_level = None;
    for (cpu, c) in topology.cpus.iter().enumerate() {
        let mut max_capacity = c.capacity;
        for (tl, level) in levels.iter().enumerate().skip(asym_level.unwrap_or(0)) {
            let capacity = max_in[level.mask[cpu] as usize];
            if capacity > max_capacity {
                max_capacity = capacity;
                asym_level = Some(tl);
            }
        }
    }
    asym_level
}
