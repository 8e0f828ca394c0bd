//! Domains of machines whose domains are known: levels, shortcuts, flags and the differences between versions.

use std::path::PathBuf;
use std::time::Instant;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::*;

fn uniform(packages: u32, llcs: u32, cores: u32, threads: u32) -> Uniform {
    Uniform { packages, llcs, ..Uniform::new(cores, threads) }
}

fn build(topology: &Topology, kernel: &str) -> SchedDomains {
    build_sched_domains(topology, &options(kernel)).unwrap()
}

fn options(kernel: &str) -> DomainOptions {
    DomainOptions::of(Preset::get(kernel).unwrap())
}

fn levels(domains: &SchedDomains, cpu: usize) -> String {
    let names: Vec<_> = domains.domains[cpu].iter().map(|sd| sd.level.name(PkgName::Pkg)).collect();
    names.join(" ")
}

/// Guests that real kernels were started in: their levels, and the LLC of CPU 0.
#[test]
fn levels_of_virtual_machines() {
    let two_nodes = Uniform { nodes: 2, ..uniform(2, 1, 4, 2) };
    let dies = Uniform { dies: 2, ..Uniform::new(4, 2) };
    for (shape, expected, llc) in [
        (Uniform::new(2, 2), "SMT MC", "0-3"),
        (uniform(2, 1, 4, 2), "SMT MC PKG", "0-7"),
        (two_nodes, "SMT MC NUMA", "0-7"),
        (dies, "SMT MC PKG", "0-7"),
        (Uniform::new(32, 2), "SMT MC", "0-63"),
        (Uniform::new(56, 2), "SMT MC", "0-111"),
    ] {
        for kernel in Preset::names() {
            let domains = build(&shape.topology(), kernel);
            for cpu in 0..domains.nr_cpus as usize {
                assert_eq!(levels(&domains, cpu), expected, "{shape:?} {kernel}");
            }
            let sd_llc = &domains.domains[0][domains.sd_llc[0].unwrap() as usize];
            assert_eq!(sd_llc.span.to_string(), llc, "{shape:?} {kernel}");
        }
    }
}

/// Machines of published measurements.
#[test]
fn levels_of_published_machines() {
    let zen3 = |nodes| Uniform { nodes, far: 32, numbering: Numbering::Split, ..uniform(2, 8, 8, 2) };
    for (nodes, expected, weights) in [
        (2, "SMT MC PKG NUMA", &[2, 16, 128, 256][..]),
        (4, "SMT MC NODE NUMA NUMA", &[2, 16, 64, 128, 256]),
        (8, "SMT MC NODE NUMA NUMA", &[2, 16, 32, 128, 256]),
    ] {
        let domains = build(&zen3(nodes).topology(), "v6.12");
        assert_eq!(levels(&domains, 0), expected, "{nodes} nodes");
        let spans: Vec<u32> = domains.domains[0].iter().map(|sd| sd.span_weight).collect();
        assert_eq!(spans, weights, "{nodes} nodes");
        assert_eq!(domains.sd_llc_size[0], 16);
        assert_eq!(domains.smt_mask[3].to_string(), "3,131");
        assert_eq!(domains.domains[0][1].span.to_string(), "0-7,128-135");
    }

    let altra = Uniform { nodes: 2, cluster_cores: Some(2), ..uniform(2, 80, 1, 1) }.topology();
    let arm64 = options("v6.1").on(Arch::Arm64);
    let domains = build_sched_domains(&altra, &arm64).unwrap();
    assert_eq!(levels(&domains, 0), "MC PKG NUMA");
    assert_eq!(domains.domains[0][0].span.to_string(), "0-1");
    assert_eq!(domains.domains[0][1].span.to_string(), "0-79");
    assert_eq!(domains.domains[0][1].level.name(arm64.rules.pkg_name), "DIE");
    assert!(!domains.smt_active && !domains.cluster_active);
    assert_eq!(domains.sd_llc_size[0], 2);
    // Before clusters were considered, the pairs were not seen.
    let domains = build_sched_domains(&altra, &options("v5.10").on(Arch::Arm64)).unwrap();
    assert_eq!(levels(&domains, 0), "PKG NUMA");
    assert_eq!((domains.sd_llc[0], domains.sd_llc_size[0], domains.sd_llc_id[7]), (None, 1, 7));
}

/// `imb_numa_nr` of a Zen 3 with two sockets of 64 cores, as worked out in the review of the patch that introduced it
/// ("sched/fair: Adjust the allowed NUMA imbalance when SD_NUMA spans multiple LLCs", 5.18); then one LLC in a node.
#[test]
fn imb_numa_nr_by_nodes_per_socket() {
    let imb = |nodes, kernel| {
        let shape = Uniform { nodes, far: 32, numbering: Numbering::Split, ..uniform(2, 8, 8, 2) };
        let domains = build(&shape.topology(), kernel);
        domains.domains[0].iter().map(|sd| sd.imb_numa_nr).collect::<Vec<_>>()
    };
    for preset in Preset::all().iter().filter(|preset| preset.domains.imb_numa != ImbNuma::Absent) {
        let kernel = preset.name;
        assert_eq!(imb(2, kernel), [0, 0, 8, 8], "NPS1 {kernel}");
        assert_eq!(imb(4, kernel), [0, 0, 4, 4, 8], "NPS2 {kernel}");
        assert_eq!(imb(8, kernel), [0, 0, 2, 2, 4], "NPS4 {kernel}");
    }
    assert_eq!(imb(2, "v5.10"), [0, 0, 0, 0]);
    let one_llc = |kernel| {
        let domains = build(&Uniform { nodes: 2, ..uniform(2, 1, 20, 2) }.topology(), kernel);
        domains.domains[0].last().unwrap().imb_numa_nr
    };
    assert_eq!((one_llc("v5.18"), one_llc("v6.1"), one_llc("v7.3")), (10, 5, 5));
}

/// The topologies of the kernel's vectors: SMT siblings and LLCs.
#[test]
fn vectors_topologies() {
    let folder = std::env::var_os("WAKELAB_VECTORS")
        .map_or(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"), PathBuf::from);
    let mut reader = csv::Reader::from_path(folder.join("functions/topologies.csv")).unwrap();
    let mut shapes: Vec<(String, Vec<[u32; 3]>)> = Vec::new();
    for row in reader.records().map(Result::unwrap) {
        let number = |i: usize| row[i].parse::<u32>().unwrap();
        if shapes.last().is_none_or(|(name, _)| name != &row[0]) {
            shapes.push((row[0].to_string(), Vec::new()));
        }
        let cpus = &mut shapes.last_mut().unwrap().1;
        assert_eq!(number(1) as usize, cpus.len());
        cpus.push([number(2), number(3), number(4)]);
    }
    assert!(shapes.len() >= 9);
    for (name, cpus) in shapes {
        let cpu = |&[core, llc, _]: &[u32; 3]| CpuTopology {
            core,
            cluster: None,
            llc,
            die: 0,
            package: 0,
            node: 0,
            capacity: 1024,
        };
        let topology = Topology { cpus: cpus.iter().map(cpu).collect(), node_distance: vec![vec![10]] };
        for kernel in Preset::names() {
            let domains = build(&topology, kernel);
            for (cpu, &[core, llc, smt_active]) in cpus.iter().enumerate() {
                let with = |field: usize, id| {
                    let same = (0..).zip(&cpus).filter(|(_, cpu)| cpu[field] == id).map(|(cpu, _)| cpu);
                    CpuMask::from_cpus(cpus.len() as u32, same)
                };
                assert_eq!(*domains.smt_mask[cpu], with(0, core), "{name}: CPU {cpu}");
                assert_eq!(domains.smt_active, smt_active == 1, "{name}");
                let sd_llc = &domains.domains[cpu][domains.sd_llc[cpu].unwrap() as usize];
                assert_eq!(*sd_llc.span, with(1, llc), "{name}: CPU {cpu}");
                assert_eq!(Some(domains.sd_llc_id[cpu]), with(1, llc).first(), "{name}: CPU {cpu}");
                assert_eq!(domains.kernel_llc_ids(LlcId::Dense)[cpu], llc, "{name}: CPU {cpu}");
            }
        }
    }
}

/// A Pixel 6: four little, two middle and two big cores below one cache.
#[test]
fn different_capacities() {
    let pixel6 = Topology::one_llc(&[160, 160, 160, 160, 498, 498, 1024, 1024]);
    for preset in Preset::all() {
        let options = DomainOptions::of(preset).on(Arch::Arm64);
        let domains = build_sched_domains(&pixel6, &options).unwrap();
        assert!(domains.asym_cpucap_active && !domains.smt_active);
        let classified = preset.domains.asym == AsymDetection::Classify;
        for cpu in 0..8 {
            let [sd] = &domains.domains[cpu][..] else { panic!("{}", levels(&domains, cpu)) };
            assert_eq!(sd.level, Level::Mc);
            assert!(sd.flags.contains(SdFlags::ASYM_CPUCAPACITY | SdFlags::SHARE_LLC));
            assert_eq!(sd.flags.contains(SdFlags::ASYM_CPUCAPACITY_FULL), classified, "{}", preset.name);
            let capacities: Vec<u64> = sd.groups().map(|group| group.capacity).collect();
            assert_eq!(capacities[0], u64::from(pixel6.cpus[cpu].capacity));
            assert_eq!(capacities.iter().sum::<u64>(), 4 * 160 + 2 * 498 + 2 * 1024);
            assert_eq!(domains.sd_asym_cpucapacity(cpu as u32), Some(0));
            assert_eq!(domains.sd_balance_shared(cpu as u32), Some(0));
        }
    }
    assert!(!build(&Topology::one_llc(&[1024; 8]), "v6.12").asym_cpucap_active);
}

/// Two LLCs: one with two kinds of cores, one with a third.
#[test]
fn different_capacities_above_the_llc() {
    let mut topology = uniform(1, 2, 4, 1).topology();
    for (cpu, capacity) in [400, 400, 700, 700, 1024, 1024, 1024, 1024].into_iter().enumerate() {
        topology.cpus[cpu].capacity = capacity;
    }
    let asym = |sd: &SchedDomain| {
        let flags = sd.flags;
        (flags.contains(SdFlags::ASYM_CPUCAPACITY), flags.contains(SdFlags::ASYM_CPUCAPACITY_FULL))
    };
    let prefers = |sd: &SchedDomain| sd.flags.contains(SdFlags::PREFER_SIBLING);
    let domains = build(&topology, "v6.12");
    assert_eq!(domains.domains[0].iter().map(asym).collect::<Vec<_>>(), [(true, false), (true, true)]);
    assert_eq!(domains.domains[4].iter().map(asym).collect::<Vec<_>>(), [(false, false), (true, true)]);
    assert_eq!(domains.domains[0].iter().map(prefers).collect::<Vec<_>>(), [false, true]);
    assert_eq!((domains.sd_llc[0], domains.sd_balance_shared(0)), (Some(0), Some(1)));
    // 7.3 no longer takes SD_PREFER_SIBLING away.
    let domains = build(&topology, "v7.3");
    assert_eq!(domains.domains[0].iter().map(prefers).collect::<Vec<_>>(), [true, true]);
    // 5.10 looks for the lowest level at which all CPUs see a CPU of the highest capacity.
    let domains = build(&topology, "v5.10");
    assert_eq!(domains.domains[0].iter().map(asym).collect::<Vec<_>>(), [(false, false), (true, false)]);
}

/// Clusters of four cores below one LLC, as on Kunpeng 920 and on Intel's small cores.
#[test]
fn clusters() {
    let topology = Uniform { cluster_cores: Some(4), nodes: 2, ..uniform(2, 1, 16, 1) }.topology();
    let domains = build_sched_domains(&topology, &options("v6.12").on(Arch::Arm64)).unwrap();
    assert_eq!(levels(&domains, 0), "CLS MC NUMA");
    assert!(domains.cluster_active);
    assert_eq!((domains.sd_llc_id[6], domains.sd_share_id[6], domains.sd_llc_size[6]), (0, 4, 16));
    // 6.1 has the level but not the flag.
    let domains = build(&topology, "v6.1");
    assert_eq!(levels(&domains, 0), "CLS MC NUMA");
    assert!(!domains.cluster_active);
    assert_eq!(domains.sd_share_id[6], 0);
    assert_eq!(levels(&build(&topology, "v5.10"), 0), "MC NUMA");

    let whole = Uniform { cluster_cores: Some(16), ..uniform(1, 2, 16, 1) }.topology();
    assert_eq!(levels(&build(&whole, "v6.12"), 0), "CLS PKG");
    let arm64 = build_sched_domains(&whole, &options("v6.12").on(Arch::Arm64)).unwrap();
    assert_eq!(levels(&arm64, 0), "MC PKG");
}

/// The line of four nodes with which the kernel explains NUMA groups of diameter 3.
#[test]
fn numa_diameter_of_three() {
    let mut topology = Uniform { nodes: 4, ..uniform(4, 1, 1, 1) }.topology();
    topology.node_distance =
        (0..4u32).map(|a| (0..4u32).map(|b| 10 * (1 + a.abs_diff(b))).collect::<Vec<u32>>()).collect();
    let groups = |domains: &SchedDomains, cpu: usize| {
        let show = |sd: &SchedDomain| sd.groups().map(|g| g.span.to_string()).collect::<Vec<_>>().join(" ");
        domains.domains[cpu].iter().map(show).collect::<Vec<_>>()
    };
    let domains = build(&topology, "v6.12");
    assert_eq!(groups(&domains, 0), ["0 1", "0-1 2", "0-2 1-3"]);
    assert_eq!(groups(&domains, 1), ["1 2 0", "0-2 2-3"]);
    assert_eq!(groups(&domains, 2), ["2 3 1", "1-3 0-1"]);
    assert_eq!(groups(&domains, 3), ["3 2", "2-3 1", "1-3 0-2"]);
    // Without find_descended_sibling() groups leave the domains of the outer nodes.
    let domains = build(&topology, "v5.10");
    assert_eq!(groups(&domains, 0), ["0 1", "0-1 1-3", "0-2 1-3"]);
    assert_eq!(groups(&domains, 3), ["3 2", "2-3 0-2", "1-3 0-2"]);
    // Nothing wakes, forks or execs beyond node_reclaim_distance, 30.
    let wakes = |sd: &SchedDomain| sd.flags.intersects(SdFlags::BALANCE_FORK | SdFlags::WAKE_AFFINE);
    assert_eq!(domains.domains[0].iter().map(wakes).collect::<Vec<_>>(), [true, true, false]);
    let zen = DomainOptions { node_reclaim_distance: 40, ..options("v6.12") };
    let domains = build_sched_domains(&topology, &zen).unwrap();
    assert_eq!(domains.domains[0].iter().map(wakes).collect::<Vec<_>>(), [true, true, true]);
}

/// A CPU balances for an overlapping group only if the group is its own child domain.
#[test]
fn balance_masks_of_overlapping_groups() {
    let mut topology = Uniform { nodes: 4, ..uniform(4, 1, 2, 1) }.topology();
    // A ring of four nodes.
    topology.node_distance =
        (0..4).map(|a: i32| (0..4).map(|b: i32| [10, 20, 30, 20][(a - b).unsigned_abs() as usize]).collect()).collect();
    let domains = build(&topology, "v6.12");
    let top = domains.domains[0].last().unwrap();
    let shown: Vec<_> = top.groups().map(|g| format!("{} by {}", g.span, g.group_balance_mask())).collect();
    assert_eq!(shown, ["0-3,6-7 by 0-1", "2-7 by 4-5"]);
    assert_eq!(top.groups().next().unwrap().group_balance_cpu(), 0);
    let mc = &domains.domains[0][0];
    assert!(mc.groups().all(|group| group.group_balance_mask() == &group.span));
}

/// What 6.12 keeps in a NUMA domain's groups: the first has the flags of the domain that stays, the others those of the
/// NODE domain that was removed. 6.1 leaves all as they were built.
#[test]
fn group_flags_after_removal() {
    let topology = Uniform { nodes: 2, ..uniform(2, 1, 4, 2) }.topology();
    let llc = |kernel| {
        let domains = build(&topology, kernel);
        let share = |group: &SchedGroup| group.flags.contains(SdFlags::SHARE_LLC);
        domains.domains[9].last().unwrap().groups().map(share).collect::<Vec<_>>()
    };
    assert_eq!(llc("v6.1"), [false, false]);
    assert_eq!(llc("v6.12"), [true, false]);
    assert_eq!(llc("v7.2"), [true, false]);
    let domains = build(&topology, "v5.10");
    assert!(domains.domains.iter().flatten().flat_map(|sd| sd.groups.iter()).all(|group| group.flags.is_empty()));
}

/// One CPU has no domains, and it is its own LLC.
#[test]
fn one_cpu() {
    let domains = build(&Uniform::new(1, 1).topology(), "v6.12");
    assert!(domains.domains[0].is_empty());
    assert_eq!((domains.sd_llc[0], domains.sd_llc_id[0], domains.sd_llc_size[0]), (None, 0, 1));
    assert_eq!(domains.smt_mask[0].to_string(), "0");
}

/// CPUs of one domain share its span and ring, and so does a large machine fit.
#[test]
fn large_machines_share() {
    let shape = Uniform { nodes: 8, packages: 8, llcs: 32, numbering: Numbering::Split, ..Uniform::new(8, 2) };
    let topology = shape.topology();
    let begin = Instant::now();
    let domains = build(&topology, "v6.12");
    let took = begin.elapsed();
    assert_eq!(domains.nr_cpus, 4096);
    assert!(took.as_secs() < 5, "{took:?}");
    let address = |sd: &SchedDomain| sd.groups.as_ptr() as usize;
    for (level, rings) in [(0, 2048), (1, 256), (2, 8), (3, 1)] {
        let mut seen: Vec<usize> = domains.domains.iter().map(|sds| address(&sds[level])).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), rings, "level {level}");
    }
}

#[test]
fn level_names() {
    assert_eq!(Level::from_name("DIE"), Some(Level::Pkg));
    assert_eq!(Level::from_name("PKG"), Some(Level::Pkg));
    assert_eq!(Level::from_name("SMP"), None);
    assert_eq!(Level::Pkg.name(options("v6.1").rules.pkg_name), "DIE");
    assert_eq!(Level::Pkg.name(options("v6.12").rules.pkg_name), "PKG");
}
