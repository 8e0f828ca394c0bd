//! Domains taken over from a running kernel, as a recording describes them.
//!
//! They are checked as `sched_domain_debug_one()` (`kernel/sched/topology.c`) checks them.

use super::topology::MAX_CPUS;
use super::update_top_cache_domain::TopCacheDomains;
use super::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup, SdFlags};
use crate::cpumask::{Cpu, CpuMask};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The domains of a machine as its kernel has them, CPU by CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDomains {
    /// The domains of each CPU, by CPU number. All masks have room for this many CPUs.
    pub cpus: Vec<KernelCpu>,
    /// By CPU: the NUMA node. If `None`, the spans below the lowest NUMA domain are taken as nodes, numbered in the
    /// order of their lowest CPUs.
    pub node: Option<Vec<u32>>,
}

/// The domains of one CPU as the kernel has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCpu {
    /// The domains, lowest first.
    pub domains: Vec<KernelSd>,
    /// The kernel's `sd_llc_id`, in the numbering of its version.
    pub sd_llc_id: u32,
}

/// One domain of one CPU as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSd {
    /// The name that the kernel prints: `SMT`, `CLS`, `MC`, `PKG` or `DIE`, `NODE`, `NUMA`.
    pub name: String,
    /// `sd->flags`, decoded ([`SdFlags::from_raw`]).
    pub flags: SdFlags,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// `sd->imb_numa_nr`; 0 on kernels without it.
    pub imb_numa_nr: u32,
    /// `sched_domain_span()`.
    pub span: CpuMask,
    /// The groups from `sd->groups` on, in the order of the ring.
    pub groups: Vec<KernelGroup>,
}

/// One group of a domain as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelGroup {
    /// `sched_group_span()`.
    pub span: CpuMask,
    /// `sgc->capacity`.
    pub capacity: u64,
    /// `sg->flags`, decoded.
    pub flags: SdFlags,
}

/// Why domains were refused: the CPU, the domain, the field and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDomainsError {
    /// The CPU; `None` if the machine as a whole is wrong.
    pub cpu: Option<Cpu>,
    /// Index of the domain among the CPU's; `None` if the field is not one of a domain.
    pub domain: Option<usize>,
    /// The field, by its name in [`KernelDomains`], [`KernelCpu`] or [`KernelSd`].
    pub field: &'static str,
    /// The reason why it is wrong.
    pub reason: String,
}

impl fmt::Display for KernelDomainsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpu) = self.cpu {
            write!(f, "CPU {cpu}, ")?;
        }
        if let Some(domain) = self.domain {
            write!(f, "domain {domain}, ")?;
        }
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for KernelDomainsError {}

impl SchedDomains {
    /// Takes over domains that a kernel built, and computes the per-CPU shortcuts (`update_top_cache_domain()`).
    ///
    /// # Errors
    /// If the domains contradict each other, or `sched_domain_debug_one()` would report an error.
    pub fn from_kernel(kernel: &KernelDomains) -> Result<SchedDomains, KernelDomainsError> {
        let machine = |field, reason: String| KernelDomainsError { cpu: None, domain: None, field, reason };
        if kernel.cpus.is_empty() || kernel.cpus.len() > MAX_CPUS as usize {
            return Err(machine("cpus", format!("{} CPUs, but 1 to {MAX_CPUS} are supported", kernel.cpus.len())));
        }
        let nr_cpus = kernel.cpus.len() as u32;
        let mut sharing = Sharing::default();
        let mut domains = Vec::with_capacity(kernel.cpus.len());
        for (cpu, of_cpu) in (0..).zip(&kernel.cpus) {
            domains.push(convert_cpu(cpu, nr_cpus, of_cpu, &mut sharing)?);
        }
        let smt_mask = smt_masks(nr_cpus, &domains, &mut sharing)?;
        let node = match &kernel.node {
            Some(node) if node.len() != kernel.cpus.len() => {
                return Err(machine("node", format!("{} entries for {nr_cpus} CPUs", node.len())));
            }
            Some(node) => node.clone(),
            None => nodes_of(&domains),
        };
        let domains = TopCacheDomains::of(&domains).into_domains(nr_cpus, domains, smt_mask, node);
        check_llc_ids(kernel, &domains)?;
        check_siblings(&domains)?;
        Ok(domains)
    }
}

/// The spans and rings that CPUs share.
#[derive(Default)]
struct Sharing {
    spans: HashMap<CpuMask, Arc<CpuMask>>,
    rings: HashMap<Vec<SchedGroup>, GroupRing>,
}

impl Sharing {
    fn span(&mut self, mask: &CpuMask) -> Arc<CpuMask> {
        if let Some(span) = self.spans.get(mask) {
            return span.clone();
        }
        let span = Arc::new(mask.clone());
        self.spans.insert(mask.clone(), span.clone());
        span
    }

    /// Returns the ring, which starts with the group of the lowest CPU, and the index of the first of `groups` in it.
    fn ring(&mut self, mut groups: Vec<SchedGroup>) -> (GroupRing, u32) {
        let lowest = (0..groups.len()).min_by(|&a, &b| {
            let key = |i: usize| (groups[i].span.first(), &groups[i].span);
            key(a).cmp(&key(b))
        });
        let begin = lowest.unwrap_or(0);
        groups.rotate_left(begin);
        let first = ((groups.len() - begin) % groups.len()) as u32;
        if let Some(ring) = self.rings.get(&groups) {
            return (ring.clone(), first);
        }
        let ring: GroupRing = groups.clone().into();
        self.rings.insert(groups, ring.clone());
        (ring, first)
    }
}

fn convert_cpu(
    cpu: Cpu,
    nr_cpus: u32,
    kernel: &KernelCpu,
    sharing: &mut Sharing,
) -> Result<Vec<SchedDomain>, KernelDomainsError> {
    let mut domains: Vec<SchedDomain> = Vec::with_capacity(kernel.domains.len());
    for (at, sd) in kernel.domains.iter().enumerate() {
        let wrong = |field, reason: String| KernelDomainsError { cpu: Some(cpu), domain: Some(at), field, reason };
        let level = Level::from_name(&sd.name).ok_or_else(|| {
            wrong("name", format!("`{}` is unknown; expected SMT, CLS, MC, PKG, DIE, NODE or NUMA", sd.name))
        })?;
        check_span(cpu, nr_cpus, sd).map_err(|reason| wrong("span", reason))?;
        check_groups(cpu, sd, level).map_err(|reason| wrong("groups", reason))?;
        if sd.imbalance_pct < 100 {
            return Err(wrong("imbalance_pct", format!("{} is below 100", sd.imbalance_pct)));
        }
        if let Some(child) = domains.last() {
            let in_order = child.level < level || (child.level == Level::Numa && level == Level::Numa);
            if !in_order {
                return Err(wrong("name", format!("{} is above {:?}", sd.name, child.level)));
            }
            if !child.span.is_subset(&sd.span) {
                return Err(wrong("span", format!("{} does not contain the domain below, {}", sd.span, child.span)));
            }
            // SD_SHARE_LLC is SDF_SHARED_CHILD: if a domain has it, all domains below have it.
            if sd.flags.contains(SdFlags::SHARE_LLC) && !child.flags.contains(SdFlags::SHARE_LLC) {
                return Err(wrong("flags", "SD_SHARE_LLC is set here but not in the domain below".to_string()));
            }
        }
        let group = |group: &KernelGroup| SchedGroup {
            span: group.span.clone(),
            weight: group.span.weight(),
            capacity: group.capacity,
            flags: group.flags,
            balance_mask: None,
        };
        let (groups, first_group) = sharing.ring(sd.groups.iter().map(group).collect());
        domains.push(SchedDomain {
            level,
            flags: sd.flags,
            imbalance_pct: sd.imbalance_pct,
            imb_numa_nr: sd.imb_numa_nr,
            span: sharing.span(&sd.span),
            span_weight: sd.span.weight(),
            groups,
            first_group,
        });
    }
    Ok(domains)
}

fn check_mask(nr_cpus: u32, mask: &CpuMask) -> Result<(), String> {
    if mask.room() != CpuMask::new(nr_cpus).room() {
        return Err(format!("a mask with room for {} CPUs on a machine of {nr_cpus}", mask.room()));
    }
    match mask.next_from(nr_cpus) {
        Some(beyond) => Err(format!("{mask} names CPU {beyond}, but there are {nr_cpus} CPUs")),
        None => Ok(()),
    }
}

fn check_span(cpu: Cpu, nr_cpus: u32, sd: &KernelSd) -> Result<(), String> {
    check_mask(nr_cpus, &sd.span)?;
    if !sd.span.test(cpu) {
        return Err(format!("{} does not contain the CPU", sd.span));
    }
    sd.groups.iter().try_for_each(|group| check_mask(nr_cpus, &group.span))
}

fn check_groups(cpu: Cpu, sd: &KernelSd, level: Level) -> Result<(), String> {
    let Some(first) = sd.groups.first() else { return Err("there is none".to_string()) };
    if !first.span.test(cpu) {
        return Err(format!("the first, {}, does not contain the CPU", first.span));
    }
    let mut covered = CpuMask::new(sd.span.room());
    for group in &sd.groups {
        if group.span.is_empty() {
            return Err("one is empty".to_string());
        }
        if level != Level::Numa && covered.intersects(&group.span) {
            return Err(format!("{} overlaps those before it", group.span));
        }
        covered.or_with(&group.span);
    }
    // Before 5.13, groups of NUMA domains can extend beyond the domain.
    let covers = if level == Level::Numa { sd.span.is_subset(&covered) } else { sd.span == covered };
    if covers { Ok(()) } else { Err(format!("they cover {covered}, but the domain spans {}", sd.span)) }
}

fn smt_masks(
    nr_cpus: u32,
    domains: &[Vec<SchedDomain>],
    sharing: &mut Sharing,
) -> Result<Vec<Arc<CpuMask>>, KernelDomainsError> {
    let smt_of = |cpu: usize| domains[cpu].first().filter(|sd| sd.level == Level::Smt).map(|sd| &sd.span);
    let mut masks = Vec::with_capacity(domains.len());
    for cpu in 0..nr_cpus {
        let Some(mask) = smt_of(cpu as usize) else {
            masks.push(sharing.span(&CpuMask::from_cpus(nr_cpus, [cpu])));
            continue;
        };
        if let Some(other) = mask.iter().find(|&other| smt_of(other as usize) != Some(mask)) {
            let reason = format!("the siblings are {mask}, but CPU {other} has others");
            return Err(KernelDomainsError { cpu: Some(cpu), domain: Some(0), field: "span", reason });
        }
        masks.push(mask.clone());
    }
    Ok(masks)
}

fn nodes_of(domains: &[Vec<SchedDomain>]) -> Vec<u32> {
    let mut next = 0;
    let mut number: HashMap<Cpu, u32> = HashMap::new();
    let mut nodes = Vec::with_capacity(domains.len());
    for (cpu, domains) in (0..).zip(domains) {
        let lowest = match domains.iter().position(|sd| sd.flags.contains(SdFlags::NUMA)) {
            None => 0,
            Some(0) => cpu,
            Some(numa) => domains[numa - 1].span.first().unwrap_or(cpu),
        };
        nodes.push(*number.entry(lowest).or_insert_with(|| {
            next += 1;
            next - 1
        }));
    }
    nodes
}

fn check_llc_ids(kernel: &KernelDomains, domains: &SchedDomains) -> Result<(), KernelDomainsError> {
    let mut llc_of_id: HashMap<u32, Cpu> = HashMap::new();
    for (cpu, of_cpu) in (0..).zip(&kernel.cpus) {
        let wrong = |reason| KernelDomainsError { cpu: Some(cpu), domain: None, field: "sd_llc_id", reason };
        let first = domains.sd_llc_id[cpu as usize];
        let other = *llc_of_id.entry(of_cpu.sd_llc_id).or_insert(first);
        if other != first {
            let reason = format!("{} is also that of CPU {other}, which is in another LLC", of_cpu.sd_llc_id);
            return Err(wrong(reason));
        }
        let id_of_first = kernel.cpus[first as usize].sd_llc_id;
        if id_of_first != of_cpu.sd_llc_id {
            let reason = format!("{}, but CPU {first} of the same LLC has {id_of_first}", of_cpu.sd_llc_id);
            return Err(wrong(reason));
        }
    }
    Ok(())
}

/// SMT siblings share every cache, so they have to share their LLC. The search for an idle core relies on it.
fn check_siblings(domains: &SchedDomains) -> Result<(), KernelDomainsError> {
    let llc = |cpu: Cpu| domains.sd_llc[cpu as usize].map(|level| &domains.domains[cpu as usize][level as usize].span);
    for cpu in 0..domains.nr_cpus {
        if let Some(other) = domains.smt_mask[cpu as usize].iter().find(|&other| llc(other) != llc(cpu)) {
            let reason = format!("its sibling CPU {other} is in another LLC");
            return Err(KernelDomainsError { cpu: Some(cpu), domain: None, field: "domains", reason });
        }
    }
    Ok(())
}
