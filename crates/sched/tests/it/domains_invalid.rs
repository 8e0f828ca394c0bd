//! Shapes that no machine has are refused, and the error names the CPUs and the fields.

use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::*;

/// Two packages of one LLC and one node each, two cores of two CPUs.
fn good() -> Topology {
    Uniform { packages: 2, nodes: 2, ..Uniform::new(2, 2) }.topology()
}

fn error(change: impl Fn(&mut Topology)) -> String {
    let mut topology = good();
    change(&mut topology);
    build_sched_domains(&topology, &DomainOptions::of(Preset::get("v6.12").unwrap())).unwrap_err().to_string()
}

#[test]
fn good_is_good() {
    assert_eq!(good().validate(), Ok(()));
}

#[test]
fn numbers_out_of_range() {
    assert_eq!(error(|t| t.cpus.clear()), "the machine has no CPU: `cpus` is empty");
    let huge = Uniform::new(4097, 2).topology();
    assert_eq!(huge.validate().unwrap_err().to_string(), "8194 CPUs: at most 8192 are supported");
    assert_eq!(error(|t| t.cpus[5].capacity = 0), "CPU 5: the capacity is 0; expected 1 to 1024");
    assert_eq!(error(|t| t.cpus[5].capacity = 1025), "CPU 5: the capacity is 1025; expected 1 to 1024");
}

#[test]
fn cores_and_caches_that_are_split() {
    let split = |field: &str, change: &dyn Fn(&mut CpuTopology)| {
        let message = error(|t| change(&mut t.cpus[1]));
        assert!(message.starts_with("CPUs 0 and 1 have the same core (0) but different "), "{message}");
        assert!(message.contains(&format!("different {field} (")), "{message}");
    };
    split("cluster", &|cpu| cpu.cluster = Some(3));
    split("llc", &|cpu| cpu.llc = 9);
    split("die", &|cpu| cpu.die = 9);
    split("package", &|cpu| cpu.package = 1);
    split("node", &|cpu| cpu.node = 1);
    split("capacity", &|cpu| cpu.capacity = 512);

    let siblings = |t: &mut Topology, change: fn(&mut CpuTopology)| t.cpus[2..4].iter_mut().for_each(change);
    assert_eq!(
        error(|t| siblings(t, |cpu| cpu.node = 1)),
        "CPUs 0 and 2 have the same llc (0) but different node (0 and 1); with sub-NUMA clustering the kernel sees \
         one LLC per node (match_llc()): split it"
    );
    assert_eq!(
        error(|t| siblings(t, |cpu| cpu.package = 1)),
        "CPUs 0 and 2 have the same llc (0) but different package (0 and 1)"
    );
    let with_cluster = |t: &mut Topology| {
        t.cpus.iter_mut().for_each(|cpu| cpu.cluster = Some(cpu.core / 2));
        siblings(t, |cpu| cpu.cluster = Some(1));
    };
    assert_eq!(error(with_cluster), "CPUs 2 and 4 have the same cluster (1) but different package (0 and 1)");
    let across_dies = |t: &mut Topology| {
        t.cpus.iter_mut().for_each(|cpu| cpu.die = 0);
    };
    assert_eq!(error(across_dies), "CPUs 0 and 4 have the same die (0) but different package (0 and 1)");
}

#[test]
fn clusters_and_llcs_that_cross() {
    let mut topology = Uniform::new(4, 1).topology();
    for (cpu, (llc, cluster)) in [(0, 0), (0, 1), (1, 1), (1, 2)].into_iter().enumerate() {
        (topology.cpus[cpu].llc, topology.cpus[cpu].cluster) = (llc, Some(cluster));
    }
    assert_eq!(
        topology.validate().unwrap_err().to_string(),
        "CPU 1: cluster 1 also has CPU 2 of another llc, and the llc also has CPU 0 of another cluster; one must \
         contain the other"
    );
}

#[test]
fn distances() {
    assert_eq!(error(|t| t.cpus[4].node = 7), "CPU 4: node 7 is not in node_distance, which has 2 rows");
    assert_eq!(error(|t| t.node_distance[1].truncate(1)), "node_distance[1] has 1 entries, but there are 2 rows");
    assert_eq!(error(|t| t.node_distance[0][1] = 21), "node_distance[0][1] = 21 but node_distance[1][0] = 20");
    assert_eq!(error(|t| t.node_distance[1][1] = 20), "node_distance[1][1] = 20: a node's distance to itself is 10");
    assert_eq!(
        error(|t| t.node_distance[0][1] = 10),
        "node_distance[0][1] = 10: another node must be farther than the node itself (10)"
    );
    assert_eq!(error(|t| t.node_distance[0][1] = 256), "node_distance[0][1] = 256: the largest distance is 255");
}

/// A recording whose siblings 0 and 1 disagree on how far their LLC reaches.
#[test]
fn recorded_siblings_in_different_llcs() {
    let sd = |name: &str, flags, span: &[u32], groups: &[&[u32]]| KernelSd {
        name: name.into(),
        flags,
        imbalance_pct: 117,
        imb_numa_nr: 0,
        span: CpuMask::from_cpus(4, span.iter().copied()),
        groups: groups
            .iter()
            .map(|group| KernelGroup {
                span: CpuMask::from_cpus(4, group.iter().copied()),
                capacity: 1024 * group.len() as u64,
                flags: SdFlags::empty(),
            })
            .collect(),
    };
    let smt = SdFlags::SHARE_CPUCAPACITY | SdFlags::SHARE_LLC;
    let cpu = |cpu: u32, llc: &[u32]| {
        let (first, second) = (cpu & !1, cpu | 1);
        let siblings: [&[u32]; 2] = if cpu == first { [&[first], &[second]] } else { [&[second], &[first]] };
        let mut domains = vec![sd("SMT", smt, &[first, second], &siblings)];
        if llc.len() > 2 {
            domains.push(sd("MC", SdFlags::SHARE_LLC, llc, &[&[first, second], &[first ^ 2, second ^ 2]]));
        }
        KernelCpu { domains, sd_llc_id: llc[0] }
    };
    let good = [cpu(0, &[0, 1, 2, 3]), cpu(1, &[0, 1, 2, 3]), cpu(2, &[0, 1, 2, 3]), cpu(3, &[0, 1, 2, 3])];
    let parts = |cpus: &[KernelCpu]| KernelDomains { cpus: cpus.to_vec(), node: None };
    assert!(SchedDomains::from_kernel(&parts(&good)).is_ok());
    let mut bad = good;
    bad[1] = cpu(1, &[0, 1]);
    let error = SchedDomains::from_kernel(&parts(&bad)).expect_err("CPU 1 has a smaller LLC than CPU 0").to_string();
    assert!(error.contains("sibling CPU 1 is in another LLC"), "{error}");
}
