//! Domains taken over from a real kernel, as a recording describes them.

use super::shortcuts::Shortcuts;
use super::topology::MAX_CPUS;
use super::{GroupRing, Level, SchedDomain, SchedDomains, SchedGroup, SdFlags};
use crate::cpumask::{Cpu, CpuMask};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The domains of a machine, CPU by CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainParts {
    /// By CPU. All masks are made for this many CPUs.
    pub cpus: Vec<CpuParts>,
    /// By CPU: its NUMA node. `None`: a node is what lies below the lowest NUMA domain, numbered by lowest CPU.
    pub node: Option<Vec<u32>>,
}

/// The domains of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuParts {
    /// Lowest first.
    pub domains: Vec<SdParts>,
    /// The kernel's `sd_llc_id`, however that version numbers LLCs.
    pub sd_llc_id: u32,
}

/// One domain of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdParts {
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
    /// The groups from `sd->groups` on, in the order of this CPU's walk.
    pub groups: Vec<GroupParts>,
}

/// One group of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupParts {
    /// `sched_group_span()`.
    pub span: CpuMask,
    /// `sgc->capacity`.
    pub capacity: u64,
    /// `sg->flags`, decoded.
    pub flags: SdFlags,
}

/// Why domains cannot be those of a machine: the CPU, the domain, the field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsError {
    /// The CPU; `None` if the machine as a whole is wrong.
    pub cpu: Option<Cpu>,
    /// Index of the domain among the CPU's; `None` if the field is not one of a domain.
    pub domain: Option<usize>,
    /// The field, by its name in [`DomainParts`], [`CpuParts`] or [`SdParts`].
    pub field: &'static str,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for PartsError {
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

impl std::error::Error for PartsError {}

impl SchedDomains {
    /// Takes over domains that a real kernel built, and finds the shortcuts the kernel keeps beside them.
    ///
    /// Refused is what `sched_domain_debug_one()` would call an error, and what contradicts itself.
    pub fn from_parts(parts: &DomainParts) -> Result<SchedDomains, PartsError> {
        let machine = |field, reason: String| PartsError { cpu: None, domain: None, field, reason };
        if parts.cpus.is_empty() || parts.cpus.len() > MAX_CPUS as usize {
            return Err(machine("cpus", format!("{} CPUs, but 1 to {MAX_CPUS} are supported", parts.cpus.len())));
        }
        let nr_cpus = parts.cpus.len() as u32;
        let mut sharing = Sharing::default();
        let mut domains = Vec::with_capacity(parts.cpus.len());
        for (cpu, of_cpu) in (0..).zip(&parts.cpus) {
            domains.push(take_cpu(cpu, nr_cpus, of_cpu, &mut sharing)?);
        }
        let smt_mask = smt_masks(nr_cpus, &domains, &mut sharing)?;
        let node = match &parts.node {
            Some(node) if node.len() != parts.cpus.len() => {
                return Err(machine("node", format!("{} entries for {nr_cpus} CPUs", node.len())));
            }
            Some(node) => node.clone(),
            None => nodes_of(&domains),
        };
        let domains = Shortcuts::of(&domains).into_domains(nr_cpus, domains, smt_mask, node);
        check_llc_ids(parts, &domains)?;
        check_siblings(&domains)?;
        Ok(domains)
    }
}

/// Spans and rings that CPUs have in common.
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

    /// The ring, which begins with the group of the lowest CPU, and where in it `groups` begins.
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

fn take_cpu(cpu: Cpu, nr_cpus: u32, parts: &CpuParts, sharing: &mut Sharing) -> Result<Vec<SchedDomain>, PartsError> {
    let mut domains: Vec<SchedDomain> = Vec::with_capacity(parts.domains.len());
    for (at, sd) in parts.domains.iter().enumerate() {
        let wrong = |field, reason: String| PartsError { cpu: Some(cpu), domain: Some(at), field, reason };
        let level = Level::from_name(&sd.name)
            .ok_or_else(|| wrong("name", format!("`{}` is none of SMT, CLS, MC, PKG, DIE, NODE, NUMA", sd.name)))?;
        check_span(cpu, nr_cpus, sd).map_err(|reason| wrong("span", reason))?;
        check_groups(cpu, sd, level).map_err(|reason| wrong("groups", reason))?;
        if sd.imbalance_pct < 100 {
            return Err(wrong("imbalance_pct", format!("{} is below 100", sd.imbalance_pct)));
        }
        if let Some(child) = domains.last() {
            let in_order = child.level < level || (child.level == Level::Numa && level == Level::Numa);
            if !in_order {
                return Err(wrong("name", format!("{} lies above {:?}", sd.name, child.level)));
            }
            if !child.span.is_subset(&sd.span) {
                return Err(wrong("span", format!("{} does not contain the domain below, {}", sd.span, child.span)));
            }
            // SD_SHARE_LLC is SDF_SHARED_CHILD: where a domain has it, so have those below.
            if sd.flags.contains(SdFlags::SHARE_LLC) && !child.flags.contains(SdFlags::SHARE_LLC) {
                return Err(wrong("flags", "SD_SHARE_LLC is set here but not in the domain below".to_string()));
            }
        }
        let group = |group: &GroupParts| SchedGroup {
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

fn check_span(cpu: Cpu, nr_cpus: u32, sd: &SdParts) -> Result<(), String> {
    check_mask(nr_cpus, &sd.span)?;
    if !sd.span.test(cpu) {
        return Err(format!("{} does not contain the CPU", sd.span));
    }
    sd.groups.iter().try_for_each(|group| check_mask(nr_cpus, &group.span))
}

fn check_groups(cpu: Cpu, sd: &SdParts, level: Level) -> Result<(), String> {
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
    // Before 5.13 groups of NUMA domains may reach beyond the domain.
    let covers = if level == Level::Numa { sd.span.is_subset(&covered) } else { sd.span == covered };
    if covers { Ok(()) } else { Err(format!("they cover {covered}, but the domain spans {}", sd.span)) }
}

fn smt_masks(
    nr_cpus: u32,
    domains: &[Vec<SchedDomain>],
    sharing: &mut Sharing,
) -> Result<Vec<Arc<CpuMask>>, PartsError> {
    let smt_of = |cpu: usize| domains[cpu].first().filter(|sd| sd.level == Level::Smt).map(|sd| &sd.span);
    let mut masks = Vec::with_capacity(domains.len());
    for cpu in 0..nr_cpus {
        let Some(mask) = smt_of(cpu as usize) else {
            masks.push(sharing.span(&CpuMask::from_cpus(nr_cpus, [cpu])));
            continue;
        };
        if let Some(other) = mask.iter().find(|&other| smt_of(other as usize) != Some(mask)) {
            let reason = format!("the siblings are {mask}, but CPU {other} has others");
            return Err(PartsError { cpu: Some(cpu), domain: Some(0), field: "span", reason });
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

fn check_llc_ids(parts: &DomainParts, domains: &SchedDomains) -> Result<(), PartsError> {
    let mut llc_of_id: HashMap<u32, Cpu> = HashMap::new();
    for (cpu, of_cpu) in (0..).zip(&parts.cpus) {
        let wrong = |reason| PartsError { cpu: Some(cpu), domain: None, field: "sd_llc_id", reason };
        let first = domains.sd_llc_id[cpu as usize];
        let other = *llc_of_id.entry(of_cpu.sd_llc_id).or_insert(first);
        if other != first {
            let reason = format!("{} is also that of CPU {other}, which is in another LLC", of_cpu.sd_llc_id);
            return Err(wrong(reason));
        }
        let id_of_first = parts.cpus[first as usize].sd_llc_id;
        if id_of_first != of_cpu.sd_llc_id {
            let reason = format!("{}, but CPU {first} of the same LLC has {id_of_first}", of_cpu.sd_llc_id);
            return Err(wrong(reason));
        }
    }
    Ok(())
}

/// SMT siblings share every cache, so they share their LLC; the walk for an idle core counts on it.
fn check_siblings(domains: &SchedDomains) -> Result<(), PartsError> {
    let llc = |cpu: Cpu| domains.sd_llc[cpu as usize].map(|level| &domains.domains[cpu as usize][level as usize].span);
    for cpu in 0..domains.nr_cpus {
        if let Some(other) = domains.smt_mask[cpu as usize].iter().find(|&other| llc(other) != llc(cpu)) {
            let reason = format!("its sibling CPU {other} is in another LLC");
            return Err(PartsError { cpu: Some(cpu), domain: None, field: "domains", reason });
        }
    }
    Ok(())
}
