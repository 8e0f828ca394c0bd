//! The machines of published tables, as the kernels of their postings see them.

use crate::support::{read, refused, with_topology};
use wakelab_kernel::Preset;
use wakelab_machine::{Machine, Origin, get, names};
use wakelab_sched::domain::{Arch, PkgName, SchedDomains, SdFlags, build_sched_domains};

fn domains(machine: &Machine, kernel: &str) -> SchedDomains {
    build_sched_domains(&machine.topology, &machine.domain_options(Preset::get(kernel).expect("a preset")))
        .expect("domains")
}

/// Name and CPUs of each domain of a CPU, lowest first.
fn seen(name: &str, kernel: &str, cpu: usize) -> String {
    let domains = domains(&get(name).expect("a machine"), kernel);
    let show = |sd: &wakelab_sched::domain::SchedDomain| {
        assert_eq!(sd.span.weight(), sd.span_weight);
        format!("{} {}", sd.level.name(PkgName::Die), sd.span)
    };
    domains.domains[cpu].iter().map(show).collect::<Vec<_>>().join(" | ")
}

#[test]
fn domains_have_the_names_and_spans_of_the_posting_s_kernel() {
    let zen3 = |nps| format!("amd-zen3-2s128c256t-nps{nps}");
    let llc = "SMT 0,128 | MC 0-7,128-135";
    let (socket, all) = ("0-63,128-191", "0-255");
    assert_eq!(seen(&zen3(1), "v5.19-rc1", 0), format!("{llc} | DIE {socket} | NUMA {all}"));
    assert_eq!(seen(&zen3(2), "v5.19-rc1", 0), format!("{llc} | NODE 0-31,128-159 | NUMA {socket} | NUMA {all}"));
    assert_eq!(seen(&zen3(4), "v5.19-rc1", 0), format!("{llc} | NODE 0-15,128-143 | NUMA {socket} | NUMA {all}"));
    let last = "SMT 127,255 | MC 120-127,248-255";
    assert_eq!(seen(&zen3(1), "v5.19-rc1", 255), format!("{last} | DIE 64-127,192-255 | NUMA {all}"));
    assert_eq!(seen("intel-2s44c88t", "v5.2", 0), "SMT 0,44 | MC 0-21,44-65 | NUMA 0-87");
    assert_eq!(seen("intel-2s44c88t", "v5.2", 87), "SMT 43,87 | MC 22-43,66-87 | NUMA 0-87");
    assert_eq!(seen("sparc-2s16c128t", "v5.2", 64), "SMT 64-71 | MC 64-127 | NUMA 0-127");
    // The posting: MC, DIE, NUMA.
    assert_eq!(seen("ampere-altra-2s160c", "v6.1", 0), "MC 0-1 | DIE 0-79 | NUMA 0-159");
    assert_eq!(seen("ampere-altra-2s160c", "v6.1", 159), "MC 158-159 | DIE 80-159 | NUMA 0-159");
    assert_eq!(seen("intel-2s112c224t", "v5.19-rc1", 0), "SMT 0,112 | MC 0-55,112-167 | NUMA 0-223");
    assert_eq!(seen("intel-1s56c112t", "v5.19-rc1", 0), "SMT 0,56 | MC 0-111");
}

/// What the postings say of theirs.
#[test]
fn domains_are_those_of_the_postings_of_2021_to_2026() {
    let kunpeng = |cpu| seen("kunpeng920-2s128c", "v6.1", cpu);
    assert_eq!(kunpeng(0), "CLS 0-3 | MC 0-31 | NUMA 0-63 | NUMA 0-95 | NUMA 0-127");
    assert_eq!(kunpeng(127), "CLS 124-127 | MC 96-127 | NUMA 64-127 | NUMA 0-31,64-127 | NUMA 0-127");
    assert_eq!(seen("intel-2s112c224t-8llc", "v6.1", 0), "SMT 0,112 | MC 0-13,112-125 | DIE 0-55,112-167 | NUMA 0-223");
    assert_eq!(seen("intel-2s48c96t", "v5.19-rc2-tip", 0), "SMT 0,48 | MC 0-23,48-71 | NUMA 0-95");
    assert_eq!(
        seen("intel-2s48c96t-snc", "v5.19-rc2-tip", 0),
        "SMT 0,48 | MC 0-11,48-59 | NUMA 0-23,48-71 | NUMA 0-95"
    );
    // One node: the domain above the LLC is not of NUMA.
    assert_eq!(seen("intel-2s60c120t-1node", "v6.1", 0), "SMT 0,60 | MC 0-29,60-89 | DIE 0-119");
    assert_eq!(seen("intel-4s96c192t", "v5.10", 0), "SMT 0,96 | MC 0-23,96-119 | NUMA 0-191");
    assert_eq!(
        seen("amd-zen3-4n128c", "v6.1", 0),
        "SMT 0,64 | MC 0-3,64-67 | NODE 0-15,64-79 | NUMA 0-31,64-95 | NUMA 0-127"
    );
    assert_eq!(
        seen("amd-genoa-4n128c", "v6.1", 0),
        "SMT 0,64 | MC 0-7,64-71 | NODE 0-15,64-79 | NUMA 0-31,64-95 | NUMA 0-127"
    );
    assert_eq!(seen("amd-zen3-2s64c128t", "v6.1", 0), "SMT 0,64 | MC 0-3,64-67 | DIE 0-31,64-95 | NUMA 0-127");
    assert_eq!(seen("intel-ivb-2c4t", "v6.1", 0), "SMT 0,2 | MC 0-3");
}

#[test]
fn llcs_are_as_large_and_as_many_as_published() {
    for (name, kernel, size, llcs) in [
        ("amd-zen3-2s128c256t-nps1", "v5.19-rc1", 16, 16),
        ("amd-zen3-2s128c256t-nps2", "v5.19-rc1", 16, 16),
        ("amd-zen3-2s128c256t-nps4", "v5.19-rc1", 16, 16),
        ("intel-2s44c88t", "v5.2", 44, 2),
        ("sparc-2s16c128t", "v5.2", 64, 2),
        ("ampere-altra-2s160c", "v6.1", 2, 80),
        ("intel-2s112c224t", "v5.19-rc1", 112, 2),
        ("kunpeng920-2s128c", "v6.1", 32, 4),
        ("intel-2s112c224t-8llc", "v6.1", 28, 8),
        ("intel-2s48c96t-snc", "v5.19-rc2-tip", 24, 4),
        ("intel-2s60c120t-1node", "v7.2", 60, 2),
        ("amd-zen3-4n128c", "v6.12", 8, 16),
        ("amd-zen3-2s64c128t", "v7.2", 8, 16),
        ("amd-genoa-4n128c", "v7.2", 16, 8),
    ] {
        let domains = domains(&get(name).expect("a machine"), kernel);
        assert!(domains.sd_llc_size.iter().all(|&cpus| cpus == size), "{name}: {:?}", domains.sd_llc_size);
        let mut ids = domains.sd_llc_id.clone();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), llcs, "{name}");
    }
}

#[test]
fn nodes_are_as_far_from_each_other_as_firmware_says() {
    let row = |name: &str| get(name).expect("a machine").topology.node_distance[0].clone();
    assert_eq!(row("amd-zen3-2s128c256t-nps1"), [10, 32]);
    assert_eq!(row("amd-zen3-2s128c256t-nps2"), [10, 12, 32, 32]);
    assert_eq!(row("amd-zen3-2s128c256t-nps4"), [10, 12, 12, 12, 32, 32, 32, 32]);
    assert_eq!((row("intel-2s44c88t"), row("intel-2s112c224t")), (vec![10, 21], vec![10, 21]));
    assert_eq!((row("sparc-2s16c128t"), row("ampere-altra-2s160c")), (vec![10, 20], vec![10, 20]));
}

/// At distance 32 only kernels since 5.4, and only on Zen, still place wake-ups and forks in all nodes.
#[test]
fn wake_ups_reach_the_other_socket_of_zen_since_5_4() {
    let zen3 = get("amd-zen3-2s128c256t-nps1").expect("a machine");
    let reaches = |machine: &Machine, kernel| {
        let domains = domains(machine, kernel);
        let top = domains.domains[0].last().expect("a domain");
        (top.flags.contains(SdFlags::WAKE_AFFINE), top.flags.contains(SdFlags::BALANCE_FORK))
    };
    assert_eq!(reaches(&zen3, "v5.19-rc1"), (true, true));
    assert_eq!(reaches(&zen3, "v5.10"), (true, true));
    assert_eq!(reaches(&zen3, "v5.3"), (false, false));
    assert_eq!(reaches(&Machine { reclaim_distance: None, ..zen3 }, "v5.19-rc1"), (false, false));
}

/// As worked out in the review of the patch that introduced it (5.18).
#[test]
fn zen_3_allows_the_imbalance_between_nodes_that_its_review_worked_out() {
    let imb = |nps| {
        let domains = domains(&get(&format!("amd-zen3-2s128c256t-nps{nps}")).expect("a machine"), "v5.19-rc1");
        domains.domains[0].iter().map(|sd| sd.imb_numa_nr).collect::<Vec<_>>()
    };
    assert_eq!([imb(1), imb(2), imb(4)], [vec![0, 0, 8, 8], vec![0, 0, 4, 4, 8], vec![0, 0, 2, 2, 4]]);
}

/// The kernel's numbers in the posting.
#[test]
fn node_0_of_nps1_has_the_cpus_that_the_posting_lists() {
    let machine = get("amd-zen3-2s128c256t-nps1").expect("a machine");
    let of_node = |node| (0..256).filter(move |&cpu| machine.topology.cpus[cpu].node == node).collect::<Vec<_>>();
    assert_eq!(of_node.clone()(0), (0..64).chain(128..192).collect::<Vec<_>>());
    assert_eq!(of_node(1), (64..128).chain(192..256).collect::<Vec<_>>());
}

/// A value that was scaled says from what, and by what.
#[test]
fn derived_costs_say_what_they_were_derived_from() {
    for name in names().iter().filter(|name| !name.starts_with("test-") && !name.starts_with("bench-")) {
        let machine = get(name).expect("a machine");
        // Those that have its costs as they are.
        let fitted = name.starts_with("intel-1s56c112t")
            || name.starts_with("intel-2s112c224t")
            || ["spr-zijlstra", "meta-unstated"].contains(name);
        for (cost, _, _, value) in machine.costs.list() {
            assert!((value.low..=value.high).contains(&value.value), "{name}: {cost}");
            let Origin::Assumed(why) = &value.origin else { continue };
            assert!(!why.contains("fitted to") || fitted, "{name}: {cost}: {why}");
        }
    }
}

#[test]
fn arch_and_reclaim_distance_are_read_and_written() {
    let text = "[topology]\ncores = 2\narch = \"arm64\"\nreclaim_distance = 32\n";
    let machine = read(&with_topology(text)).expect("a machine");
    assert_eq!((machine.arch, machine.reclaim_distance), (Arch::Arm64, Some(32)));
    assert_eq!(read(&machine.to_toml()).expect("what was written"), machine);
    let plain = read(&with_topology("[topology]\ncores = 2\narch = \"x86\"\n")).expect("a machine");
    assert_eq!((plain.arch, plain.reclaim_distance), (Arch::X86, None));
    assert!(!plain.to_toml().contains("arch"));
}

#[test]
fn other_architectures_and_distances_are_refused_with_their_line() {
    let text = |line: &str| with_topology(&format!("[topology]\ncores = 2\n{line}\n"));
    refused(&text("arch = \"mips\""), 6, &["`topology.arch`", "\"x86\" or \"arm64\"", "found \"mips\""]);
    refused(&text("reclaim_distance = 10"), 6, &["`topology.reclaim_distance`", "from 11 to 255, found 10"]);
}
