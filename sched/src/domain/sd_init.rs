//! One domain of one CPU as it is before its groups are built.

use super::SdFlags;
use super::asym::{AsymCapacities, asym_cpu_capacity_level};
use super::build::Sd;
use super::groups::Groups;
use super::levels::TopologyLevel;
use super::options::{AsymDetection, DomainOptions};
use super::spans::Spans;
use super::topology::Topology;

/// Where [`sd_init`] takes the asymmetry flags from.
pub(super) struct Asym {
    level: Option<usize>,
    by_span: Vec<SdFlags>,
}

impl Asym {
    pub(super) fn new(topology: &Topology, levels: &[TopologyLevel], spans: &Spans, options: &DomainOptions) -> Self {
        match options.asym {
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

/// `sd_init()`: the flags and limits of the domain at level `tl` of a CPU, above `child`.
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
    if options.asym_clears_prefer_sibling
        && flags.contains(SdFlags::ASYM_CPUCAPACITY)
        && let Some(child) = child
    {
        child.flags -= SdFlags::PREFER_SIBLING;
    }
    let mut imbalance_pct = options.imbalance_pct;
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
        flags.set(SdFlags::OVERLAP, options.overlap_flag);
    }
    Sd { tl, span: level.mask[cpu], flags, imbalance_pct, imb_numa_nr: 0, groups: Groups::None }
}
