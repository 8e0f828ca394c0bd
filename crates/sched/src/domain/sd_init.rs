//! `sd_init()` (`kernel/sched/topology.c`): the flags and limits of one CPU's domain at one topology level, before its
//! groups are built. `asym_cpu_capacity_classify()` and its predecessor give the asymmetry flags.

use super::AsymDetection;
use super::SdFlags;
use super::build_sched_domains::{Sd, Spans};
use super::build_sched_groups::Groups;
use super::options::DomainOptions;
use super::topology::Topology;
use super::topology_levels::TopologyLevel;
use crate::cpumask::CpuMask;
use std::collections::BTreeMap;

/// The asymmetry flags of all domains, as [`sd_init`] reads them.
pub(super) struct Asym {
    level: Option<usize>,
    by_span: Vec<SdFlags>,
}

impl Asym {
    pub(super) fn new(topology: &Topology, levels: &[TopologyLevel], spans: &Spans, options: &DomainOptions) -> Self {
        match options.rules.asym {
            AsymDetection::Level => {
                Asym { level: asym_cpu_capacity_level(topology, levels, spans), by_span: Vec::new() }
            }
            AsymDetection::Classify => {
                let capacities = AsymCapacities::scan(topology);
                let classify = |id| capacities.classify(spans.mask(id as u32));
                Asym { level: None, by_span: (0..spans.len()).map(classify).collect() }
            }
        }
    }

    fn flags(&self, tl: usize, level: &TopologyLevel, cpu: usize) -> SdFlags {
        match self.level {
            Some(asym) if tl >= asym => SdFlags::ASYM_CPUCAPACITY,
            Some(_) => SdFlags::empty(),
            None => self.by_span.get(level.mask[cpu] as usize).copied().unwrap_or_default(),
        }
    }
}

/// `sd_init()`: initializes the domain of `cpu` at level `tl`, above `child`.
pub(super) fn sd_init(
    tl: usize,
    level: &TopologyLevel,
    cpu: usize,
    asym: &Asym,
    options: &DomainOptions,
    child: Option<&mut Sd>,
) -> Sd {
    let mut flags = SdFlags::BALANCE_NEWIDLE
        | SdFlags::BALANCE_EXEC
        | SdFlags::BALANCE_FORK
        | SdFlags::WAKE_AFFINE
        | SdFlags::PREFER_SIBLING
        | level.flags
        | asym.flags(tl, level, cpu);
    if options.rules.asym_clears_prefer_sibling
        && flags.contains(SdFlags::ASYM_CPUCAPACITY)
        && let Some(child) = child
    {
        child.flags -= SdFlags::PREFER_SIBLING;
    }
    let mut imbalance_pct = options.rules.imbalance_pct;
    if flags.contains(SdFlags::SHARE_CPUCAPACITY) {
        imbalance_pct = 110;
    } else if flags.contains(SdFlags::SHARE_LLC) {
        imbalance_pct = 117;
    } else if let Some(distance) = level.numa_distance {
        flags -= SdFlags::PREFER_SIBLING;
        flags |= SdFlags::SERIALIZE;
        if distance > options.node_reclaim_distance {
            flags -= SdFlags::BALANCE_EXEC | SdFlags::BALANCE_FORK | SdFlags::WAKE_AFFINE;
        }
        flags.set(SdFlags::OVERLAP, options.rules.overlap_flag);
    }
    Sd { tl, span: level.mask[cpu], flags, imbalance_pct, imb_numa_nr: 0, groups: Groups::None }
}

/// `asym_cap_list`: the CPUs of each capacity. It is empty if all are equal.
struct AsymCapacities {
    spans: Vec<CpuMask>,
}

impl AsymCapacities {
    /// `asym_cpu_capacity_scan()`.
    fn scan(topology: &Topology) -> Self {
        let mut spans: BTreeMap<u32, CpuMask> = BTreeMap::new();
        for (cpu, c) in (0..).zip(&topology.cpus) {
            spans.entry(c.capacity).or_insert_with(|| CpuMask::new(topology.nr_cpus())).set(cpu);
        }
        let spans = if spans.len() > 1 { spans.into_values().collect() } else { Vec::new() };
        AsymCapacities { spans }
    }

    /// `asym_cpu_capacity_classify()` (6.1 to 7.3): returns the flags of a domain from the capacities in its span.
    fn classify(&self, span: &CpuMask) -> SdFlags {
        let seen = self.spans.iter().filter(|cpus| cpus.intersects(span)).count();
        match seen {
            0 | 1 => SdFlags::empty(),
            _ if seen < self.spans.len() => SdFlags::ASYM_CPUCAPACITY,
            _ => SdFlags::ASYM_CPUCAPACITY | SdFlags::ASYM_CPUCAPACITY_FULL,
        }
    }
}

/// `asym_cpu_capacity_level()` (5.10): returns the lowest level at which every CPU's mask has a CPU of the highest
/// capacity.
fn asym_cpu_capacity_level(topology: &Topology, levels: &[TopologyLevel], spans: &Spans) -> Option<usize> {
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
