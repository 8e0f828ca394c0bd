//! `build_sched_domains()` (`kernel/sched/topology.c`): from a machine's shape to the domains of its CPUs.
//!
//! ```text
//! for each CPU: for each topology level, lowest first: sd_init(), until a level spans the machine
//! for each CPU: for each domain: build_sched_groups(), or build_overlap_sched_groups() if SD_NUMA
//! adjust_numa_imbalance()                                            imb_numa_nr
//! for each CPU: cpu_attach_domain()                                  removes degenerate domains
//!               update_top_cache_domain()                            sd_llc and the other shortcuts
//! ```

use super::ImbNuma;
use super::build_sched_groups::{Group, Groups, OverlapGroups, Rings, build_sched_groups};
use super::options::DomainOptions;
use super::sd_degenerate::cpu_attach_domain;
use super::sd_init::{Asym, sd_init};
use super::topology::{Topology, TopologyError};
use super::topology_levels::{TopologyLevel, cpu_smt_mask, topology_levels};
use super::update_top_cache_domain::TopCacheDomains;
use super::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup, SdFlags};
use crate::cpumask::{Cpu, CpuMask};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A CPU's domain while domains are built. Until degenerate domains are removed, its index among the CPU's domains is
/// `tl`.
#[derive(Clone, Debug)]
pub(super) struct Sd {
    pub(super) tl: usize,
    pub(super) span: SpanId,
    pub(super) flags: SdFlags,
    pub(super) imbalance_pct: u32,
    pub(super) imb_numa_nr: u32,
    pub(super) groups: Groups,
}

/// Builds the domains that Linux builds on a machine of this shape (`build_sched_domains()` and `cpu_attach_domain()`).
/// `options` selects the kernel version.
///
/// All CPUs are online and in one root domain: there are no cpusets and no isolated CPUs.
///
/// # Errors
/// If no machine has this shape ([`Topology::validate`]).
pub fn build_sched_domains(topology: &Topology, options: &DomainOptions) -> Result<SchedDomains, TopologyError> {
    topology.validate()?;
    let nr_cpus = topology.nr_cpus();
    let mut spans = Spans::new();
    let cpu_map = spans.intern(CpuMask::full(nr_cpus));
    let cpu_spans: Vec<SpanId> = (0..nr_cpus).map(|cpu| spans.intern(CpuMask::from_cpus(nr_cpus, [cpu]))).collect();
    let levels = topology_levels(topology, options, &mut spans);
    let smt = cpu_smt_mask(topology, &mut spans);
    let asym = Asym::new(topology, &levels, &spans, options);

    let mut chains: Vec<Vec<Sd>> = (0..nr_cpus as usize)
        .map(|cpu| {
            let mut chain: Vec<Sd> = Vec::new();
            for (tl, level) in levels.iter().enumerate() {
                let sd = sd_init(tl, level, cpu, &asym, options, chain.last_mut());
                chain.push(sd);
                if level.mask[cpu] == cpu_map {
                    break;
                }
            }
            chain
        })
        .collect();
    let asym_cpucap_active = chains.iter().flatten().any(|sd| sd.flags.contains(SdFlags::ASYM_CPUCAPACITY));

    let mut rings = build_groups(&mut chains, &levels, &cpu_spans, &mut spans, options);
    for chain in &mut chains {
        adjust_numa_imbalance(chain, &spans, options.rules.imb_numa);
        cpu_attach_domain(chain, &spans, &mut rings, options.rules.group_flags);
    }

    let mut convert = Convert::new(topology, &spans, &rings);
    let domains: Vec<Vec<SchedDomain>> =
        chains.iter().map(|chain| chain.iter().map(|sd| convert.domain(sd, &levels)).collect()).collect();
    let smt_mask = smt.iter().map(|&id| spans.mask(id).clone()).collect();
    let node = topology.cpus.iter().map(|c| c.node).collect();
    let mut domains = TopCacheDomains::of(&domains).into_domains(nr_cpus, domains, smt_mask, node);
    domains.asym_cpucap_active = asym_cpucap_active;
    Ok(domains)
}

fn build_groups(
    chains: &mut [Vec<Sd>],
    levels: &[TopologyLevel],
    cpu_spans: &[SpanId],
    spans: &mut Spans,
    options: &DomainOptions,
) -> Rings {
    let mut rings = Rings::default();
    let mut built: Vec<Vec<Groups>> = Vec::with_capacity(chains.len());
    let mut overlap = OverlapGroups { chains, cpu_spans, options, balance_masks: HashMap::new() };
    for cpu in 0..overlap.chains.len() as Cpu {
        let nr_levels = overlap.chains[cpu as usize].len();
        let groups = |tl: usize| match levels[tl].level {
            Level::Numa => Groups::Own(overlap.build(tl, cpu, spans)),
            _ => build_sched_groups(tl, cpu, overlap.chains, cpu_spans, spans, options.rules.group_flags, &mut rings),
        };
        built.push((0..nr_levels).map(groups).collect());
    }
    for (chain, built) in chains.iter_mut().zip(built) {
        for (sd, groups) in chain.iter_mut().zip(built) {
            sd.groups = groups;
        }
    }
    rings
}

/// Sets `imb_numa_nr` of one CPU's domains (`build_sched_domains()`, 6.1 and 6.12; `adjust_numa_imbalance()`, 7.2). It
/// stays 0 up to the LLC. Above, it is the number of tasks that a node can run before they share an LLC, scaled with
/// the span.
fn adjust_numa_imbalance(chain: &mut [Sd], spans: &Spans, variant: ImbNuma) {
    let weight = |sd: &Sd| spans.weight(sd.span);
    let Some(above) = chain.iter().position(|sd| !sd.flags.contains(SdFlags::SHARE_LLC)) else { return };
    let Some(llc) = above.checked_sub(1) else { return };
    let nr_llcs = weight(&chain[above]) / weight(&chain[llc]);
    let imb = match variant {
        ImbNuma::Absent => return,
        ImbNuma::Quarter if nr_llcs == 1 => weight(&chain[above]) >> 2,
        ImbNuma::Eighth if nr_llcs == 1 => (weight(&chain[above]) >> 3).max(1),
        _ => nr_llcs,
    };
    let first_numa = chain[above + 1..].iter().find(|sd| sd.flags.contains(SdFlags::NUMA));
    let imb_span = weight(first_numa.unwrap_or(&chain[above]));
    for sd in &mut chain[above..] {
        sd.imb_numa_nr = imb * (spans.weight(sd.span) / imb_span).max(1);
    }
}

/// Converts domains to their public form. Each ring of groups is converted once.
struct Convert<'a> {
    topology: &'a Topology,
    spans: &'a Spans,
    rings: &'a Rings,
    capacity: Vec<Option<u64>>,
    shared: Vec<Option<GroupRing>>,
    own: HashMap<Vec<Group>, GroupRing>,
}

impl<'a> Convert<'a> {
    fn new(topology: &'a Topology, spans: &'a Spans, rings: &'a Rings) -> Self {
        let (capacity, shared) = (vec![None; spans.len()], vec![None; rings.rings.len()]);
        Convert { topology, spans, rings, capacity, shared, own: HashMap::new() }
    }

    fn domain(&mut self, sd: &Sd, levels: &[TopologyLevel]) -> SchedDomain {
        let (groups, first) = match &sd.groups {
            Groups::None => (Vec::new().into(), 0),
            Groups::Shared { ring, first } => (self.shared_ring(*ring), *first),
            Groups::Own(groups) => self.own_ring(groups),
        };
        SchedDomain {
            level: levels[sd.tl].level,
            flags: sd.flags,
            imbalance_pct: sd.imbalance_pct,
            imb_numa_nr: sd.imb_numa_nr,
            span: self.spans.mask(sd.span).clone(),
            span_weight: self.spans.weight(sd.span),
            groups,
            first_group: first as u32,
        }
    }

    fn shared_ring(&mut self, ring: usize) -> GroupRing {
        if let Some(ring) = &self.shared[ring] {
            return ring.clone();
        }
        let built: GroupRing = self.rings.rings[ring].iter().map(|group| self.group(group)).collect();
        self.shared[ring] = Some(built.clone());
        built
    }

    /// Rings of different CPUs that differ only in their first group share their memory.
    fn own_ring(&mut self, groups: &[Group]) -> (GroupRing, usize) {
        let begin = (0..groups.len()).min_by_key(|&i| (self.spans.mask(groups[i].span).first(), groups[i].span));
        let begin = begin.unwrap_or(0);
        let mut key = groups.to_vec();
        key.rotate_left(begin);
        let first = (groups.len() - begin) % groups.len();
        if let Some(ring) = self.own.get(&key) {
            return (ring.clone(), first);
        }
        let ring: GroupRing = key.iter().map(|group| self.group(group)).collect();
        self.own.insert(key, ring.clone());
        (ring, first)
    }

    fn group(&mut self, group: &Group) -> SchedGroup {
        let span = self.spans.mask(group.span);
        let balance_mask =
            (group.balance_mask != group.span).then(|| CpuMask::clone(self.spans.mask(group.balance_mask)));
        let cpus = &self.topology.cpus;
        let capacity = *self.capacity[group.span as usize]
            .get_or_insert_with(|| span.iter().map(|cpu| u64::from(cpus[cpu as usize].capacity)).sum());
        SchedGroup {
            span: CpuMask::clone(span),
            weight: self.spans.weight(group.span),
            capacity,
            flags: group.flags,
            balance_mask,
        }
    }
}

/// The id of a mask in [`Spans`]. Equal masks have equal ids.
pub(super) type SpanId = u32;

/// The masks of all domains and groups of a machine, each stored once however many domains span it.
pub(super) struct Spans {
    masks: Vec<Arc<CpuMask>>,
    weights: Vec<u32>,
    /// By first CPU, which few masks share: a mask is as wide as the machine, and to hash all of it would take most of
    /// the time that domains take to build.
    by_first: Vec<SmallVec<[SpanId; 2]>>,
}

impl Spans {
    pub(super) fn new() -> Self {
        Spans { masks: Vec::new(), weights: Vec::new(), by_first: Vec::new() }
    }

    pub(super) fn intern(&mut self, mask: CpuMask) -> SpanId {
        let (first, weight) = (mask.first().unwrap_or(0) as usize, mask.weight());
        if self.by_first.len() <= first {
            self.by_first.resize(first + 1, SmallVec::new());
        }
        let is_it = |id: SpanId| self.weights[id as usize] == weight && *self.masks[id as usize] == mask;
        if let Some(&id) = self.by_first[first].iter().find(|&&id| is_it(id)) {
            return id;
        }
        let id = self.masks.len() as SpanId;
        self.by_first[first].push(id);
        self.weights.push(weight);
        self.masks.push(Arc::new(mask));
        id
    }

    pub(super) fn mask(&self, id: SpanId) -> &Arc<CpuMask> {
        &self.masks[id as usize]
    }

    pub(super) fn weight(&self, id: SpanId) -> u32 {
        self.weights[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.masks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Masks that share their first CPU, or their weight, or neither, have an id for each set of CPUs.
        #[test]
        fn equal_masks_have_equal_ids(
            sets in prop::collection::vec(prop::collection::btree_set(0u32..6, 0..4), 1..80),
        ) {
            let (mut spans, mut plain) = (Spans::new(), Vec::new());
            for cpus in sets {
                let mask = CpuMask::from_cpus(200, cpus.iter().map(|cpu| cpu * 30));
                let known = plain.iter().position(|other| *other == mask);
                let id = spans.intern(mask.clone());
                prop_assert_eq!(id as usize, known.unwrap_or(plain.len()));
                prop_assert_eq!((&**spans.mask(id), spans.weight(id)), (&mask, mask.weight()));
                if known.is_none() {
                    plain.push(mask);
                }
            }
        }
    }
}
