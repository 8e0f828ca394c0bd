//! Properties of domains of random machines, and a second, plain implementation of them.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::*;

type Set = BTreeSet<u32>;

#[derive(Clone, Copy, Debug)]
struct Counts {
    packages: u32,
    llcs: u32,
    cores: u32,
    threads: u32,
    nodes: u32,
    cluster: Option<u32>,
}

fn counts() -> impl Strategy<Value = Counts> {
    (1u32..4, 1u32..4, 1u32..4, 1u32..3, 0u32..3, 0u32..3).prop_map(|(packages, llcs, cores, threads, n, c)| Counts {
        packages,
        llcs,
        cores,
        threads,
        nodes: [1, packages, packages * llcs][n as usize],
        cluster: [None, Some(cores), Some(1)][c as usize],
    })
}

/// A machine with any numbering of its CPUs, any symmetric distances, and cores of up to three capacities.
fn topology() -> impl Strategy<Value = Topology> {
    counts()
        .prop_flat_map(|c| {
            let nr_cores = (c.packages * c.llcs * c.cores) as usize;
            let numbers: Vec<u32> = (0..nr_cores as u32 * c.threads).collect();
            let capacity = prop_oneof![3 => Just([1024u32; 3]), 1 => Just([300, 600, 1024])];
            let capacities = (capacity, prop::collection::vec(0usize..3, nr_cores));
            let distances =
                prop::collection::vec(prop::sample::select(vec![20u32, 25, 35, 40]), (c.nodes * c.nodes) as usize);
            (
                Just(c),
                prop_oneof![Just(numbers.clone()).boxed(), Just(numbers).prop_shuffle().boxed()],
                capacities,
                distances,
            )
        })
        .prop_map(|(c, numbers, (capacity, which), distances)| {
            let shape = Uniform {
                packages: c.packages,
                llcs: c.llcs,
                nodes: c.nodes,
                cluster_cores: c.cluster,
                ..Uniform::new(c.cores, c.threads)
            };
            let mut topology = shape.topology();
            let ordered = topology.cpus.clone();
            for (cpu, &at) in ordered.iter().zip(&numbers) {
                topology.cpus[at as usize] = CpuTopology { capacity: capacity[which[cpu.core as usize]], ..*cpu };
            }
            for a in 0..c.nodes as usize {
                for b in 0..a {
                    let distance = distances[a * c.nodes as usize + b];
                    (topology.node_distance[a][b], topology.node_distance[b][a]) = (distance, distance);
                }
            }
            topology
        })
}

fn options() -> impl Strategy<Value = DomainOptions> {
    (prop::sample::select(Preset::all()), any::<bool>()).prop_map(|(preset, arm64)| {
        let options = DomainOptions::of(preset);
        if arm64 { options.on(Arch::Arm64) } else { options }
    })
}

/// A group is known by its level and its number, as the kernel knows it by its address.
type Link = (usize, u32);

#[derive(Clone, Debug, Default)]
struct PlainGroup {
    span: Set,
    flags: Option<SdFlags>,
    next: Option<Link>,
}

#[derive(Clone, Debug)]
struct PlainSd {
    level: Level,
    span: Set,
    flags: SdFlags,
    groups: Link,
}

/// The second implementation: sets, linked lists and a direct walk through what the kernel does, CPU by CPU.
struct Plain<'a> {
    topology: &'a Topology,
    options: &'a DomainOptions,
    groups: BTreeMap<Link, PlainGroup>,
    chains: Vec<Vec<PlainSd>>,
}

impl Plain<'_> {
    fn same(&self, f: impl Fn(&CpuTopology) -> bool) -> Set {
        (0..).zip(&self.topology.cpus).filter(|(_, c)| f(c)).map(|(cpu, _)| cpu).collect()
    }

    fn level_masks(&self, cpu: usize) -> Vec<(Level, SdFlags, Set, u32)> {
        let me = self.topology.cpus[cpu];
        let (x86, llc_flag) = (self.options.arch == Arch::X86, SdFlags::SHARE_LLC);
        let smt = self.same(|c| c.core == me.core);
        let llc = self.same(|c| c.llc == me.llc);
        let cluster = match me.cluster {
            Some(_) => self.same(|c| c.cluster == me.cluster),
            None => smt.clone(),
        };
        let mut out = vec![(Level::Smt, SdFlags::SHARE_CPUCAPACITY | llc_flag, smt.clone(), 0)];
        if self.options.rules.cluster {
            let flag = if self.options.rules.cluster_flag { SdFlags::CLUSTER } else { SdFlags::empty() };
            let mask = if !x86 && llc.is_subset(&cluster) { smt } else { cluster };
            out.push((Level::Cls, llc_flag | flag, mask, 0));
        }
        out.push((Level::Mc, llc_flag, llc, 0));
        let node = self.same(|c| c.node == me.node);
        let cpus = &self.topology.cpus;
        let split = cpus.iter().any(|a| cpus.iter().any(|b| a.package == b.package && a.node != b.node));
        if !(x86 && split) {
            out.push((Level::Pkg, SdFlags::empty(), node.clone(), 0));
        }
        out.push((Level::Node, SdFlags::empty(), node, 0));
        let distance = |c: &CpuTopology| self.topology.node_distance[me.node as usize][c.node as usize];
        let all: Set = self.topology.node_distance.iter().flatten().copied().filter(|&d| d > 10).collect();
        out.extend(all.into_iter().map(|d| (Level::Numa, SdFlags::NUMA, self.same(|c| distance(c) <= d), d)));
        out
    }

    fn capacities(&self, cpus: &Set) -> Set {
        cpus.iter().map(|&cpu| self.topology.cpus[cpu as usize].capacity).collect()
    }

    fn init(&mut self) {
        let all: Set = (0..self.topology.nr_cpus()).collect();
        for cpu in 0..self.topology.cpus.len() {
            let mut chain: Vec<PlainSd> = Vec::new();
            for (level, own, span, distance) in self.level_masks(cpu) {
                let mut flags = own
                    | SdFlags::BALANCE_NEWIDLE
                    | SdFlags::BALANCE_EXEC
                    | SdFlags::BALANCE_FORK
                    | SdFlags::WAKE_AFFINE;
                flags.set(SdFlags::PREFER_SIBLING, level != Level::Numa);
                flags.set(SdFlags::SERIALIZE, level == Level::Numa);
                flags.set(SdFlags::OVERLAP, level == Level::Numa && self.options.rules.overlap_flag);
                if distance > 30 {
                    flags -= SdFlags::BALANCE_EXEC | SdFlags::BALANCE_FORK | SdFlags::WAKE_AFFINE;
                }
                let seen = self.capacities(&span);
                flags.set(SdFlags::ASYM_CPUCAPACITY, seen.len() > 1);
                flags.set(SdFlags::ASYM_CPUCAPACITY_FULL, seen.len() > 1 && seen == self.capacities(&all));
                if seen.len() > 1
                    && self.options.rules.asym_clears_prefer_sibling
                    && let Some(child) = chain.last_mut()
                {
                    child.flags -= SdFlags::PREFER_SIBLING;
                }
                let done = span == all;
                chain.push(PlainSd { level, span, flags, groups: (0, 0) });
                if done {
                    break;
                }
            }
            self.chains.push(chain);
        }
    }

    fn wrapped(span: &Set, cpu: u32) -> Vec<u32> {
        span.range(cpu..).chain(span.range(..cpu)).copied().collect()
    }

    fn child(&self, cpu: u32, tl: usize) -> Option<&PlainSd> {
        (tl > 0).then(|| &self.chains[cpu as usize][tl - 1])
    }

    fn link(&mut self, links: &[Link]) {
        for (i, link) in links.iter().enumerate() {
            self.groups.get_mut(link).unwrap().next = Some(links[(i + 1) % links.len()]);
        }
    }

    fn build_groups(&mut self, cpu: u32, tl: usize, fresh: &mut u32) {
        let sd = self.chains[cpu as usize][tl].clone();
        let mut covered = Set::new();
        let mut links: Vec<Link> = Vec::new();
        for i in Self::wrapped(&sd.span, cpu) {
            if covered.contains(&i) || self.chains[i as usize].len() <= tl {
                continue;
            }
            let mut at = tl;
            let outside = |plain: &Self, at| plain.child(i, at).is_some_and(|c| !c.span.is_subset(&sd.span));
            if sd.level == Level::Numa && self.options.rules.find_descended_sibling && outside(self, at) {
                while outside(self, at) {
                    at -= 1;
                }
                while self.child(i, at).is_some_and(|c| c.span == self.chains[i as usize][at].span) {
                    at -= 1;
                }
            }
            let (span, flags) = match self.child(i, at) {
                Some(child) => (child.span.clone(), Some(child.flags)),
                None => (Set::from([i]), None),
            };
            covered.extend(&span);
            let link = if sd.level == Level::Numa {
                *fresh += 1;
                (1000 + tl, *fresh)
            } else {
                (tl, *span.first().unwrap())
            };
            let flags = flags.filter(|_| self.options.rules.group_flags != GroupFlags::Absent);
            self.groups.entry(link).or_insert(PlainGroup { span, flags, next: None });
            links.push(link);
        }
        self.link(&links);
        self.chains[cpu as usize][tl].groups = links[0];
    }

    fn one_group(&self, sd: &PlainSd) -> bool {
        self.groups[&sd.groups].next == Some(sd.groups)
    }

    fn degenerate(&self, sd: &PlainSd) -> bool {
        let grouped = !(sd.flags - SdFlags::WAKE_AFFINE).is_empty() && !self.one_group(sd);
        sd.span.len() == 1 || !(grouped || sd.flags.contains(SdFlags::WAKE_AFFINE))
    }

    fn attach(&mut self, cpu: usize) {
        let mut kept: Vec<PlainSd> = Vec::new();
        for sd in self.chains[cpu].clone() {
            let Some(below) = kept.last() else {
                kept.push(sd);
                continue;
            };
            let needed = if self.one_group(&sd) { sd.flags & SdFlags::WAKE_AFFINE } else { sd.flags };
            if self.degenerate(&sd) || (below.span == sd.span && below.flags.contains(needed)) {
                let flags = below.flags;
                let above = self.chains[cpu].iter().position(|other| other.groups == sd.groups).unwrap() + 1;
                if self.options.rules.group_flags == GroupFlags::FollowRemoval
                    && let Some(above) = self.chains[cpu].get(above).map(|sd| sd.groups)
                {
                    self.groups.get_mut(&above).unwrap().flags = Some(flags);
                }
                kept.last_mut().unwrap().flags |= sd.flags & SdFlags::PREFER_SIBLING;
            } else {
                kept.push(sd);
            }
        }
        if self.degenerate(&kept[0]) {
            kept.remove(0);
            if let Some(sd) = kept.first() {
                self.groups.get_mut(&sd.groups).unwrap().flags = None;
            }
        }
        self.chains[cpu] = kept;
    }

    fn ring(&self, first: Link) -> Vec<(Set, SdFlags)> {
        let mut out = Vec::new();
        let mut at = first;
        loop {
            let group = &self.groups[&at];
            out.push((group.span.clone(), group.flags.unwrap_or(SdFlags::empty())));
            at = group.next.unwrap();
            if at == first {
                return out;
            }
        }
    }
}

fn plain<'a>(topology: &'a Topology, options: &'a DomainOptions) -> Plain<'a> {
    let mut plain = Plain { topology, options, groups: BTreeMap::new(), chains: Vec::new() };
    plain.init();
    let mut fresh = 0;
    for cpu in 0..topology.nr_cpus() {
        for tl in 0..plain.chains[cpu as usize].len() {
            plain.build_groups(cpu, tl, &mut fresh);
        }
    }
    (0..topology.cpus.len()).for_each(|cpu| plain.attach(cpu));
    plain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn agrees_with_a_plain_implementation(topology in topology(), options in options()) {
        // 5.10 finds different capacities in another way, which has its own test.
        let rules = DomainRules { asym: AsymDetection::Classify, ..options.rules };
        let options = DomainOptions { rules, ..options };
        let built = build_sched_domains(&topology, &options).unwrap();
        let plain = plain(&topology, &options);
        for cpu in 0..topology.cpus.len() {
            let show = |level: Level, span: &Set, flags: SdFlags| format!("{level:?} {span:?} {flags:?}");
            let ours = built.domains[cpu].iter().map(|sd| show(sd.level, &sd.span.iter().collect(), sd.flags));
            let theirs = plain.chains[cpu].iter().map(|sd| show(sd.level, &sd.span, sd.flags));
            prop_assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>(), "CPU {}", cpu);
            for (sd, other) in built.domains[cpu].iter().zip(&plain.chains[cpu]) {
                let ours: Vec<(Set, SdFlags)> =
                    sd.groups().map(|group| (group.span.iter().collect(), group.flags)).collect();
                prop_assert_eq!(ours, plain.ring(other.groups), "CPU {} {:?}", cpu, sd.level);
            }
        }
    }

    #[test]
    fn domains_nest_and_groups_cover(topology in topology(), options in options()) {
        let built = build_sched_domains(&topology, &options).unwrap();
        for (cpu, domains) in (0..).zip(&built.domains) {
            for pair in domains.windows(2) {
                prop_assert!(pair[0].span.is_subset(&pair[1].span));
                prop_assert!(pair[0].level < pair[1].level || pair[1].level == Level::Numa);
            }
            if topology.nr_cpus() > 1 {
                prop_assert_eq!(domains.last().unwrap().span_weight, topology.nr_cpus());
            }
            for sd in domains {
                prop_assert!(sd.span.test(cpu));
                prop_assert_eq!(sd.span_weight, sd.span.weight());
                prop_assert!(sd.groups().next().unwrap().span.test(cpu));
                let mut cover = CpuMask::new(topology.nr_cpus());
                for group in sd.groups() {
                    prop_assert_eq!(group.weight, group.span.weight());
                    let capacity = |cpu: u32| u64::from(topology.cpus[cpu as usize].capacity);
                    prop_assert_eq!(group.capacity, group.span.iter().map(capacity).sum::<u64>());
                    prop_assert!(group.group_balance_mask().is_subset(&group.span));
                    prop_assert!(!group.group_balance_mask().is_empty() || sd.level == Level::Numa);
                    prop_assert!(sd.level == Level::Numa || !cover.intersects(&group.span));
                    prop_assert!(!options.rules.find_descended_sibling || group.span.is_subset(&sd.span));
                    cover.or_with(&group.span);
                }
                prop_assert!(sd.span.is_subset(&cover));
            }
        }
    }

    #[test]
    fn shortcuts_follow_the_caches(topology in topology(), options in options()) {
        let built = build_sched_domains(&topology, &options).unwrap();
        for (cpu, me) in topology.cpus.iter().enumerate() {
            let llc: Vec<u32> =
                (0..).zip(&topology.cpus).filter(|(_, c)| c.llc == me.llc).map(|(cpu, _)| cpu).collect();
            prop_assert_eq!(built.sd_llc_size[cpu] as usize, llc.len());
            prop_assert_eq!(built.sd_llc_id[cpu], llc[0]);
            prop_assert_eq!(built.sd_llc[cpu].is_some(), llc.len() > 1);
            prop_assert_eq!(built.node[cpu], me.node);
            let siblings = topology.cpus.iter().filter(|c| c.core == me.core).count();
            prop_assert_eq!(built.smt_mask[cpu].weight() as usize, siblings);
        }
        let classes: Set = topology.cpus.iter().map(|c| c.capacity).collect();
        prop_assert_eq!(built.asym_cpucap_active, classes.len() > 1);
    }

    /// What was built can be taken over as it is.
    #[test]
    fn parts_of_what_was_built(topology in topology(), options in options()) {
        let built = build_sched_domains(&topology, &options).unwrap();
        let ids = built.kernel_llc_ids(options.rules.llc_id);
        let group = |group: &SchedGroup| {
            KernelGroup { span: group.span.clone(), capacity: group.capacity, flags: group.flags }
        };
        let sd = |sd: &SchedDomain| KernelSd {
            name: sd.level.name(options.rules.pkg_name).to_string(),
            flags: sd.flags,
            imbalance_pct: sd.imbalance_pct,
            imb_numa_nr: sd.imb_numa_nr,
            span: CpuMask::clone(&sd.span),
            groups: sd.groups().map(group).collect(),
        };
        let cpus = built.domains.iter().zip(&ids);
        let cpus = cpus.map(|(domains, &sd_llc_id)| KernelCpu { domains: domains.iter().map(sd).collect(), sd_llc_id });
        let parts = KernelDomains { cpus: cpus.collect(), node: Some(built.node.clone()) };
        let taken = SchedDomains::from_kernel(&parts).unwrap();
        prop_assert_eq!(&taken.sd_llc, &built.sd_llc);
        prop_assert_eq!(&taken.sd_llc_id, &built.sd_llc_id);
        prop_assert_eq!(&taken.sd_share_id, &built.sd_share_id);
        prop_assert_eq!(&taken.smt_mask, &built.smt_mask);
        prop_assert_eq!(taken.cluster_active, built.cluster_active);
        for (taken, built) in taken.domains.iter().flatten().zip(built.domains.iter().flatten()) {
            prop_assert_eq!(taken.flags, built.flags);
            let groups = |sd: &SchedDomain| sd.groups().map(group).collect::<Vec<_>>();
            prop_assert_eq!(groups(taken), groups(built));
        }
    }
}
